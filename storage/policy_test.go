package storage

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// What a process opens on somebody else's word without any configuration.
func TestPlainPolicy(t *testing.T) {
	for url, allowed := range map[string]bool{
		"s3://bucket":                      true,
		"s3://bucket/a/b":                  true,
		"gs://bucket.with_dots-1":          true,
		"azblob://$web/x":                  true,
		"s3://bucket?":                     true, // no parameter
		"s3://user:secret@bucket/x#top":    true, // both are dropped
		"s3://" + strings.Repeat("x", 255): true,

		"s3://" + strings.Repeat("x", 256):         false,
		"s3://bucket?endpoint=http://127.0.0.1:1":  false,
		"s3://bucket/x?region=eu-1":                false,
		"s3://bucket?profile=admin":                false,
		"s3://bucket?anonymous=true":               false,
		"s3://bucket?awssdk=v2":                    false,
		"s3://bucket?x":                            false,
		"gs://bucket?private_key_path=/etc/key":    false,
		"gs://bucket?access_id=-":                  false,
		"azblob://c?storage_account=theirs":        false,
		"azblob://c?domain=evil.example":           false,
		"s3://host:80/x":                           false,
		"s3://arn:aws:s3:eu:1:accesspoint/x":       false,
		"s3://b%00":                                false,
		"s3://bucket/a/../../other":                false,
		"s3://bucket/a/%2e%2e/other":               false,
		"s3://bucket/a%2f..%2fother":               false,
		"s3:///x":                                  false,
		"mem://default":                            false,
		"file:///etc":                              false,
		"/etc":                                     false,
		".":                                        false,
		"":                                         false,
		"http://169.254.169.254/latest/meta-data":  false,
		"S3://bucket":                              false,
		"s3://" + strings.Repeat("x", maxURL):      false,
		"s3://bucket/" + strings.Repeat("x/", 3e3): false,
	} {
		err := Plain().Check(url)
		if allowed != (err == nil) {
			t.Errorf("%.60q: %v, want allowed %v", url, err, allowed)
		}
		var not *NotAllowedError
		if err != nil && (!errors.As(err, &not) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%.60q: %v", url, err)
		}
		if IsPlain(url) != allowed {
			t.Errorf("%.60q: plain %v, want %v", url, !allowed, allowed)
		}
	}
	if err := (*Policy)(nil).Check("file:///etc"); err != nil {
		t.Error("no policy forbids something:", err)
	}
}

// Prefixes hold for whole elements, with exactly their parameters.
func TestOnlyPolicy(t *testing.T) {
	for _, c := range []struct {
		prefix       string
		allowed, not []string
	}{
		{"s3://a/b", []string{"s3://a/b", "s3://a/b/", "s3://a/b/c/d"},
			[]string{"s3://a", "s3://a/bc", "s3://ab", "s3://a/b/../c", "s3://a/b/%2e%2e/c", "gs://a/b", "s3://a/b?region=r", "s3://A/b", "file:///a/b"}},
		{"s3://a", []string{"s3://a", "s3://a/b"}, []string{"s3://ab", "s3://a.b", "s3://a?endpoint=http://h"}},
		{"s3://a?use_path_style=true&endpoint=http://h:1", []string{"s3://a/x?endpoint=http://h:1&use_path_style=true"},
			[]string{"s3://a/x", "s3://a?endpoint=http://h:1", "s3://a?endpoint=http://h:2&use_path_style=true", "s3://a?endpoint=http://h:1&use_path_style=true&region=r",
				"s3://a?endpoint=http://h:1&use_path_style=true&endpoint=http://evil"}},
		{"s3://", []string{"s3://any", "s3://other/x"}, []string{"gs://any", "s3://any?region=r", "s3://b:80"}},
		{"s3://?endpoint=http://h", []string{"s3://any/x?endpoint=http://h"}, []string{"s3://any", "s3://any?endpoint=http://evil"}},
		{"file:///srv/in", []string{"/srv/in", "/srv/in/a", "file:///srv/in/a/../b", "/srv/./in"}, []string{"/srv", "/srv/inner", "/srv/in/../out", "file:///srv/in/%2e%2e/out", "s3://srv/in"}},
		{"/", []string{"/etc", "/"}, []string{"s3://etc"}},
		{"mem://m", []string{"mem://m/x"}, []string{"mem://", "mem://n"}},
	} {
		p, err := Only(c.prefix)
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range c.allowed {
			if err := p.Check(url); err != nil {
				t.Errorf("%s forbids %s: %v", c.prefix, url, err)
			}
		}
		for _, url := range c.not {
			if err := p.Check(url); err == nil {
				t.Errorf("%s allows %s", c.prefix, url)
			}
		}
	}
	if _, err := Only("ftp://x"); err == nil {
		t.Error("ftp:// is taken as a prefix")
	}
	none, err := Only()
	if err != nil || none.Check("s3://a") == nil {
		t.Error("no prefix at all allows something", err)
	}
	both, err := Plain().Plus("/srv")
	if err != nil || both.Check("s3://a") != nil || both.Check("/srv/x") != nil || both.Check("/etc") == nil {
		t.Error("a prefix beside the plain URLs", err)
	}
}

// Links cannot lead out of an allowed folder, nor a prefix that is a link lead nowhere.
func TestFoldersAreComparedAfterLinks(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"real/in", "other"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"alias": "real", "real/in/out": "../../other", "real/in/gone": "../../later"} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Only(filepath.Join(top, "alias/in"))
	if err != nil {
		t.Fatal(err)
	}
	for path, allowed := range map[string]bool{
		"alias/in": true, "real/in": true, "real/in/not/yet": true, "alias/in/x": true,
		"real": false, "real/in/out": false, "real/in/out/x": false, "alias/in/out": false, "other": false, "real/in/gone/x": false, "real/in/gone": false,
	} {
		if err := p.Check(filepath.Join(top, path)); allowed != (err == nil) {
			t.Errorf("%s: %v, want allowed %v", path, err, allowed)
		}
	}
}

func TestStoreHoldsItsBuckets(t *testing.T) {
	for _, url := range []string{"s3://a/b", "s3://a?endpoint=http://h&region=r", "gs://a", "azblob://a/b?domain=d", "/srv/x", "mem://m/x"} {
		prefix, err := Store(url)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Only(prefix)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(url); err != nil {
			t.Errorf("%s: %s: %v", url, prefix, err)
		}
	}
}

// TestForbiddenBucketsAreNotAsked has an endpoint that counts what reaches it.
func TestForbiddenBucketsAreNotAsked(t *testing.T) {
	asked, url := endpoint(t)
	bs := NewBuckets()
	defer bs.Close()
	bs.Allow = Plain()
	if _, err := bs.Open(t.Context(), "s3://b?use_path_style=true&region=us-east-1&endpoint="+url); err == nil {
		t.Error("it is opened")
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestS3Endpoint: plain URLs go where the process is told to, by path, with some region.
func TestS3Endpoint(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	asked, url := endpoint(t)
	bs := NewBuckets()
	defer bs.Close()
	bs.Allow, bs.S3Endpoint = Plain(), url
	b, err := bs.Open(t.Context(), "s3://bucket/prefix")
	if err != nil {
		t.Fatal(err)
	}
	if b.URL != "s3://bucket/prefix" {
		t.Errorf("its URL is %s", b.URL)
	}
	if _, _, err := Stat(t.Context(), b, "key"); !IsNotExist(err) {
		t.Error(err)
	}
	if asked.Load() == 0 {
		t.Error("nothing was asked at the endpoint")
	}
	for _, bad := range []string{"", "minio:9000", "ftp://h", "http://", "http://u:p@h", "http://h?x=y", "http://h#x"} {
		if got, err := ParseEndpoint(bad); err == nil {
			t.Errorf("%q is taken as %q", bad, got)
		}
	}
	if got, err := ParseEndpoint("https://minio:9000/s3"); err != nil || got != "https://minio:9000/s3" {
		t.Error(got, err)
	}
}

// endpoint is an S3 service without objects, for requests by path.
func endpoint(t *testing.T) (asked *atomic.Int64, url string) {
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if !strings.HasPrefix(r.URL.Path, "/bucket/prefix/") {
			t.Errorf("asked for %s", r.URL)
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
	}))
	t.Cleanup(server.Close)
	return asked, server.URL
}

// FuzzPolicy looks for URLs that the plain policy allows although they say more than scheme, bucket and prefix, and for
// ones that get around a prefix.
func FuzzPolicy(f *testing.F) {
	for _, s := range []string{"s3://b", "s3://a/b/c", "s3://a/b?endpoint=http://h", "file:///srv/in/x", "/srv/in/../x", "gs://x#y?z", "s3://u:p@a/b/%2e%2e/c", "azblob://$web"} {
		f.Add(s)
	}
	only, err := Only("s3://a/b", "file:///srv/in")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if Plain().Check(raw) == nil {
			u, err := parse(raw)
			if err != nil || !stores[u.Scheme] || u.RawQuery != "" || u.User != nil || u.Fragment != "" || strings.ContainsAny(u.Host, ":/@") ||
				strings.Contains(u.Path+"/", "/../") {
				t.Errorf("%q is allowed as %v (%v)", raw, u, err)
			}
		}
		if only.Check(raw) == nil {
			got, err := Canonical(raw)
			if err != nil || got != "s3://a/b" && !strings.HasPrefix(got, "s3://a/b/") && got != "file:///srv/in" && !strings.HasPrefix(got, "file:///srv/in/") {
				t.Errorf("%q is allowed as %q (%v)", raw, got, err)
			}
		}
	})
}
