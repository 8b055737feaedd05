package storage

import (
	"os"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"/srv/photos/":           "file:///srv/photos",
		"/srv//photos/../x":      "file:///srv/x",
		"photos":                 "file://" + wd + "/photos",
		"./photos/":              "file://" + wd + "/photos",
		".":                      "file://" + wd,
		"file:///srv/photos//":   "file:///srv/photos",
		"file://localhost/srv":   "file:///srv",
		"file://./photos":        "file://" + wd + "/photos",
		"/with space/100%/a?b#c": "file:///with%20space/100%25/a%3Fb%23c",
		"file:///with%20space":   "file:///with%20space",
		"mem://":                 "mem://default",
		"mem://name":             "mem://name",
		"s3://bucket/":           "s3://bucket",
		"s3://bucket/a/b/":       "s3://bucket/a/b",
		"s3://bucket/a?":         "s3://bucket/a",
		"gs://bucket?#part":      "gs://bucket",
		"s3://bucket?use_path_style=true&endpoint=http://h:1&region=r": "s3://bucket?endpoint=http%3A%2F%2Fh%3A1&region=r&use_path_style=true",
		"s3://key:pass@bucket/a?secret_access_key=x&region=r":          "s3://bucket/a?region=r",
		"s3://bucket?endpoint=http://u:p@h:1/":                         "s3://bucket?endpoint=http%3A%2F%2Fh%3A1%2F",
		"s3://bucket?endpoint=//x@//u:p@h":                             "s3://bucket?endpoint=%2F%2Fh",
		"gs://bucket/x?access_id=i":                                    "gs://bucket/x?access_id=i",
		"azblob://c?storage_account=a&sas=x&sig=y&AccountKey=z":        "azblob://c?storage_account=a",
	} {
		got, err := Canonical(in)
		if err != nil || got != want {
			t.Errorf("%q becomes %q, want %q; %v", in, got, want, err)
			continue
		}
		if again, err := Canonical(got); err != nil || again != got {
			t.Errorf("%q is not canonical: becomes %q; %v", got, again, err)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for in, says := range map[string]string{
		"":                            "empty",
		"http://x/y":                  "unknown scheme",
		"s3:///key":                   "names no bucket",
		"s3://b/a/../c":               ".. part",
		"s3://b/a//c":                 "empty",
		"file://host/x":               "host",
		"file:///x?create_dir=true":   "parameters",
		"file://":                     "no folder",
		"s3://key:pass@b%zz?secret=s": "cannot be parsed",
	} {
		got, err := Canonical(in)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, %v; want an error with %q", in, got, err, says)
		}
		if err != nil && (strings.Contains(err.Error(), "pass") || strings.Contains(err.Error(), "secret=s")) {
			t.Errorf("%q: error shows a secret: %v", in, err)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"/a", "s3://b/c?x=y", "file:///a%20b", "mem://", "azblob://u:p@c/d", "gs://b?endpoint=http://u:p@h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Canonical(s)
		if err != nil {
			return
		}
		if again, err := Canonical(got); err != nil || again != got {
			t.Errorf("%q becomes %q, then %q; %v", s, got, again, err)
		}
	})
}
