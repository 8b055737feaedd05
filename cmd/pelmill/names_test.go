package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/worker"
)

// hostile are names that would do something to a terminal or a log.
var hostile = []string{
	"a\x1b]0;owned\a.png",
	"a.png\npelmill: all good",
	"a\u202egnp.exe",
	"a\u009b2Jb\x7f.png",
	"a\u2028b.png",
}

// onlyLines fails where text has anything to obey, or other than n lines.
func onlyLines(t *testing.T, text string, n int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != n {
		t.Errorf("%d lines, want %d: %q", len(lines), n, text)
	}
	for _, line := range lines {
		if plain.Line(line) != line {
			t.Errorf("raw characters in %q", line)
		}
	}
}

func TestNamesAreEscapedInLines(t *testing.T) {
	for _, name := range hostile {
		var out, errs buffer
		p := &program{stdout: &out, stderr: &errs, verbose: true}
		d := p.display(0)
		d.object(jobs.Result{Key: name, Outcome: jobs.OutcomeFailed, Error: "open /src/" + name + ": cut short"})
		d.object(jobs.Result{Key: name, Target: name + ".vq", Outcome: jobs.OutcomeCompressed, Facts: map[string]string{"made by": name}})
		d.object(jobs.Result{Key: name, Outcome: jobs.OutcomeKept, Note: name})
		d.update(snapshot{state: jobs.StatePaused, why: name, total: 1})
		(&verification{p: p}).show(d, worker.Verdict{Target: name, Problem: "size", Error: name})
		p.hint("left out: " + name)
		onlyLines(t, errs.String(), 6)
		if !strings.Contains(errs.String(), "failed: "+plain.Name(name)+": ") {
			t.Errorf("no %s in %s", plain.Name(name), errs.String())
		}
		r := jobs.Report{Job: "j", Target: "file:///t/" + name, State: jobs.StateFailed, Codec: "vq", Reason: name, Options: name}
		if err := p.summary(r); err != nil {
			t.Error(err)
		}
		if text := out.String(); strings.Contains(text, "\x1b") || strings.Contains(text, "\npelmill") || strings.Contains(text, "\u202e") {
			t.Errorf("%q", text)
		}
		onlyLines(t, sentence(fmt.Errorf("cannot read %s: %w", name, errors.New("no"))), 1)
		p.loggerTo(plain.Writer(&errs), true).Warn("cannot read "+name, "key", name, "error", errors.New(name))
		onlyLines(t, errs.String(), 7)
	}
}

// TestBarNeverShowsANameRaw holds what comes above the bar against what the bar
// itself may send to the terminal.
func TestBarNeverShowsANameRaw(t *testing.T) { synctest.Test(t, barNeverShowsANameRaw) }

func barNeverShowsANameRaw(t *testing.T) {
	var errs buffer
	d := (&program{stdout: &errs, stderr: &errs, screen: &errs}).display(time.Hour)
	d.update(snapshot{state: jobs.StatePaused, why: "waits for \x1b]0;owned\a", total: 3})
	d.object(jobs.Result{Key: hostile[0], Outcome: jobs.OutcomeFailed, Error: hostile[1]})
	fmt.Fprintln(d, "a log line with \x1b]0;owned\a")
	time.Sleep(400 * time.Millisecond) // two refreshes, on the clock of the bubble
	d.close()
	if strings.Contains(errs.String(), "\x1b]0;") || strings.Contains(errs.String(), "\a") {
		t.Errorf("%q", errs.String())
	}
	if !strings.Contains(errs.String(), plain.Name(hostile[0])+": "+plain.Line(hostile[1])+"\n") {
		t.Errorf("%q", errs.String())
	}
}

func TestLongNamesAreCutOnATerminalOnly(t *testing.T) {
	r := jobs.Result{Key: strings.Repeat("x", 1000) + ".png", Outcome: jobs.OutcomeRejected, Error: "no"}
	if text := (&program{}).objectText(r); !strings.Contains(text, r.Key) {
		t.Errorf("%q", text)
	}
	if text := (&program{screen: &buffer{}}).objectText(r); len(text) > 150 || !strings.Contains(text, ".png") {
		t.Errorf("%q", text)
	}
}

// TestJSONKeepsNames: the key is the true one, and no byte of the line is for a
// terminal to obey.
func TestJSONKeepsNames(t *testing.T) {
	for _, name := range hostile {
		var out buffer
		p := &program{stdout: plain.Writer(&out), json: true}
		if err := p.emit(objectEvent{"object", jobs.Result{Key: name}}); err != nil {
			t.Fatal(err)
		}
		onlyLines(t, out.String(), 1)
		var e objectEvent
		if err := json.Unmarshal([]byte(out.String()), &e); err != nil || e.Key != name {
			t.Errorf("%q comes back as %q, %v", name, e.Key, err)
		}
	}
}

// TestQuotedNamesComeBackFromAShell: a hint can be copied, whatever the name.
func TestQuotedNamesComeBackFromAShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		services.Missing(t, "no bash on this machine: quoted names are not tried in a shell")
	}
	for _, name := range append(hostile, "a b", "it's", `a\x1b`, "$(id)", "\x1b7'\\1", filepath.Join("é", "\x80")) {
		quoted := shellQuote(name)
		onlyLines(t, quoted, 1)
		out, err := exec.Command(bash, "-c", "printf %s "+quoted).Output()
		if err != nil || string(out) != name {
			t.Errorf("%s gives %q, want %q; %v", quoted, out, name, err)
		}
	}
}
