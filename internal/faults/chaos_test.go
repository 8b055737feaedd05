package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/filelock"
	"github.com/pelmill/pelmill/internal/seed"
)

// driver injects faults of a kind until it has done size of them, or its round is over. What it does is drawn from the
// seed of the test.
type driver struct {
	name    string
	unit    string // of size
	round   int    // size of a round
	nightly int    // size of a night, in rounds together
	run     func(t *testing.T, size int, l *ledger)
}

// drivers are what "make chaos" runs. The same functions are run by TestFaults with a small size.
var drivers = []driver{
	{"kills", "processes killed", 40, 900, kills},
	{"killed runs", "runs killed", 20, 100, killedRuns},
	{"stops", "workers stopped", 2, 50, stops},
	{"orphans", "tasks orphaned", 10, 100, orphans},
	{"storage", "storage faults", 2500, 10_000, storageFaults},
	{"two sources", "storage faults", 300, 3000, twoSourcesAnywhere},
	{"disk errors", "system calls failed", 40, 500, diskErrors},
	{"flips", "bits flipped", 600, 60_000, flips},
	{"changes", "changes of a source", 200, 1000, changes},
	{"soak", "minutes", 180, 1440, soak},
}

// ledger counts what a driver did and what became of it.
type ledger struct {
	mu       sync.Mutex
	name     string // printed before each fault; empty: faults are not printed
	counts   map[string]int64
	recovery time.Duration
}

// Counters of a ledger beside those that a driver has of its own.
const (
	countFaults = "faults" // in the driver's unit
	countImages = "images"
)

func newLedger() *ledger { return &ledger{counts: map[string]int64{}} }

// fault notes one injected fault.
func (l *ledger) fault(format string, args ...any) {
	l.add(countFaults, 1)
	l.say(format, args...)
}

// say prints what is injected in a run whose faults are printed.
func (l *ledger) say(format string, args ...any) {
	if l.name != "" {
		fmt.Printf("%s %s: %s\n", time.Now().UTC().Format(time.TimeOnly), l.name, fmt.Sprintf(format, args...))
	}
}

func (l *ledger) add(counter string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[counter] += n
}

func (l *ledger) of(counter string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[counter]
}

// recovered notes how long it took until what a fault had hit was done.
func (l *ledger) recovered(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recovery = max(l.recovery, d)
}

// small is a driver as a case of TestFaults.
func small(run func(t *testing.T, size int, l *ledger), size int) func(t *testing.T) {
	return func(t *testing.T) { run(t, size, newLedger()) }
}

// night is what runs of "make chaos" have done together. It is kept in a file.
type night struct {
	Seed    uint64             `json:"seed"`
	Commit  string             `json:"commit"`
	At      time.Time          `json:"at"`
	Drivers map[string]*totals `json:"drivers"`
}

// totals are those of a driver.
type totals struct {
	Rounds   uint64           `json:"rounds"`
	Failed   []uint64         `json:"failed,omitempty"` // seeds of rounds that failed
	Counts   map[string]int64 `json:"counts"`
	Recovery float64          `json:"recovery_seconds,omitempty"` // the longest
}

// TestChaos is "make chaos": it runs drivers in turns, a round each, until each has done its night's work times SCALE, or
// CHAOS_TIME is over. CHAOS chooses rows by numbers or drivers by names. What was done is kept in CHAOS_STATE after each
// round, so that a run goes on where another one ended, with the seed of the first.
func TestChaos(t *testing.T) {
	chosen := os.Getenv("PELMILL_CHAOS")
	if chosen == "" {
		t.Skip("left out without PELMILL_CHAOS, which make chaos sets")
	}
	scale, length := 1.0, time.Duration(0)
	var err error
	if s := os.Getenv("SCALE"); s != "" {
		if scale, err = strconv.ParseFloat(s, 64); err != nil || scale <= 0 {
			t.Fatalf("SCALE=%q: want a number above 0", s)
		}
	}
	if s := os.Getenv("CHAOS_TIME"); s != "" {
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatalf("CHAOS_TIME=%q: %v", s, err)
		}
	}
	run := chosenDrivers(t, chosen)
	file := statePath(t)
	switch unlock, err := filelock.Try(file); {
	case errors.Is(err, filelock.ErrHeld):
		t.Fatalf("another run keeps what it does in %s, with the same seeds: give this one a CHAOS_STATE of its own", file)
	case err == nil:
		defer unlock()
	case !errors.Is(err, errors.ErrUnsupported):
		t.Fatal(err)
	}
	n := readNight(t, file)
	fmt.Printf("seed %d (%s), state in %s\n", n.Seed, seed.Variable, file)
	end := time.Now().Add(length)
	for busy := true; busy && (length == 0 || time.Now().Before(end)); {
		busy = false
		for _, d := range run {
			have := n.totals(d.name)
			left := int(float64(d.nightly)*scale+0.999) - int(have.Counts[countFaults])
			if left <= 0 || length > 0 && time.Now().After(end) {
				continue
			}
			busy = true
			of := roundSeed(n.Seed, d.name, have.Rounds)
			l := newLedger()
			l.name = d.name
			fmt.Printf("%s: round %d, seed %d\n", d.name, have.Rounds, of)
			ok := t.Run(fmt.Sprintf("%s %d", d.name, have.Rounds), func(t *testing.T) {
				t.Setenv(seed.Variable, strconv.FormatUint(of, 10))
				d.run(t, min(d.round, left), l)
			})
			have.take(l, of, ok)
			if l.of(countFaults) == 0 {
				t.Errorf("%s: a round without a fault", d.name)
				busy = false
			}
			n.write(t, file)
		}
	}
	n.print()
}

// chosenDrivers finds the drivers of rows or names; "all" are all.
func chosenDrivers(t *testing.T, list string) (run []driver) {
	t.Helper()
	for _, d := range drivers {
		for word := range strings.SplitSeq(list, ",") {
			word = strings.TrimSpace(word)
			ofRow := func(r row) bool { return strconv.Itoa(r.n) == word && slices.Contains(r.chaos, d.name) }
			if word == "all" || word == d.name || slices.ContainsFunc(rows, ofRow) {
				run = append(run, d)
				break
			}
		}
	}
	if len(run) == 0 {
		t.Fatalf("CHAOS=%q names no row that has a driver, and no driver", list)
	}
	return run
}

// statePath is CHAOS_STATE, or a file of the user's cache.
func statePath(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("CHAOS_STATE"); path != "" {
		return path
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "pelmill", "chaos.json")
}

func readNight(t *testing.T, file string) *night {
	t.Helper()
	n := &night{Drivers: map[string]*totals{}}
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		n.Seed = seed.Of(t)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		if err := json.Unmarshal(data, n); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if n.Commit = strings.TrimSpace(string(out)); err != nil {
		n.Commit = "unknown"
	}
	return n
}

// totals of a driver, which may be new.
func (n *night) totals(name string) *totals {
	if n.Drivers[name] == nil {
		n.Drivers[name] = &totals{Counts: map[string]int64{}}
	}
	return n.Drivers[name]
}

func (n *night) write(t *testing.T, file string) {
	t.Helper()
	n.At = time.Now().UTC()
	data, err := json.MarshalIndent(n, "", "  ")
	if err == nil {
		err = os.WriteFile(file+".new", data, 0o666)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// take adds a round.
func (h *totals) take(l *ledger, of uint64, ok bool) {
	h.Rounds++
	if !ok {
		h.Failed = append(h.Failed, of)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for counter, n := range l.counts {
		h.Counts[counter] += n
	}
	h.Recovery = max(h.Recovery, l.recovery.Seconds())
}

// roundSeed is the seed of a driver's round. That of the first is the seed of the night, so that a round is repeated by
// its own seed and an empty state.
func roundSeed(of uint64, name string, round uint64) uint64 {
	if round == 0 {
		return of
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", of, name, round)
	return h.Sum64()
}

// print prints the table of the README.
func (n *night) print() {
	fmt.Printf("\n%s, commit %s, seed %d\n\n", n.At.Format("2006-01-02 15:04"), n.Commit, n.Seed)
	fmt.Println("| driver | faults | of what | rounds that failed | besides |\n| --- | --- | --- | --- | --- |")
	for _, d := range drivers {
		h := n.Drivers[d.name]
		if h == nil {
			continue
		}
		var more []string
		for counter, c := range h.Counts {
			if counter != countFaults {
				more = append(more, fmt.Sprintf("%d %s", c, counter))
			}
		}
		slices.Sort(more)
		if h.Recovery > 0 {
			more = append(more, fmt.Sprintf("longest recovery %.0f s", h.Recovery))
		}
		fmt.Printf("| %s | %d | %s | %d of %d | %s |\n", d.name, h.Counts[countFaults], d.unit, len(h.Failed), h.Rounds, strings.Join(more, ", "))
		for _, s := range h.Failed {
			fmt.Printf("failed, again with: make chaos CHAOS=%q %s=%d CHAOS_STATE=$(mktemp -u)\n", d.name, seed.Variable, s)
		}
	}
}
