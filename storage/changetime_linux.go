package storage

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when the entry of a file was changed last.
func changeTime(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(stat.Ctim.Unix())
	}
	return time.Time{}
}
