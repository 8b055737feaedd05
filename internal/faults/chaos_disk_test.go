package faults_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/seed"
	"github.com/pelmill/pelmill/jobs"
)

// diskCalls are the system calls that make a file last under its name, see package storage.
var diskCalls = []string{"fsync", "linkat,renameat,renameat2"}

// diskErrors has the kernel answer system calls with EIO. Where each such call fails, nothing may be recorded as
// stored; where some fail, what is recorded must be there, and runs without errors must end the work.
func diskErrors(t *testing.T, size int, l *ledger) {
	strace := needs(t, "strace")
	rng := seed.Rand(t)
	for _, call := range diskCalls {
		w := drawWork(t, rng, l)
		tr := w.of(inFolders(t, w.sources(rng.Uint64(), 40, 64)))
		l.add(countImages, int64(len(tr.sources)))
		tr.extra = []string{"--chunk-objects", "10", "--fail-ratio", "1"}
		if code := tr.traced(strace, call, "when=1+", l); code == 0 {
			t.Errorf("%s: the run ended with code 0 although each call failed", call)
		}
		for _, id := range tr.jobs() {
			for key, r := range tr.recorded(id) {
				if r.Outcome == jobs.OutcomeCompressed {
					t.Errorf("%s: %s is recorded as compressed although each call failed", call, key)
				}
			}
		}
		for before := l.of(countFaults); l.of(countFaults)-before < int64(size/len(diskCalls)); {
			// Calls are counted by thread. Two of each fail, as a job whose last records can never be written never ends.
			first, step := 1+rng.IntN(12), 2+rng.IntN(8)
			when := fmt.Sprintf("when=%d..%d+%d", first, first+step, step)
			had := l.of(countFaults)
			code := tr.traced(strace, call, when, l)
			tr.whole()
			if code == 0 && l.of(countFaults) == had {
				break // everything is done
			}
		}
		code := tr.pelmill("compress", tr.flags("compress")...).Wait(t, limit)
		if code == 1 || code == 3 { // it has ended a job that had failed before, or some of whose objects had, and says so
			code = tr.pelmill("compress", tr.flags("compress")...).Wait(t, limit)
		}
		if code != 0 && code != 4 {
			t.Errorf("%s: a run without errors ends with code %d, want 0, or 4 where nothing is left", call, code)
		}
		var ids []string // of jobs that came to records
		for _, id := range tr.jobs() {
			if tr.count(jobs.Folder(id).Plan()) == 1 && tr.count(jobs.Folder(id).Report()) == 1 {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			t.Fatalf("%s: no job came to a report", call)
		}
		tr.check(ids[len(ids)-1], ids[:len(ids)-1]...)
	}
}

// traced runs compress with EIO for some calls, and counts them.
func (tr *trial) traced(strace, call, when string, l *ledger) (code int) {
	tr.t.Helper()
	log := filepath.Join(tr.t.TempDir(), "strace")
	args := append([]string{"-f", "-qq", "--seccomp-bpf", "-o", log, "-e", "trace=" + call, "-e", "inject=" + call + ":error=EIO:" + when,
		program(tr.t, "cmd/pelmill")}, tr.flags("compress")...)
	code = faults.Start(tr.t, "strace", tr.env, strace, args...).Wait(tr.t, limit)
	data, err := os.ReadFile(log)
	if err != nil {
		tr.t.Fatal(err)
	}
	if strings.Contains(string(data), "Operation not permitted") {
		tr.t.Skip("NOT TESTED: strace may not trace here")
	}
	n := bytes.Count(data, []byte("(INJECTED)"))
	l.add(countFaults, int64(n))
	l.say("EIO to %d of the calls %s (%s), exit code %d", n, call, when, code)
	return code
}

// recorded are the records of a job, also of one that has not ended.
func (tr *trial) recorded(id string) map[string]jobs.Result {
	tr.t.Helper()
	return faults.Records(tr.t, tr.to, id)
}
