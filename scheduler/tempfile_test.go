package scheduler

import (
	"os"
	"testing"
)

// A process that is killed between any two of its steps leaves no temporary file.
func TestTemporaryFilesHaveNoName(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f, err := openTemp("test")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v, want no file", entries, err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 1 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want one byte for the user alone", info, err)
	}
}
