package scheduler

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// longestGiven bounds a key that is taken from a manifest, in bytes: the longest
// path of a folder. Longer ones are shortened and recorded as bad.
const longestGiven = 4096

// givenEntry makes an entry of a key as the user wrote it. In folders ./a, /a and
// a//b mean a and a/b; in buckets a key is what it is. A key that no source can
// have is recorded as bad, in a form that is UTF-8.
func givenEntry(key string, folder bool) jobs.Entry {
	e := jobs.Entry{Key: key, Size: -1}
	if !utf8.ValidString(key) {
		e.Key = storage.KeyOfName(key)
		if !folder {
			e.Bad = fmt.Sprintf("the manifest names %.80q, which is no UTF-8", key)
		}
	}
	if folder {
		e.Key = cleanPath(e.Key)
	}
	switch {
	case e.Key == "":
		e.Key, e.Bad = fmt.Sprintf("%.*q", shownRecord, key), fmt.Sprintf("the manifest names %.80q, which is no object", key)
	case len(e.Key) > longestGiven:
		e.Bad = fmt.Sprintf("the manifest names a key of %d bytes, more than any store allows", len(e.Key))
		e.Key = strings.ToValidUTF8(e.Key[:longestKeyShown], "") + "..."
	case folder && strings.HasSuffix(e.Key, "/"):
		e.Bad = fmt.Sprintf("the manifest names %.80q, which is a folder", key)
	}
	return e
}

// pinOf is the version of an object that a line names; nil where it names none.
func pinOf(e *jobs.Entry) *jobs.Pin {
	if e.Bad != "" || e.Size < 0 && e.ETag == "" {
		return nil
	}
	return &jobs.Pin{Size: e.Size, ETag: e.ETag}
}

// longestKeyShown is what is recorded of a key that is too long, in bytes.
const longestKeyShown = 1000

// cleanPath drops empty and . elements. One that is .. stays, and so does a slash
// at the end: such a path names no file of the source.
func cleanPath(key string) string {
	clean := !strings.HasPrefix(key, "/") && !strings.Contains(key, "//") &&
		!strings.HasPrefix(key, "./") && !strings.Contains(key, "/./")
	if clean && key != "." && !strings.HasSuffix(key, "/.") {
		return key
	}
	var kept []string
	for part := range strings.SplitSeq(key, "/") {
		if part != "" && part != "." {
			kept = append(kept, part)
		}
	}
	out := strings.Join(kept, "/")
	if out != "" && (strings.HasSuffix(key, "/") || strings.HasSuffix(key, "/.")) {
		out += "/"
	}
	return out
}

// badLineKey begins the key under which a line without one is recorded.
const badLineKey = "manifest line "

// badLine is the entry of a line that names nothing: it is counted and recorded
// under its number.
func badLine(line int, record []byte, format string, args ...any) jobs.Entry {
	reason := fmt.Sprintf(format, args...)
	return jobs.Entry{
		Key:  badLineKey + strconv.Itoa(line),
		Size: -1,
		Bad:  fmt.Sprintf("line %d of the manifest %s: %.*q", line, reason, shownRecord, record[:min(len(record), 4*shownRecord)]),
	}
}
