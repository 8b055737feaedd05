package worker

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// alone keeps what runs on this machine out of a test.
func alone(t *testing.T) { t.Setenv("XDG_CACHE_HOME", t.TempDir()) }

// overwriting runs a job over entry with Overwrite and something in the way of its
// result, and gives the record and whether that is still there.
func overwriting(t *testing.T, j *job, entry, way string, metadata map[string]string) (r jobs.Result, untouched bool) {
	t.Helper()
	j.spec.Overwrite = true
	data := png(t, photo(1, 20, 20, 3))
	j.put(entry, data)
	old := []byte("the user's own")
	if _, err := storage.Put(j.ctx, j.target, way, old, &storage.PutOptions{Metadata: metadata}); err != nil {
		t.Fatal(err)
	}
	j.plan(jobs.Entry{Key: entry, Size: int64(len(data))})
	c := &fake{}
	j.compress(c)
	got, err := storage.Get(j.ctx, j.target, way, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	return j.results()[entry], string(got.Data) == string(old)
}

func TestOverwriteSparesSources(t *testing.T) {
	alone(t)
	for _, tt := range []struct {
		name, source, target string
		entry, way           string
		replaced             bool
	}{
		{"disjoint", "mem://a", "mem://b", "x.png", "x.fake", true},
		{"beside each other", "mem://a/x", "mem://a/xy", "x.png", "x.fake", true},
		{"same", "mem://a", "mem://a", "x.png", "x.fake", false},
		{"target inside", "mem://a", "mem://a/out", "x.png", "x.fake", false},
		{"source inside", "mem://a/in", "mem://a", "in/x.png", "in/x.fake", false},
		{"source inside, result outside", "mem://a/in", "mem://a", "x.png", "x.fake", true},
		{"link", "photos", "alias", "x.png", "x.fake", false},
		{"link to a folder of the source", "photos", "toout", "x.png", "x.fake", false},
		{"other folder", "photos", "other", "x.png", "x.fake", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, d := range []string{"photos/out", "other"} {
				if err := os.MkdirAll(d, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			for name, to := range map[string]string{"alias": "photos", "toout": "photos/out"} {
				if err := os.Symlink(to, name); err != nil {
					t.Fatal(err)
				}
			}
			r, untouched := overwriting(t, newJob(t, tt.source, tt.target, &fake{}, nil), tt.entry, tt.way, nil)
			switch {
			case untouched == tt.replaced:
				t.Errorf("untouched: %v; %s %s", untouched, r.Outcome, r.Error)
			case tt.replaced && r.Outcome != jobs.OutcomeCompressed:
				t.Errorf("%s: %s", r.Outcome, r.Error)
			case !tt.replaced && (r.Class != class.Exists || !strings.Contains(r.Error, "choose another target")):
				t.Errorf("%s %s: %s", r.Outcome, r.Class, r.Error)
			}
		})
	}
}

func TestSourcesOfWorkThatRunsAreSpared(t *testing.T) {
	alone(t)
	announce := func(source, target string) func() {
		t.Helper()
		end, err := queue.Announce(queue.Running{What: "compress", Job: jobs.NewID(time.Now()), Source: source, Target: target})
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	for _, tt := range []struct {
		name, source, target string // of the other
		replaced             bool
	}{
		{"it reads our target", "mem://target", "mem://elsewhere", false},
		{"it reads around our target", "mem://target/sub", "mem://elsewhere", true},
		{"it writes our target", "mem://elsewhere", "mem://target", true},
	} {
		end := announce(tt.source, tt.target)
		r, untouched := overwriting(t, newJob(t, "mem://source", "mem://target", &fake{}, nil), "x.png", "x.fake", nil)
		if untouched == tt.replaced {
			t.Errorf("%s: untouched %v, %s %s", tt.name, untouched, r.Outcome, r.Error)
		}
		if !tt.replaced && !strings.Contains(r.Error, "is a source of job") {
			t.Errorf("%s: %s %s", tt.name, r.Outcome, r.Error)
		}
		end()
		if _, untouched := overwriting(t, newJob(t, "mem://source", "mem://target", &fake{}, nil), "x.png", "x.fake", nil); untouched {
			t.Errorf("%s: it has ended, and nothing is replaced", tt.name)
		}
	}
}

func TestSourcesOfJobsInTheClusterAreSpared(t *testing.T) {
	alone(t)
	conn, err := queue.Open(t.Context(), services.Redis(t).URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, reads := range []bool{true, false} {
		j := newJob(t, "mem://source", "mem://target", &fake{}, nil)
		j.conn = conn
		other := jobs.Spec{ID: jobs.NewID(time.Now()), Source: "mem://target", Target: "mem://elsewhere"}
		if !reads {
			other.Source = "mem://somewhere"
		}
		spec, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := storage.Put(j.ctx, j.open(other.Target), jobs.Folder(other.ID).Spec(), spec, nil); err != nil {
			t.Fatal(err)
		}
		if err := conn.Job(other.ID).Register(j.ctx, other.Target); err != nil {
			t.Fatal(err)
		}
		r, untouched := overwriting(t, j, "x.png", "x.fake", nil)
		if untouched != reads || reads && !strings.Contains(r.Error, "is a source of job "+other.ID) {
			t.Errorf("another job reads the target: %v; untouched %v, %s %s", reads, untouched, r.Outcome, r.Error)
		}
		if err := conn.Job(other.ID).Unregister(j.ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDecompressSparesSources(t *testing.T) {
	alone(t)
	for _, tt := range []struct {
		source, target string
		outcomes       map[string]jobs.Outcome
	}{
		{"mem://a", "mem://b", map[string]jobs.Outcome{"x.fake": jobs.OutcomeCompressed, "y.fake": jobs.OutcomeCompressed}},
		{"mem://a", "mem://a", map[string]jobs.Outcome{"x.fake": jobs.OutcomeFailed, "y.fake": jobs.OutcomeCompressed}},
		{"mem://a", "mem://a/out", map[string]jobs.Outcome{"x.fake": jobs.OutcomeFailed, "y.fake": jobs.OutcomeCompressed}},
	} {
		c := &fake{}
		j := newJob(t, tt.source, tt.target, c, nil)
		m := photo(1, 20, 20, 3)
		file := []byte("fake " + m.Hash())
		c.images.Store(m.Hash(), m)
		j.put("x.fake", file)
		j.put("y.fake", file)
		j.write("x.png", []byte("the user's own"))
		got := map[string]jobs.Outcome{}
		_, err := Decompress(j.ctx, j.source, j.target, &DecompressOptions{Overwrite: true, Sniff: false, Codecs: []codec.Codec{c}, Buckets: j.buckets,
			OnResult: func(r jobs.Result) { got[r.Key] = r.Outcome }})
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range tt.outcomes {
			if got[key] != want {
				t.Errorf("%s to %s: %s is %s, want %s", tt.source, tt.target, key, got[key], want)
			}
		}
		if len(got) != 2 {
			t.Errorf("%s to %s: %v", tt.source, tt.target, got)
		}
	}
}

// Two results of which both become one picture file: with Overwrite the run replaces what was there before, and never the
// picture file that it made of the other one.
func TestDecompressReplacesNothingOfItsOwn(t *testing.T) {
	alone(t)
	for range 20 { // the order is that of the scheduler
		c := &fake{}
		j := newJob(t, "mem://a", "mem://b", c, nil)
		keys := []string{"x.FAKE", "x.fake"}
		pictures := map[string]*raster.Image{}
		for i, key := range keys {
			m := photo(uint64(i)+1, 20, 20, 3)
			pictures[key] = m
			c.images.Store(m.Hash(), m)
			j.put(key, []byte("fake "+m.Hash()))
		}
		if _, err := storage.Put(j.ctx, j.target, "x.png", []byte("what an earlier run left"), nil); err != nil {
			t.Fatal(err)
		}
		got := map[string]jobs.Result{}
		_, err := Decompress(j.ctx, j.source, j.target, &DecompressOptions{Overwrite: true, Codecs: []codec.Codec{c}, Buckets: j.buckets,
			OnResult: func(r jobs.Result) { got[r.Key] = r }})
		if err != nil {
			t.Fatal(err)
		}
		data, err := storage.Get(j.ctx, j.target, "x.png", -1, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := imageio.Decode(data.Data, nil)
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		for _, key := range keys {
			switch r := got[key]; r.Outcome {
			case jobs.OutcomeCompressed:
				if done++; m.Hash() != pictures[key].Hash() {
					t.Errorf("%s is done, and x.png is not its picture", key)
				}
			case jobs.OutcomeFailed:
				if r.Class != class.Exists {
					t.Errorf("%s: %s: %s", key, r.Class, r.Error)
				}
			default:
				t.Errorf("%s is %s", key, r.Outcome)
			}
		}
		if done != 1 {
			t.Fatalf("%d of two results became x.png, want 1: %v", done, got)
		}
	}
}
