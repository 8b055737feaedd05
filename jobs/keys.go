package jobs

import (
	"errors"
	"fmt"
	"strings"
)

// CheckKey reports why no object of a job may be read or written under key: it
// is empty or absolute, has an element "." or "..", holds a zero byte, or lies
// in a folder .pelmill, at any depth, because that may be the folder of a target
// of another job.
func CheckKey(key string) error {
	switch {
	case key == "":
		return errors.New("the key is empty")
	case key[0] == '/':
		return fmt.Errorf("the key %q begins with a slash", key)
	case strings.IndexByte(key, 0) >= 0:
		return fmt.Errorf("the key %q holds a zero byte", key)
	case hidesASCII(key):
		return fmt.Errorf("the key %q spells an ASCII letter as an escaped byte", key)
	}
	for part := range strings.SplitSeq(key, "/") {
		switch {
		case part == "." || part == "..":
			return fmt.Errorf("the key %q has an element %q", key, part)
		case strings.EqualFold(part+"/", Root): // some file systems do not tell cases apart
			return fmt.Errorf("the key %q lies in a folder of pelmill's own", key)
		}
	}
	return nil
}

// hidesASCII reports whether a key has an escaped byte, as keys of files have
// them, that stands for ASCII. Package storage escapes only what is no UTF-8, so
// such a key was made to look like another one.
func hidesASCII(key string) bool {
	const quote = "\u201b"
	for {
		_, after, found := strings.Cut(key, quote)
		if !found {
			return false
		}
		if doubled, ok := strings.CutPrefix(after, quote); ok {
			key = doubled
			continue
		}
		if len(after) >= 2 && '0' <= after[0] && after[0] <= '7' && strings.IndexByte("0123456789ABCDEF", after[1]) >= 0 {
			return true
		}
		key = after
	}
}
