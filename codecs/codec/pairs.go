package codec

import "strings"

// escapes keep apart pairs whose values hold white space.
var escapes = strings.NewReplacer(`\`, `\\`, " ", `\ `, "\t", "\\\t", "\n", "\\\n", "\r", "\\\r")

// JoinPairs writes options, key=value pairs, as one text with spaces between. A
// backslash stands before a space or backslash of a pair. It is how specifications
// and records hold options; the canonical form of [Options] is written so as well.
func JoinPairs(pairs []string) string {
	escaped := make([]string, len(pairs))
	for i, p := range pairs {
		escaped[i] = escapes.Replace(p)
	}
	return strings.Join(escaped, " ")
}

// SplitPairs is the inverse of [JoinPairs]. Any white space parts pairs.
func SplitPairs(text string) []string {
	var pairs []string
	var pair strings.Builder
	end := func() {
		if pair.Len() > 0 {
			pairs = append(pairs, pair.String())
			pair.Reset()
		}
	}
	escaped := false
	for i := range len(text) {
		c := text[i]
		switch {
		case escaped:
			pair.WriteByte(c)
			escaped = false
		case c == '\\':
			escaped = true
		case strings.IndexByte(" \t\r\n", c) >= 0:
			end()
		default:
			pair.WriteByte(c)
		}
	}
	end()
	return pairs
}
