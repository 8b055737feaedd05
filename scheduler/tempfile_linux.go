package scheduler

import (
	"os"

	"golang.org/x/sys/unix"
)

// nameless opens a file in dir that never has a name, see open(2), O_TMPFILE. Not
// every file system can do it.
func nameless(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
}
