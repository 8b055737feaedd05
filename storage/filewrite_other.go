//go:build !linux

package storage

import "fmt"

func renameNew(_, path string) error {
	return fmt.Errorf("%s: file system has no hard links: %w", path, errUnsupported)
}
