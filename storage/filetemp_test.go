package storage

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
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
