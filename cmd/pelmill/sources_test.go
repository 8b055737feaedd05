package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// later is a time of the day that is hours away.
func later() string {
	hour := time.Now().Add(3 * time.Hour).Hour()
	return fmt.Sprintf("%02d:00-%02d:00", hour, (hour+1)%24)
}

// What one process still has to read is not replaced by another that overwrites, in
// whichever way either is started; when the first is gone, it is.
func TestSourcesOfAnotherProcessAreNotReplaced(t *testing.T) {
	source, target, to, _ := folders(t, 3)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	buckets := storage.NewBuckets()
	t.Cleanup(func() { buckets.Close() })
	from, err := buckets.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	const key = "victim.png"
	victim := faults.Images(7, 1, 64)[0].Data
	if _, err := storage.Put(t.Context(), from, key, victim, nil); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	others, err := buckets.Open(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Put(t.Context(), others, "victim.ppm", faults.Image(9, "victim.ppm", 200, 160).Data, nil); err != nil {
		t.Fatal(err)
	}
	overwrite := func() (string, int) {
		cmd := exec.Command(pelmill(t), "compress", other, source, "--codec", "neuquant", "--overwrite", "--json")
		out, _ := cmd.Output()
		return string(out), cmd.ProcessState.ExitCode()
	}
	unchanged := func() bool {
		got, err := storage.Get(context.Background(), from, key, 1<<20, nil)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Equal(got.Data, victim)
	}

	p := faults.Start(t, "compress", nil, pelmill(t), "compress", source, target, "--codec", "vq", "--hours", later(), "--json")
	faults.Until(t, limit, "a plan", func() bool {
		found := false
		err := storage.Walk(t.Context(), to, &storage.WalkOptions{Prefix: jobs.JobsDir}, func(page storage.Page) error {
			for _, o := range page.Objects {
				found = found || strings.HasSuffix(o.Key, "/plan.json")
			}
			return nil
		})
		return found && err == nil
	})
	out, code := overwrite()
	if !strings.Contains(out, "is a source of job") || code != exitFailures || !unchanged() {
		t.Errorf("beside a running job: code %d, unchanged %v\n%s", code, unchanged(), out)
	}
	p.Kill()
	if out, code = overwrite(); code != 0 || unchanged() {
		t.Errorf("after it was killed: code %d, unchanged %v\n%s", code, unchanged(), out)
	}
}
