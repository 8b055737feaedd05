package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asInit marks the process that becomes the daemon.
const asInit = "PELMILL_DEPLOY_INIT"

func TestMain(m *testing.M) {
	if os.Getenv(asInit) != "" {
		becomeDaemon()
	}
	os.Exit(m.Run())
}

// A daemon is a Docker daemon of the test's own, in namespaces of its own for mounts, processes and network: whatever it
// leaves ends with it, and it meets no other daemon, firewall or network of the machine. Its data stays in .tools/ for the
// next run, so that an image is built once.
type daemon struct {
	t    *testing.T
	root string   // Docker's programs, unpacked
	dir  string   // sockets and state
	env  []string // of its programs
	cmd  *exec.Cmd
	ends chan error
}

// startTimeout is how long a daemon may take until it answers, on a machine that does a lot besides.
const startTimeout = 2 * time.Minute

// newDaemon starts one, or ends the test where none can run: that is no failure, in CI neither.
func newDaemon(t *testing.T) *daemon {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: containers: a Docker daemon needs root")
	}
	d := &daemon{t: t, root: filepath.Join(tools(t), "docker", "root")}
	for _, path := range []string{"docker/root/usr/sbin/dockerd", "docker-config/cli-plugins/docker-compose", "debian-rootfs.tar"} {
		if _, err := os.Stat(filepath.Join(tools(t), path)); err != nil {
			t.Skipf("NOT TESTED: containers: %s is not in .tools/; run make deploy-tools", path)
		}
	}
	// The path of a socket has at most 107 bytes.
	var err error
	if d.dir, err = os.MkdirTemp("", "pelmill-docker-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(d.dir); err != nil {
			t.Errorf("the daemon left files: %v", err)
		}
	})
	lib := filepath.Join(d.root, "usr/lib", debianArchitecture[runtime.GOARCH])
	d.env = []string{"PATH=" + filepath.Join(d.root, "usr/sbin") + ":" + filepath.Join(d.root, "usr/bin") + ":" + os.Getenv("PATH"),
		"LD_LIBRARY_PATH=" + lib, "XTABLES_LIBDIR=" + filepath.Join(lib, "xtables"), "DOCKER_BUILDKIT=1",
		"DOCKER_HOST=unix://" + filepath.Join(d.dir, "docker.sock"), "DOCKER_CONFIG=" + filepath.Join(tools(t), "docker-config")}
	if err := d.start(); err != nil {
		t.Skipf("NOT TESTED: containers: no Docker daemon can run here: %v", err)
	}
	t.Cleanup(d.stop)
	return d
}

var debianArchitecture = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

func (d *daemon) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(d.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	d.cmd = exec.Command(self, filepath.Join(d.root, "usr/sbin/dockerd"), "--data-root", filepath.Join(tools(d.t), "docker-data"),
		"--exec-root", filepath.Join(d.dir, "exec"), "--pidfile", filepath.Join(d.dir, "pid"), "-H", "unix://"+filepath.Join(d.dir, "docker.sock"),
		"--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false", "--bridge=none", "--storage-driver=overlay2",
		"--cgroup-parent", cgroup)
	d.cmd.Env = append(append(os.Environ(), d.env...), asInit+"=1")
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET}
	started := make(chan error)
	d.ends = make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the kernel kills the daemon when the thread that started it ends
		defer runtime.UnlockOSThread()
		err := d.cmd.Start()
		started <- err
		if err == nil {
			d.ends <- d.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(200 * time.Millisecond) {
		if _, err = output(d.t.Context(), d.env, nil, d.program("docker"), "version"); err == nil {
			return nil
		}
		select {
		case ended := <-d.ends:
			return fmt.Errorf("%v: %s", ended, d.log())
		default:
		}
		if time.Now().After(deadline) {
			d.cmd.Process.Kill()
			<-d.ends
			return errors.Join(err, errors.New(d.log()))
		}
	}
}

func (d *daemon) log() string {
	log, _ := os.ReadFile(filepath.Join(d.dir, "log"))
	return tail(string(log))
}

// stop ends the daemon and looks that it is gone with all that it started.
func (d *daemon) stop() {
	d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ends:
	case <-time.After(startTimeout):
		d.t.Error("the daemon did not end on a signal")
		d.cmd.Process.Kill()
		<-d.ends
	}
	d.removeGroups()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		d.t.Error(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, d.dir) || strings.Contains(line, tools(d.t)) {
			d.t.Errorf("the daemon left a mount: %s", line)
		}
	}
}

// cgroup holds the control groups of containers, which outlive namespaces.
const cgroup = "pelmill-deploytest"

// removeGroups removes those that are left, of either version of cgroups, the innermost first.
func (d *daemon) removeGroups() {
	d.t.Helper()
	roots, err := filepath.Glob("/sys/fs/cgroup/*/" + cgroup)
	if err != nil {
		d.t.Error(err)
	}
	for _, root := range append(roots, "/sys/fs/cgroup/"+cgroup) {
		var dirs []string
		filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			if err := unix.Rmdir(dir); err != nil {
				d.t.Errorf("the daemon left the control group %s: %v", dir, err)
			}
		}
	}
}

// becomeDaemon runs in the new namespaces and replaces itself by the program of its arguments.
func becomeDaemon() {
	os.Unsetenv(asInit)
	// The signal of a parent's death belongs to a thread, and the one that calls exec need not be the one that has it.
	runtime.LockOSThread()
	err := errors.Join(
		unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0),
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), // nothing that is mounted here is seen outside
		unix.Mount("proc", "/proc", "proc", 0, ""),
		loopbackUp(),
	)
	if err == nil {
		err = unix.Exec(os.Args[1], os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "namespaces:", err)
	os.Exit(1)
}

func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// inside calls f in the daemon's network namespace. Sockets that f makes stay there.
func (d *daemon) inside(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine, and its namespace with it
		ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", d.cmd.Process.Pid))
		if err == nil {
			err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
			ns.Close()
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// dial connects to an address of the daemon's machine, where ports of containers are published.
func (d *daemon) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = d.inside(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// program is one of Docker's: Debian's client knows BuildKit without a plugin.
func (d *daemon) program(name string) string { return filepath.Join(d.root, "usr/bin", name) }

// docker runs the client, and ends the test where that fails.
func (d *daemon) docker(args ...string) string {
	d.t.Helper()
	out, err := output(context.WithoutCancel(d.t.Context()), d.env, nil, d.program("docker"), args...)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}
