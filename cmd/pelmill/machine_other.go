//go:build !linux && !darwin

package main

import "errors"

func freeSpace(string) (int64, error) {
	return 0, errors.New("free space is not known on this system")
}

func openFilesLimit() (uint64, error) {
	return 0, errors.New("no limit is known on this system")
}
