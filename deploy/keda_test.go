package deploy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
)

// waiting is the longest that anything here may take. It tells a hang from slowness.
const waiting = 4 * time.Minute

// lengthOf is how KEDA's redis scaler measures a list, whatever its type is.
const lengthOf = `local of = {list = 'llen', zset = 'zcard', set = 'scard', hash = 'hlen'}
local type = redis.call('type', KEYS[1]).ok
return of[type] and redis.call(of[type], KEYS[1]) or 0`

// scaledLists are the lists whose lengths the ScaledObject adds up.
func scaledLists(t *testing.T) []string {
	t.Helper()
	scaled := find(t, objects(t, rendered(t, "keda")), "ScaledObject", "worker")
	terms := regexp.MustCompile(` \+ `).Split(fmt.Sprint(scaled.at("spec", "advanced", "scalingModifiers", "formula")), -1)
	triggers, _ := scaled.at("spec", "triggers").([]any)
	var lists, names []string
	for i := range triggers {
		names = append(names, fmt.Sprint(scaled.at("spec", "triggers", i, "name")))
		lists = append(lists, fmt.Sprint(scaled.at("spec", "triggers", i, "metadata", "listName")))
	}
	slices.Sort(terms)
	slices.Sort(names)
	if !slices.Equal(terms, names) || len(slices.Compact(slices.Sorted(slices.Values(lists)))) != len(names) {
		t.Errorf("the formula adds %v, the triggers are %v of %v", terms, names, lists)
	}
	return lists
}

// TestKEDAScalesByTheQueue compares the lists that KEDA watches with those that a real scheduler and worker use, and lets
// workers come and go as KEDA would: the sum rises when there is work, counts what is at work, is 0 for a paused and for
// a finished job, and nothing is lost on the way to zero and back.
func TestKEDAScalesByTheQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	lists := scaledLists(t)
	redis := services.Redis(t)
	source, target := filepath.Join(t.TempDir(), "source"), t.TempDir()
	images := faults.Images(1, 150, 64)
	for _, image := range images {
		path := filepath.Join(source, filepath.FromSlash(image.Key))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, image.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	program, err := faults.Build(t.TempDir(), "cmd/pelmill")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PELMILL_ALLOW=" + source + "," + target, "PELMILL_REDIS=" + redis.URL()}
	sum := func() (n int) {
		for _, list := range lists {
			answer := strings.TrimSpace(redis.CLI("EVAL", lengthOf, "1", list))
			length, err := strconv.Atoi(answer)
			if err != nil {
				t.Fatalf("%s: %q", list, answer)
			}
			n += length
		}
		return n
	}
	faults.Start(t, "scheduler", env, program, "scheduler", "--tick", "50ms")

	// One job of each priority, so that every list is used; the first is done, the others only wait. The first takes a minute
	// until its limit of requests is lifted, so that it runs when it is paused.
	submit := func(priority int) string {
		dst := filepath.Join(target, strconv.Itoa(priority))
		faults.Run(t, 0, env, program, "submit", source, dst, "--codec", "vq", "--yes", "--chunk-objects", "10", "--sample", "0",
			"--priority", strconv.Itoa(priority), "--tpslimit", "5", "-o", "passes=1")
		return dst
	}
	if n := sum(); n != 0 {
		t.Errorf("%d chunks before there is a job", n)
	}
	first := submit(0)
	faults.Until(t, waiting, "waiting chunks ask for a worker", func() bool { return sum() > 0 })

	worker := faults.Start(t, "worker", env, program, "worker", "--grace", "20s")
	active := func() bool {
		return strings.TrimSpace(redis.CLI("EVAL", lengthOf, "1", "asynq:{pelmill-p0}:active")) != "0"
	}
	faults.Until(t, waiting, "chunks at work", active)
	if active() && sum() == 0 {
		t.Error("the sum is 0 while a chunk is at work")
	}
	faults.Run(t, 0, env, program, "pause", first)
	faults.Until(t, waiting, "a paused job asks for no worker", func() bool { return sum() == 0 })
	worker.Signal(syscall.SIGTERM) // scaled to zero
	faults.Until(t, waiting, "the worker ends", func() bool { return !worker.Running() })
	faults.Run(t, 0, env, program, "resume", first)
	faults.Until(t, waiting, "a resumed job asks for workers again", func() bool { return sum() > 0 })

	for priority := 1; priority <= 3; priority++ {
		submit(priority)
	}
	faults.Until(t, waiting, "all four queues are used", func() bool {
		return len(strings.Fields(redis.CLI("KEYS", "asynq:*:pending"))) == 4
	})
	for key := range strings.FieldsSeq(redis.CLI("KEYS", "asynq:*")) {
		waits := strings.HasSuffix(key, ":pending") || strings.HasSuffix(key, ":active") || strings.HasSuffix(key, ":retry")
		if waits && !slices.Contains(lists, key) {
			t.Errorf("the ScaledObject does not watch %s", key)
		}
	}
	for priority := 1; priority <= 3; priority++ {
		faults.Run(t, 0, env, program, "cancel", filepath.Join(target, strconv.Itoa(priority)))
	}
	faults.Start(t, "worker", env, program, "worker") // from zero
	faults.Run(t, 0, env, program, "set", first, "tpslimit=0")
	faults.Run(t, 0, env, program, "watch", first)
	faults.Until(t, waiting, "nothing asks for a worker", func() bool { return sum() == 0 })
	faults.Run(t, 0, env, program, "verify", first)
	if out := faults.Run(t, 0, env, program, "status", first, "--json"); !strings.Contains(out, `"objects":`+strconv.Itoa(len(images))) {
		t.Errorf("the job has lost objects: %s", out)
	}
}
