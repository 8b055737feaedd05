package storage

import (
	"errors"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
)

// fakeFolder is an opened folder whose syncs do what the test says.
type fakeFolder struct {
	sync   func() error
	opened *atomic.Int64 // descriptors that are open
}

func (f *fakeFolder) Sync() error { return f.sync() }

func (f *fakeFolder) Close() error {
	f.opened.Add(-1)
	return nil
}

// Syncs serve those that asked before they began, with their own error, and nobody else.
func TestOneSyncServesThoseThatWait(t *testing.T) {
	for _, c := range []struct {
		name string
		// Letters are writers that ask for a sync, upper case in one folder and lower case in another. A dot ends the sync
		// that runs in the first folder, "!" fails it, a colon ends that in the second.
		steps string
		want  string // who comes back at each end of a sync, each with "!" where it got an error
	}{
		{"one writer", "A.", "A"},
		{"one after the other", "A.B.", "A B"},
		{"a sync that began earlier does not count", "AB..", "A B"},
		{"those that wait share one", "ABCDE..", "A BCDE"},
		{"each sync comes too early for somebody", "ABC.DE.F..", "A BC DE F"},
		{"an error reaches all that were served, and not the next", "ABCD.E!.", "A B!C!D! E"},
		{"a sync after one that failed serves those that waited", "ABC!.", "A! BC"},
		{"two fail", "AB!!C.", "A! B! C"},
		{"another folder does not wait", "Aa:b:.", "a b A"},
		{"a sync of another folder does not count", "ABab.:.:", "A a B b"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var opened atomic.Int64
			upper, lower := &fileDir{}, &fileDir{}
			ends := map[*fileDir]chan error{upper: make(chan error), lower: make(chan error)}
			s := &folderSyncs{folders: map[folderID]*folderSync{}, open: func(d *fileDir) (openedFolder, error) {
				opened.Add(1)
				return &fakeFolder{sync: func() error { return <-ends[d] }, opened: &opened}, nil
			}}
			var mu sync.Mutex
			var back, got []string
			ask := func(name string) {
				id, dir := folderID{1, 1}, upper
				if name >= "a" {
					id, dir = folderID{1, 2}, lower
				}
				go func() {
					if s.join(id, dir) != nil {
						name += "!"
					}
					mu.Lock()
					defer mu.Unlock()
					back = append(back, name)
				}()
			}
			for _, step := range c.steps {
				over := true
				switch step {
				case '.':
					ends[upper] <- nil
				case '!':
					ends[upper] <- syscall.EIO
				case ':':
					ends[lower] <- nil
				default:
					ask(string(step))
					over = false
				}
				synctest.Wait()
				if over {
					slices.Sort(back)
					got, back = append(got, strings.Join(back, "")), nil
				}
			}
			if all := strings.Join(got, " "); all != c.want {
				t.Errorf("%s: %s gives %q, want %q", c.name, c.steps, all, c.want)
			}
			if len(s.folders) != 0 || opened.Load() != 0 {
				t.Errorf("%s: %d folders and %d descriptors are kept", c.name, len(s.folders), opened.Load())
			}
		})
	}
}

// The kernel tells an error of writing back to the descriptors that are open, so that of the next sync has to be before
// the one that runs ends.
func TestNextSyncIsOpenWhileAnotherRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int64
		end := make(chan error)
		s := &folderSyncs{folders: map[folderID]*folderSync{}, open: func(*fileDir) (openedFolder, error) {
			opened.Add(1)
			return &fakeFolder{sync: func() error { return <-end }, opened: &opened}, nil
		}}
		for range 5 {
			go s.join(folderID{}, nil)
			synctest.Wait()
		}
		if n := opened.Load(); n != 2 {
			t.Errorf("%d descriptors are open, want that of the sync that runs and that of the next", n)
		}
		end <- nil
		end <- nil
	})
}

// A folder that cannot be opened is an error of all that wait for it.
func TestFolderThatCannotBeOpenedForASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := make(chan error)
		s := &folderSyncs{folders: map[folderID]*folderSync{}, open: func(*fileDir) (openedFolder, error) { return nil, <-refuse }}
		failed := make(chan error, 3)
		for range cap(failed) {
			go func() { failed <- s.join(folderID{}, nil) }()
			synctest.Wait()
		}
		refuse <- syscall.EMFILE
		for range cap(failed) {
			if err := <-failed; !errors.Is(err, syscall.EMFILE) {
				t.Errorf("%v, want that the folder cannot be opened", err)
			}
		}
	})
}

// Whoever is told that a folder was synced has its name on the disk, however many write and fail at once.
func TestSyncedNamesAreOnTheDisk(t *testing.T) {
	const folders, writers, writes = 3, 32, 200
	var mu sync.Mutex
	var given, kept [folders]map[int]bool // names in memory, and those on the disk
	var running [folders]bool
	var opened, syncsDone atomic.Int64
	dirs := map[*fileDir]int{}
	var all [folders]*fileDir
	for i := range folders {
		all[i] = &fileDir{}
		dirs[all[i]] = i
		given[i], kept[i] = map[int]bool{}, map[int]bool{}
	}
	s := &folderSyncs{folders: map[folderID]*folderSync{}, open: func(d *fileDir) (openedFolder, error) {
		opened.Add(1)
		return &fakeFolder{opened: &opened, sync: func() error {
			i := dirs[d]
			mu.Lock()
			names := maps.Clone(given[i])
			fails := rand.IntN(5) == 0
			if running[i] {
				t.Error("two syncs of one folder at once")
			}
			running[i] = true
			mu.Unlock()
			runtime.Gosched()
			mu.Lock()
			defer mu.Unlock()
			running[i] = false
			syncsDone.Add(1)
			if fails {
				return syscall.EIO
			}
			maps.Copy(kept[i], names)
			return nil
		}}, nil
	}}
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := range writes {
				i, name := rand.IntN(folders), w*writes+n
				mu.Lock()
				given[i][name] = true
				mu.Unlock()
				err := s.join(folderID{0, uint64(i)}, all[i])
				mu.Lock()
				if err == nil && !kept[i][name] {
					t.Errorf("name %d of folder %d is not on the disk", name, i)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if n := syncsDone.Load(); n >= writers*writes {
		t.Errorf("%d syncs for %d names: none was shared", n, writers*writes)
	}
	if len(s.folders) != 0 || opened.Load() != 0 {
		t.Errorf("%d folders and %d descriptors are kept", len(s.folders), opened.Load())
	}
}
