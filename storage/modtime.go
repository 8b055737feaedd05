package storage

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// metaTime is the metadata with the time of what an object was made from, as rclone writes it: seconds since 1970 with
// nine digits behind the point.
const metaTime = "mtime"

// carryTime adds a time to metadata; the zero time is none.
func carryTime(metadata map[string]string, t time.Time) {
	if !t.IsZero() {
		metadata[metaTime] = fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond())
	}
}

// CarriedTime is the time of what an object was made from, as its metadata says; zero where that says none.
func CarriedTime(metadata map[string]string) time.Time {
	whole, fraction, _ := strings.Cut(metadata[metaTime], ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}
	}
	nanoseconds, err := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	if err != nil || nanoseconds < 0 {
		nanoseconds = 0
	}
	return time.Unix(seconds, nanoseconds).UTC()
}

// Written is when an object that a listing gave was written: of a file the time of its last change, which nobody can set,
// where the system tells it. It serves to know files whose own time is that of something else.
func Written(b *Bucket, o Object) (time.Time, error) {
	if b.kind != "file" {
		return o.ModTime, nil
	}
	dir, _, info, err := (&fileBucket{dir: b.dir, links: b.links}).find(o.Key)
	if err != nil {
		if os.IsNotExist(err) {
			return o.ModTime, nil
		}
		return time.Time{}, fmt.Errorf("storage: %s: stat %q: %w", b.URL, o.Key, err)
	}
	dir.close()
	if t := changeTime(info); t.After(info.ModTime()) {
		return t, nil
	}
	return info.ModTime(), nil
}
