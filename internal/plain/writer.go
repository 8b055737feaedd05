package plain

import (
	"io"
	"strings"
)

// Writer writes text to w with everything escaped that is not printable, except
// newlines and tabs. The escapes have four digits, so that lines of JSON stay JSON of the
// same values. Every call of Write must end at the end of a character; a line a
// call does. It is as safe for concurrent use as w is.
func Writer(w io.Writer) io.Writer { return &writer{w} }

// layout removes the two control characters that only lay text out.
var layout = strings.NewReplacer("\n", "", "\t", "")

type writer struct{ w io.Writer }

func (w *writer) Write(p []byte) (int, error) {
	s := string(p)
	if graphic(layout.Replace(s)) {
		return w.w.Write(p)
	}
	var out []byte
	for len(s) > 0 {
		n := strings.IndexAny(s, "\n\t")
		if n < 0 {
			out = appendEscaped(out, s, true)
			break
		}
		out = append(appendEscaped(out, s[:n], true), s[n])
		s = s[n+1:]
	}
	if _, err := w.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
