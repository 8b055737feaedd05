package plain_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pelmill/pelmill/internal/plain"
)

// cases are names with how Name and Line render them.
var cases = []struct{ name, in, quoted, line string }{
	{"ordinary", "a/b c.png", "a/b c.png", "a/b c.png"},
	{"of other scripts", "фото/写真　一/صورة é.png", "фото/写真　一/صورة é.png", "фото/写真　一/صورة é.png"},
	{"backslash", `a\x1b.png`, `a\x1b.png`, `a\x1b.png`},
	{"title of a terminal", "a\x1b]0;owned\a.png", `"a\x1b]0;owned\a.png"`, `a\x1b]0;owned\a.png`},
	{"forged line", "a.png\npelmill: all good", `"a.png\npelmill: all good"`, `a.png\npelmill: all good`},
	{"carriage return", "bad\rgood", `"bad\rgood"`, `bad\rgood`},
	{"delete", "a\x7fb", `"a\x7fb"`, `a\x7fb`},
	{"C1", "a\u009b31mb", `"a\u009b31mb"`, `a\u009b31mb`},
	{"line separator", "a\u2028b\u2029c", `"a\u2028b\u2029c"`, `a\u2028b\u2029c`},
	{"right to left", "a\u202egnp.exe", `"a\u202egnp.exe"`, `a\u202egnp.exe`},
	{"isolate", "a\u2066b\u2069", `"a\u2066b\u2069"`, `a\u2066b\u2069`},
	{"tag", "a\U000e0041b", `"a\U000e0041b"`, `a\U000e0041b`},
	{"no UTF-8", "a\xffb\x80", `"a\xffb\x80"`, `a\xffb\x80`},
	{"quotation mark", `"a"`, `"\"a\""`, `"a"`},
	{"spaces at the ends", " a ", `" a "`, " a "},
	{"empty", "", `""`, ""},
}

func TestNameAndLine(t *testing.T) {
	for _, c := range cases {
		if got := plain.Name(c.in); got != c.quoted {
			t.Errorf("%s: name %s, want %s", c.name, got, c.quoted)
		}
		if got := plain.Line(c.in); got != c.line {
			t.Errorf("%s: line %s, want %s", c.name, got, c.line)
		}
	}
}

func TestShortenKeepsBothEnds(t *testing.T) {
	long := "photos/" + strings.Repeat("é", 500) + "/x.png"
	got := plain.Shorten(long, 40)
	if utf8.RuneCountInString(got) != 40 || !strings.HasPrefix(got, "photos/") || !strings.HasSuffix(got, "/x.png") || !strings.Contains(got, "…") {
		t.Errorf("%q", got)
	}
	for _, s := range []string{"", "abc", strings.Repeat("x", 40)} {
		if got := plain.Shorten(s, 40); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

// TestWriter: JSON keeps its values, text its lines, and no control character
// passes.
func TestWriter(t *testing.T) {
	for _, c := range cases {
		var out bytes.Buffer
		w := plain.Writer(&out)
		if !utf8.ValidString(c.in) {
			continue // encoding/json replaces it
		}
		b, err := json.Marshal(map[string]string{"key": c.in})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := w.Write(append(b, '\n')); n != len(b)+1 || err != nil {
			t.Errorf("%s: %d bytes, %v", c.name, n, err)
		}
		line, found := strings.CutSuffix(out.String(), "\n")
		if !found || plain.Line(line) != line {
			t.Errorf("%s: %q", c.name, out.String())
		}
		var back map[string]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["key"] != c.in {
			t.Errorf("%s: comes back as %q, %v", c.name, back["key"], err)
		}
	}
	var out bytes.Buffer
	plain.Writer(&out).Write([]byte("one\x1b[2J\n\ttwo\n"))
	if want := "one\\u001b[2J\n\ttwo\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func FuzzName(f *testing.F) {
	for _, c := range cases {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{plain.Name(s), plain.Line(s), plain.Name(plain.Shorten(s, 20))} {
			if plain.Line(got) != got {
				t.Errorf("%q gives %q, which is not printable", s, got)
			}
		}
	})
}
