package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pelmill/pelmill/internal/filelock"
)

const printed = `example.com/a FuzzOne
fuzz: elapsed: 0s, gathering baseline coverage: 0/12 completed
fuzz: elapsed: 3s, execs: 1000 (333/sec), new interesting: 2 (total: 14)
fuzz: elapsed: 4s, execs: 1500 (500/sec), new interesting: 3 (total: 15)
PASS
ok  	example.com/a	4.1s
example.com/b FuzzTwo
fuzz: elapsed: 1m0s, execs: 120 (2/sec), new interesting: 0 (total: 5)
--- FAIL: FuzzTwo (60.01s)
FAIL
`

func TestReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "fuzz.json")
	const repeated = `PASS
ok  	example.com/a	4.1s
        1500 executions,      3 new,     375 a second: example.com/a FuzzOne; 1500 so far
--- FAIL: FuzzTwo (60.01s)
FAIL
         120 executions,      0 new,       2 a second: example.com/b FuzzTwo, FAILED; 1620 so far
        1620 executions,      3 new,      25 a second: 2 targets in this run
`
	for _, sums := range []string{
		"        1620 executions,      3 new,      25 a second: 2 targets in all runs, by " + file + "\n",
		"        3240 executions,      6 new,      25 a second: 2 targets in all runs, by " + file + "\n",
	} {
		var out strings.Builder
		failed, err := report(strings.NewReader(printed), &out, file)
		if want := "fuzz: elapsed: 0s, gathering baseline coverage: 0/12 completed\n" + repeated + sums; err != nil || !failed || out.String() != want {
			t.Errorf("failed %v, %v, output:\n%s\nwant:\n%s", failed, err, out.String(), want)
		}
	}
}

// A run that is cut in the middle of a target has counted those before, and what that one had said.
func TestReportOfARunThatWasCut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fuzz.json")
	cut, _, _ := strings.Cut(printed, "--- FAIL")
	if failed, err := report(strings.NewReader(cut), &strings.Builder{}, file); err != nil || failed {
		t.Fatalf("failed %v, %v", failed, err)
	}
	s, err := readState(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]totals{"example.com/a FuzzOne": {1500, 3, 4, 0}, "example.com/b FuzzTwo": {120, 0, 60, 0}}
	for name, w := range want {
		if got := s.Targets[name]; got == nil || *got != w {
			t.Errorf("%s: %+v, want %+v", name, got, w)
		}
	}
}

// Runs at the same time add to one file, and it has the sums of all.
func TestRunsAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fuzz.json")
	unlock, err := filelock.Lock(file)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("NOT TESTED: this system has no flock(2)")
	}
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 25 {
				if err := addTo(file, "p FuzzA", totals{Executions: 1000, New: 1, Seconds: 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	s, err := readState(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Targets["p FuzzA"], (totals{Executions: 200_000, New: 200, Seconds: 200}); got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTargetsGoOnWhereARunWasCut(t *testing.T) {
	names := []string{"p FuzzA", "p FuzzB", "q FuzzA", "q FuzzC"}
	before := &state{Targets: map[string]*totals{"p FuzzA": {Seconds: 20}, "p FuzzB": {Seconds: 10}, "q FuzzA": {Seconds: 10}}}
	for only, want := range map[string]string{
		"":       "q FuzzC\np FuzzB\nq FuzzA\np FuzzA\n",
		"^q":     "q FuzzC\nq FuzzA\n",
		"FuzzA$": "q FuzzA\np FuzzA\n",
	} {
		var out strings.Builder
		if ok, err := list(&out, names, regexp.MustCompile(only), before); !ok || err != nil || out.String() != want {
			t.Errorf("%q: %v, %v, %q, want %q", only, ok, err, out.String(), want)
		}
	}
	if ok, err := list(&strings.Builder{}, names, regexp.MustCompile("nothing"), before); ok || err == nil {
		t.Error("a pattern that fits no target is no error")
	}
}

// The targets are those of the files that are compiled here, in whatever order of files.
func TestTargetsOfAPackage(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":          "module example.com/m\n",
		"m.go":            "package m\n\nfunc FuzzNot() {}\n",
		"a_test.go":       "package m\n\nfunc FuzzOne(f *testing.F) {}\n\nfunc TestOne(t *testing.T) {}\n\nfunc FuzzTwo(f *testing.F) {}\n",
		"b_test.go":       "package m_test\n\nfunc FuzzThree(f *testing.F) {}\n",
		"c_plan9_test.go": "package m\n\nfunc FuzzElsewhere(f *testing.F) {}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := targets("./...")
	if want := []string{"example.com/m FuzzOne", "example.com/m FuzzTwo", "example.com/m FuzzThree"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
