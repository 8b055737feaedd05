package deploy_test

import "syscall"

// dieWithParent makes the kernel kill a server whose test process was killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
