package faults

import "syscall"

// dieWithParent has the kernel kill a process when the test process is gone.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
