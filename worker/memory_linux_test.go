package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// groupsVariable names the folder with the control groups that a process of the test
// below believes to be in.
const groupsVariable = "PELMILL_TEST_CGROUPS"

// The memory of a process is what the narrowest of its control groups leaves, in
// version 1 and 2, also where the limit is one of a group around its own.
func TestMemoryOfControlGroups(t *testing.T) {
	if dir := os.Getenv(groupsVariable); dir != "" {
		for _, name := range []string{"cgroup", "mountinfo"} {
			if err := unix.Mount(filepath.Join(dir, name), "/proc/self/"+name, "", unix.MS_BIND, ""); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Printf("available=%d\n", availableMemory())
		return
	}
	const v1, v2 = "4:memory:/pod/box\n", "0::/pod/box\n"
	mounts := map[string]string{
		v1: "35 31 0:32 / %s rw,relatime - cgroup cgroup rw,memory\n",
		v2: "35 31 0:32 / %s rw,relatime - cgroup2 cgroup rw\n",
	}
	machine := availableMemory()
	for _, c := range []struct {
		name, groups string
		files        map[string]string
		want         int64
	}{
		{"v2", v2, map[string]string{"pod/box/memory.max": "100000000"}, 100_000_000},
		{"v2, a limit around it", v2, map[string]string{"pod/memory.max": "200000000", "pod/box/memory.max": "max"}, 200_000_000},
		{"v2, the narrowest counts", v2, map[string]string{"pod/memory.max": "200000000", "pod/box/memory.max": "300000000"}, 200_000_000},
		{"v2, no limit", v2, map[string]string{"pod/memory.max": "max", "pod/box/memory.max": "max"}, machine},
		{"v1", v1, map[string]string{"pod/box/memory.limit_in_bytes": "100000000"}, 100_000_000},
		{"v1, a limit around it", v1, map[string]string{"pod/box/memory.limit_in_bytes": "9223372036854771712",
			"pod/box/memory.stat": "cache 1\nhierarchical_memory_limit 200000000\n"}, 200_000_000},
		{"v1, no limit", v1, map[string]string{"pod/box/memory.limit_in_bytes": "9223372036854771712"}, machine},
		{"more than the machine has", v2, map[string]string{"pod/box/memory.max": strconv.FormatInt(1<<60, 10)}, machine},
		{"cannot be read", v2, map[string]string{"pod/box/memory.max": "much"}, machine},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{"cgroup": c.groups, "mountinfo": fmt.Sprintf(mounts[c.groups], dir+"/groups")}
			for name, text := range c.files {
				files["groups/"+name] = text
			}
			for name, text := range files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			got := availableIn(t, dir)
			// The machine's own number may come from a group that this test is in.
			if c.want == machine && got >= machine || got == c.want {
				return
			}
			t.Errorf("%d bytes are available, want %d", got, c.want)
		})
	}
}

// availableIn asks a process of its own, in a mount namespace of its own, for which it
// needs root's rights.
func availableIn(t *testing.T, dir string) int64 {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestMemoryOfControlGroups$")
	cmd.Env = append(os.Environ(), groupsVariable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		skipPrivileged(t, "a mount namespace needs root", err)
	}
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	_, text, _ := strings.Cut(string(out), "available=")
	text, _, _ = strings.Cut(text, "\n")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return n
}
