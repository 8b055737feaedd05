package faults

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// dieWithParent has the kernel kill a process when the test process is gone.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// tick is the unit of times in /proc: USER_HZ, which is 100 on every architecture that Go knows.
const tick = time.Second / 100

// CPU is the processor time that the process has used so far, in user and in kernel mode.
func (p *Process) CPU() (time.Duration, error) {
	name := fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid)
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, fmt.Errorf("faults: CPU time of %s: %w", p.name, err)
	}
	// The name of the program, in brackets, may have spaces; utime and stime are the 14th and 15th field of proc_pid_stat(5).
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	var sum time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("faults: CPU time of %s: %s: %q: %w", p.name, name, text, err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// Takes is the resident memory of the process in bytes, and how many files it has open.
func (p *Process) Takes() (memory int64, files int, err error) {
	dir := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	text, err := os.ReadFile(dir + "statm") // in pages: size, resident, ...
	if err != nil {
		return 0, 0, fmt.Errorf("faults: memory of %s: %w", p.name, err)
	}
	if fields := bytes.Fields(text); len(fields) > 1 {
		memory, err = strconv.ParseInt(string(fields[1]), 10, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("faults: memory of %s: %q: %w", p.name, text, err)
	}
	open, err := os.ReadDir(dir + "fd")
	if err != nil {
		return 0, 0, fmt.Errorf("faults: open files of %s: %w", p.name, err)
	}
	return memory * int64(os.Getpagesize()), len(open), nil
}
