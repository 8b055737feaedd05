package faults_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// binaries is where TestMain lets the programs be built.
var binaries string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pelmill-faults-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaries = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// build compiles each program once a run.
var build = map[string]func() (string, error){
	"cmd/pelmill":                 sync.OnceValues(func() (string, error) { return faults.Build(binaries, "cmd/pelmill") }),
	"internal/faults/faultworker": sync.OnceValues(func() (string, error) { return faults.Build(binaries, "internal/faults/faultworker") }),
}

// program compiles a program. On a machine with a card it is the one in the folder that cardVariable names.
func program(t *testing.T, pkg string) string {
	t.Helper()
	if dir := os.Getenv(cardVariable); dir != "" && pkg == "cmd/pelmill" {
		return filepath.Join(dir, "pelmill")
	}
	path, err := build[pkg]()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// limit is the longest that anything may take. It is far above what the tests need: it tells a hang from slowness.
const limit = 8 * time.Minute

// trial is one source, one target, and the processes that turn one into the other.
type trial struct {
	t              *testing.T
	source, target string // as the processes are told
	sources        []faults.Source
	from, to       *storage.Bucket // the same buckets, past the proxy
	proxy          *faults.Proxy   // nil for folders
	disk           string          // folder of this machine where the target's objects lie
	env            []string
	redis          *services.RedisServer // nil: embedded
	extra          []string              // flags of compress and submit
	codec          string                // empty: vq with few codewords; auto: each record names its own
	options        []string              // of vq; nil: n=16, which keeps small images smaller than their sources
}

// inFolders prepares a trial on two folders.
func inFolders(t *testing.T, sources []faults.Source) *trial {
	t.Helper()
	tr := &trial{t: t, source: filepath.Join(t.TempDir(), "src"), target: filepath.Join(t.TempDir(), "dst"), sources: sources}
	if err := os.Mkdir(tr.source, 0o777); err != nil {
		t.Fatal(err)
	}
	tr.disk = tr.target
	tr.env = []string{"PELMILL_ALLOW=" + tr.source + "," + tr.target}
	return tr.fill()
}

// inBuckets prepares a trial on two buckets of gw, of whatever kind it is, behind a proxy of its own.
func inBuckets(t *testing.T, gw *services.Store, sources []faults.Source) *trial {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-", "#", "-").Replace(t.Name()))
	name = name[max(0, len(name)-40):] // a bucket's name has at most 63 letters
	name = strings.Trim(name, "-")
	src, dst := gw.NewBucket(name+"-src"), gw.NewBucket(name+"-dst")
	tr := &trial{t: t, sources: sources, source: src, target: dst}
	tr.fill()
	kind := tr.to.Kind()
	tr.proxy = faults.NewProxyOf(t, gw.Endpoint, kind, tr)
	tr.env = append(slices.Clone(gw.Env), through(gw, kind, tr.proxy.URL)...)
	if kind == "s3" {
		tr.disk = filepath.Join(gw.Root, name+"-dst")
	}
	tr.source, tr.target = kind+"://"+name+"-src", kind+"://"+name+"-dst"
	return tr
}

// through is what has a process reach a store of a kind by way of a proxy.
func through(gw *services.Store, kind, proxy string) []string {
	host := strings.TrimPrefix(proxy, "http://")
	switch kind {
	case "gs":
		return []string{"STORAGE_EMULATOR_HOST=" + host}
	case "azblob":
		return []string{"AZURE_STORAGE_DOMAIN=" + host, "AZURE_STORAGE_PROTOCOL=http", "AZURE_STORAGE_IS_LOCAL_EMULATOR=true"}
	}
	return []string{"PELMILL_S3_ENDPOINT=" + proxy}
}

// bucket is the source or the target, past the proxy, by the name of its bucket.
func (tr *trial) bucket(name string) *storage.Bucket {
	if strings.HasSuffix(name, "-src") {
		return tr.from
	}
	return tr.to
}

// Remove and Has are what the proxy loses writes by.
func (tr *trial) Remove(bucket, key string) error {
	return tr.bucket(bucket).Delete(context.Background(), key)
}

func (tr *trial) Has(bucket, key string) bool {
	ok, err := tr.bucket(bucket).Exists(context.Background(), key)
	return ok || err != nil
}

func (tr *trial) fill() *trial {
	tr.t.Helper()
	tr.from, tr.to = openBucket(tr.t, tr.source), openBucket(tr.t, tr.target)
	for _, s := range tr.sources {
		tr.write(s)
	}
	return tr
}

func (tr *trial) write(s faults.Source) {
	tr.t.Helper()
	if err := tr.from.WriteAll(context.Background(), s.Key, s.Data, nil); err != nil {
		tr.t.Fatal(err)
	}
}

// withRedis gives the trial a Redis of its own, so that the job is done by a scheduler and workers.
func (tr *trial) withRedis(args ...string) *trial {
	tr.t.Helper()
	tr.redis = services.Redis(tr.t, args...)
	return tr
}

// flags are those of compress and submit.
func (tr *trial) flags(verb string) []string {
	args := []string{verb, tr.source, tr.target, "--codec", cmp.Or(tr.codec, "vq")}
	if tr.codec == "" && tr.options == nil {
		args = append(args, "-o", "n=16")
	}
	for _, o := range tr.options {
		args = append(args, "-o", o)
	}
	return append(args, tr.extra...)
}

func (tr *trial) submit() (id string) {
	tr.t.Helper()
	args := append(tr.flags("submit"), "--redis", tr.redis.URL(), "--yes")
	faults.Run(tr.t, 0, tr.env, program(tr.t, "cmd/pelmill"), args...)
	return tr.job()
}

func (tr *trial) pelmill(name string, args ...string) *faults.Process {
	tr.t.Helper()
	return faults.Start(tr.t, name, tr.env, program(tr.t, "cmd/pelmill"), args...)
}

// scheduler starts a scheduler, which looks for unfinished jobs in the targets.
func (tr *trial) scheduler(targets ...string) *faults.Process {
	tr.t.Helper()
	return tr.pelmill("scheduler", append([]string{"scheduler", "--redis", tr.redis.URL()}, targets...)...)
}

func (tr *trial) worker(flags ...string) *faults.Process {
	tr.t.Helper()
	return tr.pelmill("worker", append([]string{"worker", "--redis", tr.redis.URL()}, flags...)...)
}

func (tr *trial) faultWorker(args ...string) *faults.Process {
	tr.t.Helper()
	args = append([]string{"-redis", tr.redis.URL()}, args...)
	return faults.Start(tr.t, "faultworker", tr.env, program(tr.t, "internal/faults/faultworker"), args...)
}

// jobs lists the jobs of the target in the order of their submission.
func (tr *trial) jobs() (ids []string) {
	tr.t.Helper()
	for _, key := range faults.Keys(tr.t, tr.to) {
		rest, ok := strings.CutPrefix(key, jobs.JobsDir)
		id, _, _ := strings.Cut(rest, "/")
		if ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// job is the only job of the target.
func (tr *trial) job() string {
	tr.t.Helper()
	ids := tr.jobs()
	if len(ids) != 1 {
		tr.t.Fatalf("the target has jobs %v, want one", ids)
	}
	return ids[0]
}

// state is what the scheduler says it has reached; New while it has said nothing.
func (tr *trial) state(id string) jobs.StateRecord {
	r := jobs.StateRecord{State: jobs.StateNew}
	if data, err := tr.to.ReadAll(context.Background(), jobs.Folder(id).State()); err == nil {
		if err := json.Unmarshal(data, &r); err != nil {
			tr.t.Errorf("state of job %s: %v", id, err)
		}
	}
	return r
}

func (tr *trial) reached(id string, want jobs.State) {
	tr.t.Helper()
	faults.Until(tr.t, limit, fmt.Sprintf("state %s", want), func() bool { return tr.state(id).State == want })
}

// count is the number of objects in a folder of the target, or 1 for an object that is there. It looks at the disk of
// the store where it has one, which is faster than asking it, to hit a moment.
func (tr *trial) count(key string) (n int) {
	if tr.disk == "" {
		for _, k := range faults.Keys(tr.t, tr.to) {
			if k == key || strings.HasPrefix(k, strings.TrimSuffix(key, "/")+"/") {
				n++
			}
		}
		return n
	}
	path := filepath.Join(tr.disk, filepath.FromSlash(key))
	if entries, err := os.ReadDir(path); err == nil {
		return len(entries)
	}
	if _, err := os.Stat(path); err == nil {
		return 1
	}
	return 0
}

// shards waits until n chunks of a job are done.
func (tr *trial) shards(id string, n int) {
	tr.t.Helper()
	faults.Until(tr.t, limit, fmt.Sprintf("%d result shards", n), func() bool { return tr.count(jobs.Folder(id).Results()) >= n })
}

// ended waits for the end of a job and checks it, and that Redis has forgotten it.
func (tr *trial) ended(id string) *faults.Checked {
	tr.t.Helper()
	faults.Until(tr.t, limit, "the report", func() bool { return tr.count(jobs.Folder(id).Report()) == 1 })
	if tr.redis != nil {
		faults.Until(tr.t, limit, "Redis to forget the job", func() bool { return tr.left(id) == "" })
	}
	return tr.check(id)
}

// left names the keys that Redis still has of a job, but for its entry in the list of jobs.
func (tr *trial) left(id string) string {
	tr.t.Helper()
	var left []string
	for _, key := range strings.Fields(tr.redis.CLI("--scan", "--pattern", "*"+id+"*")) {
		if !strings.Contains(key, "lead:") {
			left = append(left, key)
		}
	}
	return strings.Join(left, " ")
}

func (tr *trial) check(id string, earlier ...string) *faults.Checked {
	tr.t.Helper()
	return faults.Check(tr.t, tr.to, codecOf(tr.t, tr.codec), tr.sources, id, earlier...)
}

func vq(t *testing.T) codec.Codec { return codecOf(t, "") }

// codecOf finds a codec by its name; empty is vq, and auto gives none.
func codecOf(t *testing.T, name string) codec.Codec {
	t.Helper()
	if name == codecs.Auto {
		return nil
	}
	c, err := codecs.Find(cmp.Or(name, "vq"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
