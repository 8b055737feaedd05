// Package plain makes text that is not ours safe to print. Names of objects, and
// errors that quote them, may hold escape sequences that a terminal obeys,
// newlines that forge a line of a log, or marks that turn the direction of
// writing. Nothing of it reaches a terminal, a log or a report as it is.
//
//   - [Name] renders a name, in quotes where it needs any escape, so that two
//     names never look alike.
//   - [Line] renders a sentence that quotes names, as one line.
//   - [Writer] is the last resort below both, for whole streams.
//
// What counts as printable is what [strconv.IsGraphic] says: letters, marks,
// numbers, punctuation, symbols and spaces, but no control characters (C0, DEL,
// C1), no line or paragraph separators, no marks of direction and no bytes that
// are no UTF-8.
package plain

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Name renders a name for people: as it is where every character is printable,
// else in quotes with escapes as in Go. A name that starts with a quotation mark,
// or with spaces at an end, is quoted too.
func Name(s string) string {
	if s == "" || s[0] == '"' || s[0] == ' ' || s[len(s)-1] == ' ' || !graphic(s) {
		return strconv.QuoteToGraphic(s)
	}
	return s
}

// Shorten cuts the middle out of a name that has more than n characters.
func Shorten(s string, n int) string {
	length := utf8.RuneCountInString(s)
	if length <= n || n < 3 {
		return s
	}
	const gap = "…"
	var out strings.Builder
	head, tail := n/2, n-n/2-1
	at := 0
	for i := range s {
		switch {
		case at == head:
			out.WriteString(gap)
		case at == length-tail:
			out.WriteString(s[i:])
			return out.String()
		case at < head:
			_, size := utf8.DecodeRuneInString(s[i:])
			out.WriteString(s[i : i+size])
		}
		at++
	}
	return out.String()
}

// Line renders a sentence as one line: characters that are not printable become
// escapes as in Go, without quotes around the whole.
func Line(s string) string {
	if graphic(s) {
		return s
	}
	return string(appendEscaped(nil, s, false))
}

// graphic reports whether s holds nothing to escape.
func graphic(s string) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || !strconv.IsGraphic(r) {
			return false
		}
		i += n
	}
	return true
}

// appendEscaped appends s with escapes: the short ones of Go, or with unicode
// those of four digits, which JSON has too.
func appendEscaped(out []byte, s string, unicode bool) []byte {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, '\\', 'x', hex[s[i]>>4], hex[s[i]&15])
		case strconv.IsGraphic(r):
			out = append(out, s[i:i+n]...)
		case unicode && r > 0xffff:
			r -= 0x10000
			out = appendUnit(appendUnit(out, 0xd800+r>>10), 0xdc00+r&0x3ff)
		case unicode:
			out = appendUnit(out, r)
		default:
			quoted := strconv.AppendQuoteRune(nil, r)
			out = append(out, quoted[1:len(quoted)-1]...)
		}
		i += n
	}
	return out
}

const hex = "0123456789abcdef"

// appendUnit appends one unit of UTF-16 as an escape.
func appendUnit(out []byte, r rune) []byte {
	return append(out, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
