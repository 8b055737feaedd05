package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/jobs"
)

// killed starts compress and kills it when it has recorded some results.
func killed(t *testing.T, source, target string, more ...string) {
	t.Helper()
	cmd := exec.Command(pelmill(t), append([]string{"compress", source, target, "--codec", "vq", "--chunk-objects", "5", "-q"}, append(more, long...)...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	faults.Until(t, limit, "recorded results", func() bool {
		out, code := run(t, "status", target, "--json")
		return code == 0 && strings.Contains(out, `"state":"running"`)
	})
	time.Sleep(300 * time.Millisecond)
	cmd.Process.Kill()
	cmd.Wait()
}

// The job of a process that was killed is interrupted, and says so: status, watch,
// cancel and a job that supersedes it all come to an end.
func TestInterruptedJobsEnd(t *testing.T) {
	t.Parallel()
	source, target, b, _ := folders(t, 400)
	killed(t, source, target, "-o", "passes=40")
	out, code := run(t, "status", target)
	if code != 0 || !strings.Contains(out, "interrupted: at ") || !strings.Contains(out, " of 400; compress again continues") {
		t.Errorf("status: code %d\n%s", code, out)
	}
	if out, code := run(t, "watch", target); code != exitError {
		t.Errorf("watch: code %d, want %d\n%s", code, exitError, out)
	}
	if out, code := run(t, "cancel", target); code != 0 {
		t.Errorf("cancel: code %d\n%s", code, out)
	}
	if out, _ := run(t, "status", target, "--json"); !strings.Contains(out, `"state":"cancelled"`) {
		t.Errorf("after cancel:\n%s", out)
	}

	killed(t, source, target, "-o", "passes=40", "-o", "n=64")
	out, code = run(t, "compress", source, target, "--codec", "vq", "-o", "n=16", "-o", "passes=1", "--json")
	s := summaryOf(t, out)
	if code != 0 || s.Compressed != 400 {
		t.Errorf("a job that supersedes an interrupted one: code %d, %+v", code, s.Counts)
	}
	out, _ = run(t, "status", target, "--all")
	if strings.Count(out, string(jobs.StateCancelled)) != 2 || strings.Contains(out, "running") {
		t.Errorf("all jobs of %s:\n%s", b.URL, out)
	}
}
