package storage

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mount is a line of /proc/self/mountinfo, see proc_pid_mountinfo(5).
type mount struct {
	device string // major:minor
	root   string // folder of the device's file system that is mounted
	point  string // where
}

// mounts are those of this process, in the order in which they were made.
func mounts() []mount {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var all []mount
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 4 {
			all = append(all, mount{f[2], unescaped(f[3]), unescaped(f[4])})
		}
	}
	return all
}

// unescaped undoes the octal escapes of blanks and backslashes.
func unescaped(s string) string {
	for i := 0; i+3 < len(s); i++ {
		if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); s[i] == '\\' && err == nil {
			s = s[:i] + string([]byte{byte(n)}) + s[i+4:]
		}
	}
	return s
}

// below gives what path has behind folder; ok is false where it does not lie there.
func below(folder, path string) (rest string, ok bool) {
	if folder == "/" || path == folder {
		return strings.TrimPrefix(path, folder), true
	}
	return strings.CutPrefix(path, folder+"/")
}

// mountedAt gives the paths under which a folder may be reached too, because several mounts show its file system.
// Other mounts may hide it there.
func mountedAt(path string) []string {
	all := mounts()
	at, rest := mount{}, ""
	for _, m := range all {
		if r, ok := below(m.point, path); ok && len(m.point) >= len(at.point) {
			at, rest = m, r
		}
	}
	inside := filepath.Join(at.root, rest)
	var out []string
	for _, m := range all {
		if r, ok := below(m.root, inside); ok && m.device == at.device && m.point != at.point {
			out = append(out, filepath.Join(m.point, r))
		}
	}
	return out
}
