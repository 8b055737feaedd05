package api

import (
	"regexp"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
)

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted is a word of a shell's command line.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// command is the command line that submits the same job: what differs from the defaults, with quotes for a shell.
func command(s *jobs.Spec) string {
	words := []string{"pelmill", "submit", s.Source, s.Target, "--codec", s.Codec}
	options := s.Options
	if s.Requested != "" {
		options = s.Requested
	}
	for _, pair := range codec.SplitPairs(options) {
		words = append(words, "-o", pair)
	}
	for _, f := range []struct{ flag, value, standard string }{
		{"--device", s.Device, "auto"}, {"--verify", s.Verify, "full"}, {"--larger", s.Larger, "leave"}, {"--others", s.Others, "leave"},
		{"--hours", s.Hours, ""}, {"--min-age", s.Filter.MinAge, ""}, {"--max-age", s.Filter.MaxAge, ""},
	} {
		if f.value != f.standard && f.value != "" {
			words = append(words, f.flag, f.value)
		}
	}
	for _, pattern := range s.Filter.Include {
		words = append(words, "--include", pattern)
	}
	for _, pattern := range s.Filter.Exclude {
		words = append(words, "--exclude", pattern)
	}
	for i, w := range words {
		words[i] = quoted(w)
	}
	return strings.Join(words, " ")
}
