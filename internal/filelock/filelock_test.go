package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/pelmill/pelmill/internal/filelock"
)

// A number that many read, raise and write loses nothing when each has the lock.
func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "new", "sum")
	add := func() error {
		unlock, err := filelock.Lock(name)
		if err != nil {
			return err
		}
		defer unlock()
		data, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		n, _ := strconv.Atoi(string(data))
		return os.WriteFile(name, []byte(strconv.Itoa(n+1)), 0o666)
	}
	if err := add(); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("NOT TESTED: this system has no flock(2)")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 25 {
				if err := add(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if data, err := os.ReadFile(name); err != nil || string(data) != "201" {
		t.Errorf("%q, %v, want 201", data, err)
	}
}

func TestTry(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state")
	unlock, err := filelock.Try(name)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("NOT TESTED: this system has no flock(2)")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Try(name); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a second lock: %v, want %v", err, filelock.ErrHeld)
	}
	unlock()
	if unlock, err = filelock.Try(name); err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	unlock()
}
