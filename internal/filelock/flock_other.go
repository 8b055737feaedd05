//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package filelock

import (
	"errors"
	"os"
)

func flock(*os.File, bool) error { return errors.ErrUnsupported }
