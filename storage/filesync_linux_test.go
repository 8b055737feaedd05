package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/pelmill/pelmill/internal/services"
)

// Two buckets that reach a folder by different paths share its syncs, and each gets the error with its own path.
func TestErrorOfASharedSyncHasTheOwnPath(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "a", "b"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int64
		end := make(chan error)
		s := &folderSyncs{folders: map[folderID]*folderSync{}, open: func(d *fileDir) (openedFolder, error) {
			opened.Add(1)
			return &fakeFolder{opened: &opened, sync: func() error {
				return &fs.PathError{Op: "sync", Path: d.real, Err: <-end}
			}}, nil
		}}
		roots := []string{filepath.Join(root, "a"), filepath.Join(root, "link")}
		failed := map[string]chan error{}
		for _, from := range append(roots, roots...) {
			d, err := openFolder(from, "b")
			if err != nil {
				t.Fatal(err)
			}
			defer d.close()
			if failed[d.real] == nil {
				failed[d.real] = make(chan error, 2)
			}
			go func() { failed[d.real] <- s.sync(d) }()
			synctest.Wait()
		}
		end <- syscall.EIO // of the first
		end <- syscall.EIO // of the three others
		for path, errs := range failed {
			for range cap(errs) {
				err := <-errs
				if p, ok := errors.AsType[*fs.PathError](err); !ok || p.Path != path || p.Err != syscall.EIO {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
		synctest.Wait()
		if len(s.folders) != 0 || opened.Load() != 0 {
			t.Errorf("%d folders and %d descriptors are kept", len(s.folders), opened.Load())
		}
	})
}

// tracedDir names the folder that TestPutsThatAreTraced writes to, in a child of TestPutsSyncFileAndName.
const tracedDir = "PELMILL_TRACED_DIR"

func TestPutsThatAreTraced(t *testing.T) {
	dir := os.Getenv(tracedDir)
	if dir == "" {
		t.Skip("is the child of TestPutsSyncFileAndName")
	}
	b := openDir(t, dir)
	put := func(w, n int, overwrite bool) {
		key := fmt.Sprintf("out/key-%d-%d", w, n)
		_, err := Put(t.Context(), b, key, []byte(key), &PutOptions{Overwrite: overwrite})
		fmt.Fprintf(os.Stdout, "put %s %v\n", key, err == nil)
	}
	var writers sync.WaitGroup
	for w := range 16 {
		writers.Go(func() {
			for n := range 10 {
				put(w, n, n%2 == 1)
			}
		})
	}
	writers.Wait()
	for n := range 10 {
		put(0, n, false) // finds what is there
	}
}

// What the kernel sees: before a file gets its name it was synced, one that had none at all is synced once more then, and before Put reports success a sync of the folder
// began after that and succeeded. Where syncs fail, those that they would have served are no success.
func TestPutsSyncFileAndName(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		services.Missing(t, "strace is needed: %v", err)
	}
	for name, inject := range map[string][]string{"all succeed": nil, "some fail": {"-e", "inject=fsync:error=EIO:when=3+4"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			log := filepath.Join(dir, "strace")
			args := append([]string{"-f", "-qq", "--seccomp-bpf", "-y", "-s", "200", "-o", log, "-e", "trace=fsync,linkat,renameat,write,fcntl"}, inject...)
			cmd := exec.Command(strace, append(args, os.Args[0], "-test.run", "^TestPutsThatAreTraced$")...)
			cmd.Env = append(os.Environ(), tracedDir+"="+filepath.Join(dir, "target"))
			if out, err := cmd.CombinedOutput(); err != nil {
				if strings.Contains(string(out), "Operation not permitted") {
					services.Missing(t, "strace may not trace here: %s", out)
				}
				t.Fatalf("%v\n%s", err, out)
			}
			data, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			checkSyncs(t, string(data), filepath.Join(dir, "target", "out"), inject != nil)
		})
	}
}

// tracedCall is a line of strace: the thread, the call with its arguments as far as they are there, the result.
var tracedCall = regexp.MustCompile(`^(\d+) +(<\.\.\. )?(\w+)(?:\((.*?))?( <unfinished \.\.\.>|(?: resumed>.*?)?\) += (-?\d+).*)$`)

// checkSyncs reads the calls in the order in which they began and ended.
func checkSyncs(t *testing.T, log, folder string, faults bool) {
	type name struct{ temp, key string }
	begun := map[string]string{}   // arguments of the calls that run, by thread and call
	synced := map[string]int{}     // files before they have their names, with the number of the line where the latest sync that succeeded had begun
	unnamed := map[string]string{} // files that have no name, by the descriptor that leads to them
	linked := map[string]string{}  // and by the key that they got
	named := map[string]int{}      // keys, with the number of the line after which they had their name
	began := map[string]int{}      // syncs that run, with the number of their line, by thread
	last := -1                     // line where the latest sync of the folder that succeeded had begun
	var syncs, puts, failed int
	base := func(arg string) name {
		quoted := regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(arg, -1)
		if len(quoted) != 2 {
			return name{}
		}
		temp := filepath.Base(quoted[0][1])
		if strings.HasPrefix(quoted[0][1], handles) && unnamed[temp] != "" {
			temp = unnamed[temp]
		}
		return name{temp, filepath.Base(quoted[1][1])}
	}
	file := func(arg string) string { return filepath.Base(strings.TrimSuffix(arg, ">")) }
	for n, line := range strings.Split(log, "\n") {
		m := tracedCall.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		thread, call, args, ended, ok := m[1], m[3], m[4], m[6] != "", m[6] != "" && !strings.HasPrefix(m[6], "-")
		if m[2] == "" {
			begun[thread+call] = args
			switch call {
			case "fsync":
				began[thread] = n
			case "linkat", "renameat":
				if of := base(args); strings.HasPrefix(of.key, "key-") && synced[of.temp] == 0 {
					t.Errorf("%s gets its name before it is synced", of.key)
				}
			case "write":
				var key string
				var success bool
				if i := strings.Index(args, `"put out/`); i < 0 {
					break
				} else if _, err := fmt.Sscanf(args[i:], `"put out/%s %t`, &key, &success); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				puts++
				if at, ok := named[key]; success && (!ok || last < at) {
					t.Errorf("Put of %s succeeds, and no sync of the folder since it has its name", key)
				} else if success && linked[key] != "" && synced[linked[key]] < at {
					t.Errorf("Put of %s succeeds, and the file was not synced since it has a name at all", key)
				} else if !success {
					failed++
				}
			}
		}
		if !ended {
			continue
		}
		args = begun[thread+call]
		switch {
		case call == "fsync" && strings.HasSuffix(args, "<"+folder+">"):
			syncs++
			if ok {
				last = max(last, began[thread])
			}
		case call == "fsync" && ok:
			synced[file(args)] = began[thread]
		case call == "fcntl" && ok && strings.Contains(args, "F_DUPFD"):
			temp := file(strings.SplitN(args, ",", 2)[0])
			unnamed[m[6]] = temp
			delete(synced, temp) // of an earlier file with this number
		case (call == "linkat" || call == "renameat") && (ok || strings.Contains(m[5], "EEXIST")):
			of := base(args)
			named[of.key] = n
			if delete(linked, of.key); ok && strings.Contains(args, handles) && call == "linkat" && strings.HasSuffix(of.temp, "(deleted)") {
				linked[of.key] = of.temp
			}
		}
	}
	t.Logf("%d puts, of which %d failed, by %d syncs of the folder", puts, failed, syncs)
	if puts != 170 || syncs == 0 || faults != (failed > 0) {
		t.Errorf("%d puts are seen, of which %d failed, and %d syncs of the folder", puts, failed, syncs)
	}
}
