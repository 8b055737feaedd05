// Package services starts real servers for tests: Redis (single, Sentinel, Cluster), and stores that speak the
// protocols of S3, Google Cloud Storage and Azure Blob Storage. Only tests may import it.
//
// Every server listens on a free port of the loopback interface, keeps its data in the test's temporary folder, and is
// killed when the test ends, also when the test process is killed (on Linux). A server whose program is missing makes
// the test skip with the reason, or fail where PELMILL_TEST=require. "make services" installs the programs into
// .tools/ at the project's root; they are looked for there first, then in PATH.
//
// The stores' credentials are made-up ones. The functions that start a store put them into the environment of the test
// process, from where gocloud reads them, so such a test cannot be parallel; Env holds them for child processes.
package services

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTimeout is how long a server may take until it answers; azurite needs seconds on a quiet machine.
const startTimeout = 3 * time.Minute

// Missing ends a test that cannot run here: it skips, or fails where PELMILL_TEST=require.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	if os.Getenv("PELMILL_TEST") == "require" {
		t.Fatalf("PELMILL_TEST=require: %s", reason)
	}
	t.Skipf("NOT TESTED: %s", reason)
}

// Root returns the project's folder: the one with go.mod at or above the working directory.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("services: no go.mod at or above the working directory")
		}
		dir = parent
	}
}

// program finds a server's executable, or ends the test.
func program(t testing.TB, name string) string {
	t.Helper()
	root := Root(t)
	for _, dir := range []string{".tools/bin", ".tools/node_modules/.bin"} {
		path := filepath.Join(root, filepath.FromSlash(dir), name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "%s is neither in .tools/ nor in PATH; run make services", name)
	}
	return path
}

// The ports that FreePort gives are none that systems choose by themselves, for connections and for listeners without a
// number: those begin at 32768 or later.
const (
	firstPort = 18_000
	ports     = 14_000
)

// FreePort returns a port of the loopback interface that nothing listens on. It is the test's until its end: no other
// test gets it before the server listens, or while the server is down, and no connection takes it.
func FreePort(t testing.TB) int {
	t.Helper()
	from := rand.IntN(ports)
	for i := range ports {
		port := firstPort + (from+i)%ports
		release, ok, err := reserve(port)
		if err != nil {
			t.Fatalf("services: reserve a port: %v", err)
		}
		if !ok {
			continue
		}
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			l.Close()
			t.Cleanup(release)
			return port
		}
		release()
	}
	t.Fatalf("services: none of the ports from %d to %d is free", firstPort, firstPort+ports-1)
	return 0
}

// process is a server that can be stopped and started again with the same arguments.
type process struct {
	t     testing.TB
	path  string
	args  []string
	dir   string
	ready func() error // nil once the server answers

	mu   sync.Mutex
	cmd  *exec.Cmd
	out  *lockedBuffer
	done chan struct{} // closed when cmd has ended
}

func newProcess(t testing.TB, path, dir string, ready func() error, args ...string) *process {
	p := &process{t: t, path: path, args: args, dir: dir, ready: ready}
	t.Cleanup(p.Kill)
	return p
}

// Start starts the server and waits until it answers. A server that runs is left alone.
func (p *process) Start() {
	p.t.Helper()
	if err := p.start(); err != nil {
		p.t.Fatalf("services: %v", err)
	}
}

func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return nil
	}
	cmd := exec.Command(p.path, p.args...)
	out := &lockedBuffer{}
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, out, out
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		cmd.Wait()
		close(done)
	}()
	p.cmd, p.out, p.done = cmd, out, done
	end := time.Now().Add(startTimeout)
	for {
		err := p.ready()
		if err == nil {
			return nil
		}
		select {
		case <-done:
			p.cmd = nil
			return fmt.Errorf("%s ended at once: %s", filepath.Base(p.path), out.tail())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not answer: %w: %s", filepath.Base(p.path), err, out.tail())
		}
	}
}

// Stop ends the server as an operator would, with SIGTERM, and waits for it.
func (p *process) Stop() { p.end(syscall.SIGTERM) }

// Kill ends the server at once, with SIGKILL, and waits for it.
func (p *process) Kill() { p.end(syscall.SIGKILL) }

func (p *process) end(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Signal(sig)
	p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		p.cmd.Process.Kill()
		<-p.done
	}
	p.cmd = nil
}

// Pause freezes the server with SIGSTOP: connections stay open and nothing answers, as in a network partition.
func (p *process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume ends Pause.
func (p *process) Resume() { p.signal(syscall.SIGCONT) }

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		p.t.Fatalf("services: %s is not running", filepath.Base(p.path))
	}
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatalf("services: %s: %v", filepath.Base(p.path), err)
	}
}

// Running reports whether the server was started and has not ended.
func (p *process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Output returns the end of what the server has printed.
func (p *process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		return ""
	}
	return p.out.tail()
}

// listening returns a ready function for servers whose open port means that they serve.
func listening(addr string) func() error {
	return func() error {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// lockedBuffer keeps the last output of a server.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const keepOutput = 64 << 10

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf.Len() > 2*keepOutput {
		b.buf.Next(b.buf.Len() - keepOutput)
	}
	return b.buf.Write(p)
}

func (b *lockedBuffer) tail() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.buf.Bytes()
	return string(out[max(0, len(out)-4000):])
}

var errNotReady = errors.New("not ready")
