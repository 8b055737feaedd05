package faults_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// smallDisk mounts a file system of the given size as the target's folder, until the end of the test. The right to
// mount is no service that CI must have, so its lack skips the test everywhere.
func smallDisk(t *testing.T, tr *trial, size string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: a small disk needs Linux")
	}
	if err := exec.Command("mkdir", "-p", tr.target).Run(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "pelmill-faults", tr.target).CombinedOutput()
	if err != nil {
		t.Skipf("NOT TESTED: a small disk needs the right to mount: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", tr.target).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", tr.target, err, out)
		}
	})
}

func remount(t *testing.T, tr *trial, options string) {
	t.Helper()
	if out, err := exec.Command("mount", "-o", "remount,"+options, tr.target).CombinedOutput(); err != nil {
		t.Fatalf("remount %s: %v: %s", tr.target, err, out)
	}
}

// fullDisk lets the target run full in the middle of a job. The run says why it waits and does no more; once the disk
// has grown, it completes the work.
func fullDisk(t *testing.T) {
	tr := inFolders(t, faults.Images(11, 400, 96))
	tr.extra = []string{"--chunk-objects", "20", "--json"}
	smallDisk(t, tr, "1m")
	p := tr.pelmill("compress", tr.flags("compress")...)
	faults.Until(t, limit, "the program to say that the disk is full", func() bool {
		return strings.Contains(p.Stdout(), `"state":"paused","why":"the target refuses writes: no space left on device`)
	})
	if n := faults.Whole(t, tr.to, vq(t)); n == 0 || n == len(tr.sources) {
		t.Errorf("%d results fit the small disk, want some", n)
	}
	remount(t, tr, "size=64m")
	if code := p.Wait(t, limit); code != 0 {
		t.Errorf("exit code %d with room on the disk, want 0", code)
	}
	if strings.Contains(p.Stdout(), `"type":"object"`) {
		t.Error("objects failed because the disk was full")
	}
	tr.check(tr.job())
}

// fullDiskOfACluster is fullDisk with a scheduler, workers and a status, and a scheduler that is killed while the job
// waits: the state on the disk is not what tells them.
func fullDiskOfACluster(t *testing.T) {
	tr := inFolders(t, faults.Images(14, 400, 96)).withRedis()
	tr.extra = []string{"--chunk-objects", "20"}
	smallDisk(t, tr, "1m")
	id := tr.submit()
	first := tr.scheduler()
	tr.worker()
	tr.worker()
	blocked := func() bool { return tr.blocked(id, "no space left on device") }
	faults.Until(t, limit, "status to say that the disk is full", blocked)
	first.Kill() // perhaps while it tries whether a write succeeds: then the workers find out that it does not
	tr.scheduler()
	faults.Until(t, limit, "status to say that the disk is full, without the first leader", blocked)
	remount(t, tr, "size=64m")
	f := tr.ended(id)
	for key, r := range f.Results {
		if r.Outcome == jobs.OutcomeFailed {
			t.Errorf("%s failed: %s", key, r.Error)
		}
	}
}

// blocked reports whether status says that the job is paused because the target refuses writes, and why.
func (tr *trial) blocked(id, why string) bool {
	tr.t.Helper()
	text := faults.Run(tr.t, 0, tr.env, program(tr.t, "cmd/pelmill"), "status", tr.target, id, "--redis", tr.redis.URL(), "--json")
	var s struct{ State, Blocked, Why string }
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		tr.t.Fatalf("status %q: %v", text, err)
	}
	return s.State == "paused" && s.Blocked == "target" && strings.Contains(s.Why, why)
}

// refusedWrites has a store that refuses writes from some moment on, all of them, and takes them again later. No
// object fails, and the job ends by itself.
func refusedWrites(fault faults.Fault, why string) func(t *testing.T, gw *services.Store) {
	return func(t *testing.T, gw *services.Store) {
		tr := inBuckets(t, gw, faults.Images(15, 200, 64)).withRedis()
		tr.extra = []string{"--chunk-objects", "10"}
		id := tr.submit()
		tr.proxy.Set(slowerResults(50, 5*time.Second))
		tr.scheduler()
		tr.worker()
		tr.shards(id, 2)
		tr.proxy.Set(faults.Rule{Fault: fault, Share: 1, Match: faults.Writes})
		faults.Until(t, limit, "status to say why writes are refused", func() bool { return tr.blocked(id, why) })
		faults.Until(t, limit, "the worker to put its chunks off", func() bool { return tr.redis.CLI("llen", "asynq:{pelmill-p0}:active") == "0" })
		before := tr.proxy.Done(fault)
		time.Sleep(outage)
		if n := tr.proxy.Done(fault) - before; n > 10 {
			t.Errorf("%d writes were tried while the job waited", n)
		}
		tr.proxy.Set()
		for key, r := range tr.ended(id).Results {
			if r.Outcome == jobs.OutcomeFailed {
				t.Errorf("%s failed: %s", key, r.Error)
			}
		}
	}
}

// readOnly has a target that nobody can write, then one that can be written.
func readOnly(t *testing.T) {
	tr := inFolders(t, faults.Images(12, 20, 64))
	smallDisk(t, tr, "16m")
	remount(t, tr, "ro")
	p := tr.pelmill("compress", tr.flags("compress")...)
	if code := p.Wait(t, limit); code != 8 {
		t.Errorf("exit code %d with a read-only target, want 8", code)
	}
	if !strings.Contains(p.Stderr(), "read-only") {
		t.Error("the program did not say that the target is read-only")
	}
	remount(t, tr, "rw")
	if code := tr.pelmill("compress", tr.flags("compress")...).Wait(t, limit); code != 0 {
		t.Errorf("exit code %d with a target that can be written, want 0", code)
	}
	tr.check(tr.job())
}

// changingSource changes objects between the listing and the reading: some have another image, some are gone, one
// changes all the time.
func changingSource(t *testing.T, gw *services.Store) {
	tr := inBuckets(t, gw, faults.Images(13, 100, 64)).withRedis()
	tr.extra = []string{"--chunk-objects", "20"}
	id := tr.submit()
	tr.scheduler()
	tr.reached(id, jobs.StateRunning)
	for i := range tr.sources {
		s := &tr.sources[i]
		switch i % 10 {
		case 3:
			// The same key with another image, of another size.
			now := faults.Image(uint64(1000+i), s.Key, 70+i%7, 50)
			s.Data, s.Image = now.Data, now.Image
			tr.write(*s)
		case 7:
			if err := tr.from.Delete(context.Background(), s.Key); err != nil {
				t.Fatal(err)
			}
			s.Want = []jobs.Outcome{jobs.OutcomeFailed}
		}
	}
	restless := &tr.sources[0]
	restless.Want = []jobs.Outcome{jobs.OutcomeCompressed, jobs.OutcomeFailed}
	restless.Also = []faults.Source{faults.Image(2000, restless.Key, 80, 80), faults.Image(2001, restless.Key, 81, 80)}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				tr.write(restless.Also[i%2])
			}
		}
	}()
	tr.worker()
	f := tr.ended(id)
	close(stop)
	<-stopped
	for i, s := range tr.sources {
		if r := f.Results[s.Key]; i%10 == 7 && r.Class != class.Missing {
			t.Errorf("%s: class %q, want %q", s.Key, r.Class, class.Missing)
		}
	}
}
