//go:build !linux

package faults

import (
	"errors"
	"syscall"
	"time"
)

func dieWithParent() *syscall.SysProcAttr { return nil }

// CPU is the processor time that the process has used so far, which is known on Linux only.
func (p *Process) CPU() (time.Duration, error) {
	return 0, errors.New("faults: the CPU time of a running process is read on Linux only")
}
