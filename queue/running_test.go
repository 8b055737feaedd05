package queue_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/pelmill/pelmill/queue"
)

// cacheFolder gives the test a cache folder of its own.
func cacheFolder(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the cache folder is chosen in another way here")
	}
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	return filepath.Join(dir, "pelmill", "running")
}

func announced() []string {
	var all []string
	for _, r := range queue.RunningHere() {
		all = append(all, r.Job+" reads "+r.Source)
	}
	slices.Sort(all)
	return all
}

func TestRunningWorkIsKnownUntilItEnds(t *testing.T) {
	dir := cacheFolder(t)
	if got := announced(); got != nil {
		t.Errorf("before anything runs: %q", got)
	}
	var ends []func()
	for _, name := range []string{"one", "two"} {
		end, err := queue.Announce(queue.Running{What: "compress", Job: name, Source: "mem://" + name})
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	// Many look at once, and none takes another for the owner.
	for range 50 {
		seen := make(chan []string, 2)
		for range 2 {
			go func() { seen <- announced() }()
		}
		for range 2 {
			if got := <-seen; !slices.Equal(got, []string{"one reads mem://one", "two reads mem://two"}) {
				t.Fatalf("%q", got)
			}
		}
	}
	ends[0]()
	if got := announced(); !slices.Equal(got, []string{"two reads mem://two"}) {
		t.Errorf("after the first has ended: %q", got)
	}
	ends[1]()
	if files, err := os.ReadDir(dir); len(files) != 0 || err != nil {
		t.Errorf("at the end %v is left, %v", files, err)
	}
}

func TestDeadProcessesAreSwept(t *testing.T) {
	dir := cacheFolder(t)
	child := exec.Command(os.Args[0], "-test.run", "^TestAnnounceAndWait$")
	child.Env = append(os.Environ(), "PELMILL_TEST_ANNOUNCES=1")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Process.Kill()
	for until := time.Now().Add(2 * time.Minute); len(announced()) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the child announces nothing")
		}
	}
	child.Process.Kill()
	child.Wait()
	if got := announced(); got != nil {
		t.Errorf("after a kill: %q", got)
	}
	old := filepath.Join(dir, "x.json.new")
	for _, name := range []string{old, filepath.Join(dir, "y.json.new")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	announced()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || !slices.Equal(files, []string{filepath.Join(dir, "y.json.new")}) {
		t.Errorf("%q is left, %v", files, err)
	}
}

// TestAnnounceAndWait is the child of TestDeadProcessesAreSwept.
func TestAnnounceAndWait(t *testing.T) {
	if os.Getenv("PELMILL_TEST_ANNOUNCES") == "" {
		t.Skip("is run by another test")
	}
	if _, err := queue.Announce(queue.Running{Job: "child", Source: "mem://child"}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Minute)
}

func TestNothingCanBeAnnounced(t *testing.T) {
	cacheFolder(t)
	t.Setenv("XDG_CACHE_HOME", "/dev/null/cache")
	if end, err := queue.Announce(queue.Running{Job: "x"}); err == nil || end != nil {
		t.Errorf("%v", err)
	}
	if got := announced(); got != nil {
		t.Errorf("%q", got)
	}
}
