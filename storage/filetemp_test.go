package storage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"gocloud.dev/blob/driver"
)

// A write sweeps what dead writers left: at once where files can be locked, which a writer's death undoes, and after
// an hour elsewhere. The file of a writer that lives stays, however old it is, and so does what is not pelmill's.
func TestTemporaryFilesOfDeadWritersAreSwept(t *testing.T) {
	dir := t.TempDir()
	temps := filepath.Join(dir, filepath.FromSlash(tempDir))
	if err := os.MkdirAll(temps, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{tempName + "old": 2 * staleTemp, tempName + "new": time.Second, "foreign": 2 * staleTemp} {
		path := filepath.Join(temps, name)
		if err := os.WriteFile(path, []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
		setAge(t, path, age)
	}
	want := []string{tempDir + "foreign", "a"}
	if runtime.GOOS == "linux" {
		live, err := createTemp(temps)
		if err != nil {
			t.Fatal(err)
		}
		live.Close() // as before it gets its name
		defer live.discard()
		setAge(t, live.Name(), 2*staleTemp)
		want = append(want, tempDir+filepath.Base(live.Name()))
	} else {
		want = append(want, tempDir+tempName+"new")
	}
	slices.Sort(want)
	b := openDir(t, dir)
	if got := walkKeys(t, b, &WalkOptions{Prefix: ".pelmill/"}); len(got) != 0 {
		t.Errorf("temporary files are listed: %q", got)
	}
	if _, err := Put(t.Context(), b, "a", nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); !slices.Equal(got, want) {
		t.Errorf("files are %q, want %q", got, want)
	}
}

func setAge(t *testing.T, path string, age time.Duration) {
	t.Helper()
	when := time.Now().Add(-age)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

// Processes that start at once sweep while others write: no write is lost by it.
func TestSweepsDisturbNoWriter(t *testing.T) {
	dir := t.TempDir()
	temps := filepath.Join(dir, filepath.FromSlash(tempDir))
	b := openDir(t, dir)
	stop := make(chan struct{})
	var sweeps, writes sync.WaitGroup
	for range 2 {
		sweeps.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					sweepTemps(temps)
				}
			}
		})
	}
	for i := range 4 {
		writes.Go(func() {
			for n := range 25 {
				key := string(rune('a'+i)) + "/" + string(rune('a'+n))
				if _, err := Put(t.Context(), b, key, []byte(key), nil); err != nil {
					t.Errorf("put %s: %v", key, err)
				}
			}
		})
	}
	writes.Wait()
	close(stop)
	sweeps.Wait()
	if got := files(t, dir); len(got) != 100 {
		t.Errorf("%d files, want 100", len(got))
	}
}

// A new object is written to a file without a name where there are such files, and to one with a name elsewhere: nobody sees a
// difference. Neither is there before it is complete, and nothing of it is left where the name is taken or the write ends early.
func TestNewObjectsAppearWhole(t *testing.T) {
	for _, named := range []bool{false, true} {
		t.Run(map[bool]string{false: "without a name", true: "with a name"}[named], func(t *testing.T) {
			dir := t.TempDir()
			f := newFileBucket(dir, nil)
			f.named.Store(named)
			begin := func(ctx context.Context, key, content string) driver.Writer {
				t.Helper()
				w, err := f.NewTypedWriter(ctx, key, "", &driver.WriterOptions{IfNotExist: true})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write([]byte(content)); err != nil {
					t.Fatal(err)
				}
				return w
			}
			w := begin(t.Context(), "a/b", "first")
			if got := files(t, dir); slices.Contains(got, "a/b") || len(got) > 0 && !named && !f.named.Load() {
				t.Errorf("%q before the object is complete", got)
			}
			other := begin(t.Context(), "a/b", "second")
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if err := other.Close(); !errors.Is(err, errExists) {
				t.Errorf("%v where the name is taken, want %v", err, errExists)
			}
			ctx, cancel := context.WithCancel(t.Context())
			late := begin(ctx, "a/c", "third")
			cancel()
			if err := late.Close(); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want the end of the context", err)
			}
			if err := os.Mkdir(filepath.Join(dir, "folder"), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := begin(t.Context(), "folder", "fourth").Close(); !errors.Is(err, syscall.EISDIR) {
				t.Errorf("%v where a folder has the name, want %v", err, syscall.EISDIR)
			}
			if got := files(t, dir); !slices.Equal(got, []string{"a/b"}) {
				t.Errorf("files %q, want a/b alone", got)
			}
			path := filepath.Join(dir, "a", "b")
			if got, err := os.ReadFile(path); err != nil || string(got) != "first" {
				t.Errorf("%q, %v; want what was written first", got, err)
			}
			plain := filepath.Join(dir, "plain")
			if err := os.WriteFile(plain, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			if got, want := mode(t, path), mode(t, plain); got != want {
				t.Errorf("permissions %v, want %v as of any other file", got, want)
			}
		})
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// A file that cannot get its name in another file system is copied to one there, whether it has a name or not.
func TestPublishAcross(t *testing.T) {
	for _, named := range []bool{false, true} {
		dir := t.TempDir()
		f := newFileBucket(dir, nil)
		f.named.Store(named)
		w, err := f.NewTypedWriter(t.Context(), "a", "", &driver.WriterOptions{IfNotExist: true})
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte("content"))
		fw := w.(*fileWriter)
		fw.path = filepath.Join(dir, "a")
		root, err := f.folder("", false)
		if err != nil {
			t.Fatal(err)
		}
		fw.temp.Close() // as before it gets its name
		if err := fw.publishAcross(root); err != nil {
			t.Error(err)
		}
		fw.temp.discard()
		fw.temps.close()
		root.close()
		if got, err := os.ReadFile(fw.path); err != nil || string(got) != "content" {
			t.Errorf("%q, %v", got, err)
		}
		if got := files(t, dir); !slices.Equal(got, []string{"a"}) {
			t.Errorf("files %q, want a alone", got)
		}
	}
}
