package faults_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
)

func TestProcessEndsWithItsCodeOrSignal(t *testing.T) {
	if got := faults.Start(t, "exit", []string{"CODE=7"}, "/bin/sh", "-c", "exit $CODE").Wait(t, time.Minute); got != 7 {
		t.Errorf("exit code %d, want 7", got)
	}
	p := faults.Start(t, "sleep", nil, "/bin/sh", "-c", "echo ready; exec sleep 1000")
	faults.Until(t, time.Minute, "output", func() bool { return p.Stdout() == "ready\n" })
	if !p.Running() {
		t.Error("a sleeping process does not run")
	}
	p.Kill()
	if p.Running() {
		t.Error("a killed process runs")
	}
	p.Signal(syscall.SIGTERM)
	if got := p.Wait(t, time.Minute); got != -1 {
		t.Errorf("exit code %d of a killed process, want -1", got)
	}
}

func TestRunReturnsOutput(t *testing.T) {
	if got := faults.Run(t, 3, nil, "/bin/sh", "-c", "echo out; echo err >&2; exit 3"); got != "out\n" {
		t.Errorf("output %q", got)
	}
}
