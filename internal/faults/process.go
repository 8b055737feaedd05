package faults

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Build compiles a program of the module into dir and returns its path. pkg is an import path below the module, such
// as "cmd/pelmill".
func Build(dir, pkg string) (string, error) {
	out := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", out, "github.com/pelmill/pelmill/"+pkg)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("faults: build %s: %w\n%s", pkg, err, text)
	}
	return out, nil
}

// Process is a running program. Its methods are safe for concurrent use.
type Process struct {
	name   string
	cmd    *exec.Cmd
	stdout tail
	stderr tail
	done   chan struct{}
}

// Start runs a program with env added to the environment. The process is killed when the test ends, or when the test
// process dies; the end of its output is shown if the test failed.
func Start(t testing.TB, name string, env []string, path string, args ...string) *Process {
	t.Helper()
	p := &Process{name: name, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = dieWithParent()
	p.cmd.WaitDelay = 2 * time.Second // of a grandchild that still holds the pipes
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("faults: start %s: %v", name, err)
	}
	go func() {
		defer close(p.done)
		p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s (%s), exit %d\nstdout: %s\nstderr: %s", name, strings.Join(args, " "), p.cmd.ProcessState.ExitCode(), &p.stdout, &p.stderr)
		}
	})
	return p
}

// Kill ends the process with SIGKILL and waits for its end. It does nothing to one that has ended.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Signal sends a signal to the process if it runs.
func (p *Process) Signal(s syscall.Signal) {
	select {
	case <-p.done:
	default:
		p.cmd.Process.Signal(s)
	}
}

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Wait waits for the end of the process and returns its exit code, -1 for one ended by a signal. It fails the test
// after the limit.
func (p *Process) Wait(t testing.TB, limit time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		t.Fatalf("faults: %s still runs after %v", p.name, limit)
		return 0
	}
}

// Stdout is the end of what the process wrote to its standard output.
func (p *Process) Stdout() string { return p.stdout.String() }

// Stderr is the end of what the process wrote to its standard error.
func (p *Process) Stderr() string { return p.stderr.String() }

// Run runs a program to its end and returns its standard output. It fails the test if the exit code is not want.
func Run(t testing.TB, want int, env []string, path string, args ...string) string {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = dieWithParent()
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("faults: run %s: %v", path, err)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Fatalf("faults: %s %s: exit code %d, want %d\n%s%s", filepath.Base(path), strings.Join(args, " "), got, want, &stdout, &stderr)
	}
	return stdout.String()
}

// Until calls ready every few milliseconds until it holds, and fails the test after the limit.
func Until(t testing.TB, limit time.Duration, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("faults: waited %v for: %s", limit, what)
		}
	}
}

// tail keeps the last tailSize bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 64 << 10

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	if len(l.buf) > 2*tailSize {
		l.buf = append(l.buf[:0], l.buf[len(l.buf)-tailSize:]...)
	}
	return len(p), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf)
}
