package scheduler

import (
	"fmt"
	"os"
)

// openTemp opens a file without a name, so that nothing of it stays when the
// process is killed. purpose is part of the name that it has for a moment where
// the system knows no files without names.
func openTemp(purpose string) (*os.File, error) {
	if f, err := nameless(os.TempDir()); err == nil {
		return f, nil
	}
	f, err := os.CreateTemp("", "pelmill-"+purpose+"-*")
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	os.Remove(f.Name())
	return f, nil
}
