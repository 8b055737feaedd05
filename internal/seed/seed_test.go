package seed_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/seed"
)

// recorder is a test that can fail without failing the one that runs it.
type recorder struct {
	testing.TB
	failed   bool
	logged   strings.Builder
	cleanups []func()
}

func (r *recorder) Helper()                   {}
func (r *recorder) Failed() bool              { return r.failed }
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Logf(f string, a ...any)   { fmt.Fprintf(&r.logged, f, a...) }
func (r *recorder) Fatalf(f string, a ...any) { r.failed = true; r.Logf(f, a...) }

func (r *recorder) end() string {
	for _, f := range r.cleanups {
		f()
	}
	return r.logged.String()
}

func TestAFailedTestSaysItsSeed(t *testing.T) {
	t.Setenv(seed.Variable, "")
	passed, failed := &recorder{TB: t}, &recorder{TB: t}
	seed.Of(passed)
	n := seed.Of(failed)
	failed.failed = true
	if text := passed.end(); text != "" {
		t.Errorf("a test that passed says %q", text)
	}
	text := failed.end()
	if want := fmt.Sprintf("PELMILL_SEED=%d", n); !strings.Contains(text, want) {
		t.Errorf("a test that failed says %q, want %q in it", text, want)
	}
	t.Setenv(seed.Variable, fmt.Sprint(n))
	if again := seed.Of(t); again != n {
		t.Errorf("seed %d, want %d from the environment", again, n)
	}
	if a, b := seed.Rand(t).Uint64(), seed.Rand(t).Uint64(); a != b {
		t.Errorf("the same seed gives %d and %d", a, b)
	}
}

func TestTheEnvironmentMustHoldANumber(t *testing.T) {
	t.Setenv(seed.Variable, "-1")
	r := &recorder{TB: t}
	if seed.Fixed(r); !r.failed {
		t.Error("a seed of -1 is taken")
	}
}
