package faults_test

import (
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
)

// The CPU time of a process that works grows, and that of one that waits does not get ahead of it.
func TestCPU(t *testing.T) {
	works, waits := faults.Start(t, "works", nil, "sh", "-c", "while :; do :; done"), faults.Start(t, "waits", nil, "sleep", "600")
	faults.Until(t, limit, "a process to work", func() bool {
		long, err := works.CPU()
		if err != nil {
			t.Fatal(err)
		}
		short, err := waits.CPU()
		if err != nil {
			t.Fatal(err)
		}
		return long > short && long > 0
	})
	works.Kill()
	if _, err := works.CPU(); err == nil {
		t.Error("a process that is gone has a CPU time")
	}
}
