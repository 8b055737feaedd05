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

// Takes is what the process takes of the machine, which is known on Linux only.
func (p *Process) Takes() (memory int64, files int, err error) {
	return 0, 0, errors.New("faults: the memory of a running process is read on Linux only")
}
