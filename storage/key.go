package storage

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// What stores allow. S3 and GCS count bytes, Azure characters; folders count bytes of an element and of a whole path
// with its closing zero.
const (
	longestKey     = 1024
	longestElement = 255
	longestPath    = 4096
)

// CheckKey reports why the bucket can hold no object of this key, with what to change. It knows the documented limits of
// the kind of store, not those of one installation.
func (b *Bucket) CheckKey(key string) error {
	whole := b.prefix + key
	switch {
	case key == "":
		return errors.New("the name is empty")
	case !utf8.ValidString(key):
		return fmt.Errorf("%.80q is no UTF-8", key)
	}
	switch b.kind {
	case "file":
		return b.checkPath(key)
	case "s3", "gs":
		if len(whole) > longestKey {
			return fmt.Errorf("the name has %d bytes, and the store allows %d", len(whole), longestKey)
		}
		if b.kind == "gs" && (whole == "." || whole == ".." || strings.ContainsAny(whole, "\r\n")) {
			return fmt.Errorf("%.80q: GCS allows no line breaks in a name, and no name . or ..", key)
		}
	case "azblob":
		if n := utf8.RuneCountInString(whole); n > longestKey {
			return fmt.Errorf("the name has %d characters, and Azure allows %d", n, longestKey)
		}
	}
	return nil
}

// checkPath is CheckKey for folders.
func (b *Bucket) checkPath(key string) error {
	f := fileBucket{dir: b.dir}
	name, err := f.name(key)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > longestElement {
			return fmt.Errorf("an element of the name has %d bytes, and a folder allows %d", len(part), longestElement)
		}
	}
	if n := len(b.dir) + 1 + len(name); n >= longestPath {
		return fmt.Errorf("the path has %d bytes, and a folder allows %d", n, longestPath-1)
	}
	return nil
}
