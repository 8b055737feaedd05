package main

import "testing"

func TestSize(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
		text string
	}{
		{"0", 0, "0"}, {"500", 500, "500"}, {"1B", 1, "1"}, {"64K", 64 << 10, "64K"}, {"64k", 64 << 10, "64K"},
		{"64KiB", 64 << 10, "64K"}, {"64KB", 64 << 10, "64K"}, {"1.5M", 3 << 19, "1536K"}, {"2G", 2 << 30, "2G"},
		{"1T", 1 << 40, "1T"}, {"1025", 1025, "1025"},
	} {
		var s size
		if err := s.Set(tt.in); err != nil || int64(s) != tt.want || s.String() != tt.text {
			t.Errorf("%q: %d (%s), %v; want %d (%s)", tt.in, int64(s), s.String(), err, tt.want, tt.text)
		}
	}
	for _, in := range []string{"", "K", "B", "-1", "1X", "1KK", "0x10", "1e3", "+1", "1_000", "NaN", "Inf", "99999999T", "1 K K"} {
		var s size
		if err := s.Set(in); err == nil {
			t.Errorf("%q is taken as %d", in, int64(s))
		}
	}
}

// A size that was accepted is written so that it is read as the same number.
func FuzzSize(f *testing.F) {
	f.Add("1.5M")
	f.Fuzz(func(t *testing.T, in string) {
		var a, b size
		if a.Set(in) != nil {
			return
		}
		if a < 0 {
			t.Fatalf("%q is %d", in, a)
		}
		if err := b.Set(a.String()); err != nil || a != b {
			t.Fatalf("%q is %d, which is written %s and read as %d, %v", in, a, a.String(), b, err)
		}
	})
}

func TestTexts(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{bytesText(0), "0 B"}, {bytesText(1023), "1023 B"}, {bytesText(1024), "1.00 KiB"}, {bytesText(15 << 20), "15.0 MiB"},
		{bytesText(500 << 30), "500 GiB"}, {bytesText(-2048), "-2.00 KiB"},
		{countText(0), "0"}, {countText(999), "999"}, {countText(1000), "1,000"}, {countText(-1000), "-1,000"}, {countText(-100), "-100"}, {countText(12345678), "12,345,678"},
		{secondsText(0.25), "0.2 s"}, {secondsText(59), "59 s"}, {secondsText(125), "2 min 05 s"}, {secondsText(7500), "2 h 05 min"}, {secondsText(200000), "2.3 days"}, {secondsText(-1), "?"},
		{plural(1, "object"), "1 object"}, {plural(2000, "object"), "2,000 objects"},
		{percent(0.8125), "81.2 %"}, {percent(-0.5), "-50.0 %"},
		{shellQuote("a/b"), "a/b"}, {shellQuote("a b"), "'a b'"}, {shellQuote("it's"), `'it'\''s'`}, {shellQuote(""), "''"},
		{place("file:///a/b", "k/x"), "/a/b/k/x"}, {place("s3://b/p?region=x", "k"), "s3://b/p/k?region=x"}, {place("file:///", "k"), "/k"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}
