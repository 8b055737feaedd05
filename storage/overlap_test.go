package storage_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/storage"
)

var relationName = map[storage.Relation]string{
	storage.Disjoint: "disjoint", storage.Same: "same", storage.TargetInside: "target inside", storage.SourceInside: "source inside",
}

func overlapText(o storage.Overlap) string {
	s := relationName[o.Relation]
	if o.Prefix != "" {
		s += " " + o.Prefix
	}
	if o.Unsure {
		s += "?"
	}
	return s
}

// swapped is the overlap with source and target exchanged.
func swapped(o storage.Overlap) storage.Overlap {
	switch o.Relation {
	case storage.TargetInside:
		o.Relation = storage.SourceInside
	case storage.SourceInside:
		o.Relation = storage.TargetInside
	}
	return o
}

func compare(t *testing.T, source, target string) storage.Overlap {
	t.Helper()
	buckets := storage.NewBuckets()
	defer buckets.Close()
	open := func(url string) *storage.Bucket {
		b, err := buckets.Open(context.Background(), url)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	o, err := storage.Compare(open(source), open(target))
	if err != nil {
		t.Fatalf("%s, %s: %v", source, target, err)
	}
	back, err := storage.Compare(open(target), open(source))
	if err != nil || back != swapped(o) {
		t.Errorf("%s, %s: %s, but the other way round %s, %v", source, target, overlapText(o), overlapText(back), err)
	}
	return o
}

// photos makes a folder with links to it and within it, and makes it the working directory.
func photos(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for _, d := range []string{"photos/out/deep", "photos/\xff", "other", "photos2"} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"alias": "photos", "alias2": "alias", "intoout": filepath.Join(dir, "photos/out"), "other/back": "../photos", "dangling": "nowhere",
	} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOverlapOfFolders(t *testing.T) {
	dir := photos(t)
	for _, tt := range []struct{ source, target, want string }{
		{"photos", "photos", "same"},
		{"photos", dir + "/photos/", "same"},
		{"photos", "file://" + dir + "/photos", "same"},
		{"photos", "other/../photos", "same"},
		{"photos", "alias", "same"},
		{"alias", "alias2", "same"},
		{"photos", "other/back", "same"},
		{"photos", "photos2", "disjoint"},
		{"photos", "other", "disjoint"},
		{"photos", "dangling", "disjoint"},
		{"photos", "photos/out", "target inside out/"},
		{"photos", "alias2/out/deep", "target inside out/deep/"},
		{"photos", "intoout", "target inside out/"},
		{"photos", "intoout/new/deep", "target inside out/new/deep/"},
		{"alias", "photos/new", "target inside new/"},
		{"photos/out", "alias", "source inside out/"},
		{"photos/new", "alias/new", "same"},
		{"photos/new", "alias/new/deep", "target inside deep/"},
		{"photos/new", "photos/new2", "disjoint"},
		{"photos/new/deep", "photos/out", "disjoint"},
		{"photos", "photos/\xff", "target inside \u201bFF/"},
		{".", "photos", "target inside photos/"},
		{"/", "mem://x", "disjoint"},
	} {
		if got := overlapText(compare(t, tt.source, tt.target)); got != tt.want {
			t.Errorf("source %s, target %s: %s, want %s", tt.source, tt.target, got, tt.want)
		}
	}
}

func TestOverlapOfBindMounts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system has no bind mounts")
	}
	dir := photos(t)
	bind := func(from, to string) {
		t.Helper()
		if err := os.MkdirAll(to, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(from, to, "", syscall.MS_BIND, ""); err != nil {
			services.Missing(t, "bind mount: %v", err)
		}
		t.Cleanup(func() { syscall.Unmount(to, syscall.MNT_DETACH) })
	}
	bind("photos", dir+"/mnt/whole disk")
	bind("photos/out", dir+"/mnt/out")
	for _, tt := range []struct{ source, target, want string }{
		{"photos", "mnt/whole disk", "same"},
		{"photos", "mnt/whole disk/out", "target inside out/"},
		{"photos", "mnt/whole disk/out/new", "target inside out/new/"},
		{"photos", "mnt/out", "target inside out/"},
		{"photos", "mnt/out/deep", "target inside out/deep/"},
		{"mnt/whole disk", "mnt/out", "target inside out/"},
		{"mnt", "photos/new", "target inside whole disk/new/"},
		{"photos", "mnt", "source inside whole disk/"},
		{"photos2", "mnt", "disjoint"},
	} {
		if got := overlapText(compare(t, tt.source, tt.target)); got != tt.want {
			t.Errorf("source %s, target %s: %s, want %s", tt.source, tt.target, got, tt.want)
		}
	}
}

func TestOverlapOfBuckets(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
		"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_KEY": "a2V5",
	} {
		t.Setenv(name, value)
	}
	// All of it, because the Azure driver keeps what the environment says when it is first used.
	const azure = "?storage_account=acct&domain=core.test&protocol=https&localemu=false"
	const here = "?endpoint=http://127.0.0.1:9000&region=r"
	for _, tt := range []struct{ source, target, want string }{
		{"mem://a", "mem://a", "same"},
		{"mem://a", "mem://b", "disjoint"},
		{"mem://a", "mem://a/out", "target inside out/"},
		{"mem://a/x/y", "mem://a/x", "source inside y/"},
		{"mem://a/x", "mem://a/xy", "disjoint"},
		{"mem://a", "/a", "disjoint"},

		{"s3://a", "s3://a/", "same"},
		{"s3://a", "s3://b", "disjoint"},
		{"s3://a", "gs://a?anonymous=true", "disjoint"},
		{"s3://a?region=us-east-1", "s3://a/out?use_path_style=true&region=eu-west-1", "target inside out/"},
		{"s3://a/x", "s3://a/xy", "disjoint"},
		{"s3://a", "s3://a?endpoint=https://s3.amazonaws.com", "same"},
		{"s3://a", "s3://a?endpoint=https://s3.eu-west-1.amazonaws.com/", "same"},
		{"s3://a", "s3://a?endpoint=https://s3.dualstack.eu-west-1.amazonaws.com", "same"},
		{"s3://a", "s3://a?region=cn-north-1", "same?"},
		{"s3://a" + here, "s3://a?endpoint=http://LOCALHOST:9000/&use_path_style=true", "same"},
		{"s3://a" + here, "s3://a/p?endpoint=http://[::1]:9000", "target inside p/"},
		{"s3://a" + here, "s3://a?endpoint=http://127.0.0.1:9001", "same?"},
		{"s3://a" + here, "s3://b?endpoint=http://127.0.0.1:9001", "disjoint"},
		{"s3://a/p/q" + here, "s3://a/p", "source inside q/?"},
		{"s3://a?endpoint=http://Minio.lan", "s3://a?endpoint=http://minio.lan:80/", "same"},
		{"s3://a?endpoint=https://minio.lan", "s3://a?endpoint=https://minio.lan.:443", "same"},

		{"gs://a?anonymous=true", "gs://a/x?anonymous=true", "target inside x/"},
		{"gs://a?anonymous=true", "gs://b?anonymous=true", "disjoint"},

		{"azblob://c" + azure, "azblob://c/x?storage_account=acct&domain=Core.test:443&protocol=https&localemu=false", "target inside x/"},
		{"azblob://c" + azure, "azblob://c?storage_account=other&domain=core.test&protocol=https&localemu=false", "same?"},
		{"azblob://c?protocol=http&domain=localhost:10000&localemu=true", "azblob://c?protocol=http&domain=127.0.0.1:10000&localemu=true", "same"},
		{"azblob://c" + azure, "azblob://d" + azure, "disjoint"},
	} {
		if got := overlapText(compare(t, tt.source, tt.target)); got != tt.want {
			t.Errorf("source %s, target %s: %s, want %s", tt.source, tt.target, got, tt.want)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
	if got := overlapText(compare(t, "s3://a", "s3://a/x"+here)); got != "target inside x/" {
		t.Errorf("the endpoint of the environment: %s", got)
	}
}

// Two addresses of one server show the same objects, and two servers do not.
func TestOverlapIsResolvedByAnObject(t *testing.T) {
	one, other := services.VersityGW(t), services.VersityGW(t)
	through := faults.NewProxy(t, one.Endpoint)
	one.NewBucket("bkt")
	other.NewBucket("bkt")
	buckets := storage.NewBuckets()
	defer buckets.Close()
	open := func(endpoint, prefix string) *storage.Bucket {
		t.Helper()
		b, err := buckets.Open(t.Context(), strings.Replace(services.S3URL(endpoint, "bkt"), "bkt", "bkt/"+prefix, 1))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	put := func(b *storage.Bucket, key, content string) {
		t.Helper()
		if _, err := storage.Put(t.Context(), b, key, []byte(content), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name           string
		source, target *storage.Bucket
		want           string
		inSource       bool
	}{
		{"same", open(one.Endpoint, ""), open(through.URL, ""), "same", true},
		{"target inside", open(one.Endpoint, "a"), open(through.URL, "a/b"), "target inside b/", true},
		{"source inside", open(one.Endpoint, "a/c"), open(through.URL, "a"), "source inside c/", false},
		{"another server", open(other.Endpoint, "z"), open(through.URL, "z"), "disjoint", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if o, err := storage.Compare(tt.source, tt.target); err != nil || !o.Unsure {
				t.Errorf("the URLs alone tell %s, %v", overlapText(o), err)
			}
			put(tt.target, "witness", tt.name)
			o, err := buckets.Resolve(t.Context(), tt.source, tt.target, "witness")
			if err != nil || overlapText(o) != tt.want {
				t.Errorf("%s, %v, want %s", overlapText(o), err, tt.want)
			}
			if _, ok, err := storage.InSource(t.Context(), tt.source, tt.target, "witness"); ok != tt.inSource || err != nil {
				t.Errorf("the witness lies in the source: %v, %v; want %v", ok, err, tt.inSource)
			}
		})
	}
}

func TestInSource(t *testing.T) {
	photos(t)
	for _, f := range []string{"photos/a.webp", "photos/out/b.webp", "other/c.webp"} {
		if err := os.WriteFile(f, []byte(f), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../photos/out", "other/deep"); err != nil {
		t.Fatal(err)
	}
	buckets := storage.NewBuckets()
	defer buckets.Close()
	for _, tt := range []struct{ source, target, key, want string }{
		{"photos", "alias", "a.webp", "a.webp"},
		{"photos", "intoout", "b.webp", "out/b.webp"},
		{"photos/out", "alias", "out/b.webp", "b.webp"},
		{"photos/out", "alias", "a.webp", ""},
		{"photos", "other", "c.webp", ""},
		{"photos", "other", "back/a.webp", "a.webp"},
		{"photos", "other", "deep/b.webp", "out/b.webp"},
		{"photos", "other", "deep/new/b.webp", "out/new/b.webp"},
		{"photos", ".", "photos/a.webp", "a.webp"},
		{"mem://a/x", "mem://a", "x/y", "y"},
		{"mem://a/x", "mem://a", "xy", ""},
		{"mem://a", "mem://a/x", "y", "x/y"},
		{"mem://a", "/", "y", ""},
	} {
		source, err := buckets.Open(t.Context(), tt.source)
		if err != nil {
			t.Fatal(err)
		}
		target, err := buckets.Open(t.Context(), tt.target)
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := storage.InSource(t.Context(), source, target, tt.key)
		if err != nil || got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s of %s is %q, %v of %s, want %q; %v", tt.key, tt.target, got, ok, tt.source, tt.want, err)
		}
	}
}
