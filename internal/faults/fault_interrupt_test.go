package faults_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/seed"
	"github.com/pelmill/pelmill/jobs"
)

// long makes a run long enough to be interrupted on any machine: twenty objects a second. rest lifts that.
var (
	long = []string{"--tpslimit", "60"}
	rest = []string{"--tpslimit", "0"}
)

// results is how many results the target has, in the folders of [faults.Images].
func (tr *trial) results() int {
	tr.t.Helper()
	return tr.count("a") + tr.count("b") + tr.count("c")
}

// interrupted runs compress again and again, ends each run with a signal after it has stored something, looks for
// halves, and lets the last one come to its end. All runs together are one job.
func interrupted(signal syscall.Signal, code int) func(t *testing.T) {
	return func(t *testing.T) {
		const rounds = 4
		tr := inFolders(t, faults.Images(10, 480, 128))
		tr.extra = []string{"--chunk-objects", "20"}
		rng := seed.Rand(t)
		before := 0
		for round := range rounds {
			p := tr.pelmill("compress", append(tr.flags("compress"), long...)...)
			faults.Until(t, limit, "results", func() bool {
				return !p.Running() || tr.results() > before
			})
			time.Sleep(time.Duration(rng.Int64N(int64(50 * time.Millisecond)))) // which moment the signal hits is the test
			if !p.Running() {
				t.Fatalf("round %d: the run ended before the signal; the job is too small", round)
			}
			p.Signal(signal)
			if got := p.Wait(t, limit); got != code {
				t.Errorf("round %d: exit code %d, want %d", round, got, code)
			}
			n := faults.Whole(t, tr.to, vq(t))
			if n < before || n == len(tr.sources) {
				t.Errorf("round %d: %d results after %d before", round, n, before)
			}
			before = n
		}
		// What a process leaves that dies while it writes a result.
		half := filepath.Join(tr.disk, jobs.Root+"tmp", ".pelmill-tmp-HALF")
		if err := os.WriteFile(half, []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := tr.pelmill("compress", append(tr.flags("compress"), rest...)...).Wait(t, limit); got != 0 {
			t.Errorf("last run: exit code %d, want 0", got)
		}
		if left, err := os.ReadDir(filepath.Dir(half)); err != nil || len(left) > 0 {
			t.Errorf("temporary files of runs that are over: %v, %v, want none", left, err)
		}
		tr.check(tr.job())
		if got := tr.pelmill("compress", tr.flags("compress")...).Wait(t, limit); got != 0 {
			t.Errorf("one more run: exit code %d, want 0: everything was done before", got)
		}
	}
}

// twoRuns has somebody start the same command while it runs.
func twoRuns(t *testing.T) {
	tr := inFolders(t, faults.Images(14, 240, 128))
	tr.extra = append([]string{"--chunk-objects", "20"}, long...)
	a := tr.pelmill("compress", tr.flags("compress")...)
	faults.Until(t, limit, "results", func() bool { return !a.Running() || tr.results() > 0 })
	b := tr.pelmill("compress", tr.flags("compress")...)
	for _, p := range []*faults.Process{a, b} {
		if code := p.Wait(t, limit); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
	}
	tr.check(tr.job())
}
