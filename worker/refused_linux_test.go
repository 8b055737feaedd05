package worker

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	codecs "github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// disk is a small file system of its own, for which it needs root's rights.
func disk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		skipPrivileged(t, "mounting a small file system needs root", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// skipPrivileged skips a test that err kept from what it needs, and fails it where the
// machine must be able to do that.
func skipPrivileged(t *testing.T, what string, err error) {
	t.Helper()
	if os.Getenv("PELMILL_TEST") == "require" && os.Getuid() == 0 && !errors.Is(err, unix.EPERM) {
		t.Fatalf("PELMILL_TEST=require: %s: %v", what, err)
	}
	t.Skipf("NOT TESTED: %s: %v", what, err)
}

func remount(t *testing.T, dir string, flags uintptr, options string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Mount("", dir, "", unix.MS_REMOUNT|flags, options)
		if err == nil {
			return
		}
		if time.Now().After(end) || !errors.Is(err, syscall.EBUSY) { // a file is open for writing
			t.Fatal(err)
		}
	}
}

// A target that refuses writes blocks the job: no object is recorded as failed,
// and no more is encoded than was at work. When writes are taken again the rest
// is done.
func TestATargetThatRefusesWritesBlocksTheJob(t *testing.T) {
	for _, c := range []struct {
		name, options string
		refuse, allow func(t *testing.T, dir string) // nil: the disk is full from the start
		why           string
	}{
		{"full", "size=1m,nr_inodes=40", nil, func(t *testing.T, dir string) { remount(t, dir, 0, "size=16m,nr_inodes=4000") }, "no space left on device"},
		{"read-only", "size=16m", func(t *testing.T, dir string) { remount(t, dir, unix.MS_RDONLY, "") },
			func(t *testing.T, dir string) { remount(t, dir, 0, "") }, "the file system is read-only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const n, chunk = 200, 40
			dir := disk(t, c.options)
			codec := &fake{}
			j := newJob(t, "mem://source", "file://"+dir, codec, func(s *jobs.Spec) { s.ChunkObjects = chunk }).queued()
			j.photos(n, 8).plan()
			for _, task := range j.tasks {
				if err := j.conn.Tasks(0).Enqueue(j.ctx, task); err != nil {
					t.Fatal(err)
				}
			}
			if c.refuse != nil {
				c.refuse(t, dir)
			}
			w := j.worker(Options{CPU: 2, Fetchers: 4}, codec)
			if err := SelfTest(j.ctx, codec, nil); err != nil { // as Run does once more
				t.Fatal(err)
			}
			tests := 2 * codec.encoded.Load()
			encodes := func() int64 { return codec.encoded.Load() - tests }
			ctx, cancel := context.WithCancel(j.ctx)
			var serving sync.WaitGroup
			serving.Go(func() { w.Run(ctx) })
			defer serving.Wait()
			defer cancel()

			var b jobs.Block
			until(t, "the job to be blocked", func() (ok bool) {
				b, ok, _ = j.conn.Job(j.spec.ID).Blocked(j.ctx)
				return ok
			})
			if b.Cause != jobs.BlockTarget || !strings.HasPrefix(b.Reason, (&storage.RefusedError{Why: c.why}).Reason()) {
				t.Errorf("%+v, want the reason %q", b, c.why)
			}
			until(t, "all chunks to be put off", func() bool {
				d, err := j.conn.Tasks(0).Depth(j.ctx)
				return err == nil && d.Active == 0 && d.Pending == 0
			})
			stored := 0
			if err := storage.Walk(j.ctx, j.target, nil, func(p storage.Page) error { stored += len(p.Objects); return nil }); err != nil {
				t.Fatal(err)
			}
			for _, r := range j.shardsSoFar() {
				if r.Outcome != jobs.OutcomeCompressed {
					t.Errorf("%s is recorded as %s: %s", r.Key, r.Outcome, r.Error)
				}
			}
			// Two chunks are at work, each with as many objects as the worker's window.
			done, atWork := encodes(), int64(2*w.window)
			if done > int64(stored)+atWork {
				t.Errorf("%d pictures were encoded for %d results, with at most %d at work", done, stored, atWork)
			}
			time.Sleep(3 * laterForTests)
			if again := encodes(); again != done {
				t.Errorf("%d pictures were encoded while the job was blocked", again-done)
			}

			c.allow(t, dir)
			if err := j.conn.Job(j.spec.ID).Unblock(j.ctx); err != nil {
				t.Fatal(err)
			}
			if counts := j.wait(); counts.Compressed != n || counts.Bad() != 0 {
				t.Errorf("%+v, want %d compressed", counts, n)
			}
			// What was at work is dropped once; records since the last partial shard
			// are made again.
			if total := encodes(); total > n+atWork+2*chunk {
				t.Errorf("%d encodes of %d pictures", total, n)
			}
		})
	}
}

// shardsSoFar gives the records of the chunks that are done, and of those that
// were interrupted.
func (j *job) shardsSoFar() (all []jobs.Result) {
	j.t.Helper()
	for i := range j.tasks {
		for _, key := range []string{jobs.Folder(j.spec.ID).Result(i), jobs.Folder(j.spec.ID).Partial(i)} {
			got, err := storage.Get(j.ctx, j.target, key, -1, nil)
			if storage.IsNotExist(err) {
				continue
			}
			if err == nil {
				_, err = parseShard(got.Data, sitekey.OfProcess().Reader(), func(r *jobs.Result) { all = append(all, *r) })
			}
			if err != nil {
				j.t.Fatal(err)
			}
		}
	}
	return all
}

// laterForTests is how long the queue puts a chunk off.
const laterForTests = 2 * time.Second

// A key that cannot be written although others can is the object's fault, not
// the target's.
func TestAForbiddenKeyIsOneFailedObject(t *testing.T) {
	codec := &fake{}
	dir := t.TempDir()
	j := newJob(t, "mem://source", "file://"+dir, codec, nil).queued()
	j.photos(5, 8)
	j.put("closed/a.png", png(t, photo(77, 8, 8, 3)))
	j.plan()
	closed := disk(t, "size=1m")
	if err := os.Mkdir(dir+"/closed", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(closed, dir+"/closed", "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir+"/closed", unix.MNT_DETACH) })
	if err := unix.Mount("", dir+"/closed", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	counts := j.run(j.worker(Options{}, codec))
	if counts.Compressed != 5 || counts.Failed != 1 {
		t.Errorf("%+v, want 5 compressed and 1 failed", counts)
	}
	if r := j.results()["closed/a.png"]; r.Class != class.Storage {
		t.Errorf("%+v", r)
	}
	if _, ok, err := j.conn.Job(j.spec.ID).Blocked(j.ctx); ok || err != nil {
		t.Errorf("the job is blocked (%v)", err)
	}
}

// A blocked job's chunks are put off before anything of them is read.
func TestChunksOfABlockedJobArePutOff(t *testing.T) {
	codec := &fake{}
	j := newJob(t, "mem://source", "mem://target", codec, nil).queued()
	j.photos(3, 8).plan()
	if err := j.conn.Job(j.spec.ID).Block(j.ctx, jobs.Block{Cause: jobs.BlockChunk, Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	w := j.worker(Options{}, codec)
	if err := w.handle(j.ctx, j.tasks[0], 1); !errors.Is(err, queue.ErrLater) {
		t.Errorf("%v, want %v", err, queue.ErrLater)
	}
	if n := codec.encoded.Load(); n != 0 {
		t.Errorf("%d encodes", n)
	}
}

// A full target ends a decompression: the objects are not to blame.
func TestDecompressEndsOnAFullTarget(t *testing.T) {
	codec := &fake{}
	j := newJob(t, "mem://source", "mem://files", codec, nil).queued()
	j.photos(30, 8).plan()
	j.run(j.worker(Options{}, codec))
	dst := j.open("file://" + disk(t, "nr_inodes=12"))
	counts, err := Decompress(j.ctx, j.target, dst, &DecompressOptions{Codecs: []codecs.Codec{codec}, CPU: 2})
	if !storage.Full(err) {
		t.Errorf("%v, want that the target is full", err)
	}
	if counts.Bad() != 0 {
		t.Errorf("%+v, want no failed object", counts)
	}
}

// Another worker may be able to do what this one is not: the job does not wait
// for an operator.
func TestWhatOneWorkerCannotDoPasses(t *testing.T) {
	c := &fake{}
	for name, change := range map[string]func(*jobs.Spec){
		"codec":   func(s *jobs.Spec) { s.Codec = "nosuch" },
		"version": func(s *jobs.Spec) { s.Version++ },
		"device":  func(s *jobs.Spec) { s.Device = "cuda" },
		"options": func(s *jobs.Spec) { s.Options = "level=2" }, // no worker can
	} {
		j := newJob(t, "mem://source", "mem://target", c, change)
		j.photos(1, 8).plan()
		err := j.chunk(j.worker(Options{}, c), 0)
		if err == nil || passes(err) != (name != "options") {
			t.Errorf("%s: %v passes: %v", name, err, passes(err))
		}
	}
}
