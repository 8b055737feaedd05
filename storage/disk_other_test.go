//go:build !linux

package storage

import (
	"errors"
	"testing"
)

func setFSUser(int) error { return errors.New("needs Linux") }

func smallDisk(t *testing.T) string {
	t.Skip("NOT TESTED: a small file system is mounted on Linux only")
	return ""
}
