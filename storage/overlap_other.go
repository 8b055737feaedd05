//go:build !linux

package storage

// mountedAt knows of no other paths to a folder: bind mounts are Linux's.
func mountedAt(string) []string { return nil }
