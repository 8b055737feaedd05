package scheduler

import (
	"context"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker/series/seriestest"
)

// TestGroup groups the objects of a bucket: by folder, and by what they say at their beginning.
func TestGroup(t *testing.T) {
	buckets := storage.NewBuckets()
	defer buckets.Close()
	source, err := buckets.Open(t.Context(), "mem://source")
	if err != nil {
		t.Fatal(err)
	}
	put := func(key string, data []byte) {
		t.Helper()
		if _, err := storage.Put(t.Context(), source, key, data, nil); err != nil {
			t.Fatal(err)
		}
	}
	slices := seriestest.Slices(4, func(i int, m *seriestest.Made) { m.Series = []string{"1.2", "1.3"}[i%2] })
	put("a/1", slices[0])
	put("a/2", slices[1])
	put("a/b/1", slices[2])
	put("a/c", []byte("no DICOM")) // behind the folder a/b in the listing
	put("a/empty", nil)
	put("a/x.txt", []byte("left out"))
	put("top", slices[3])
	put(".pelmill/jobs/x/spec.json", []byte("{}"))
	target, err := buckets.Open(t.Context(), "mem://target")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Put(t.Context(), target, jobs.SeriesKey, []byte(strings.Repeat("0123456789abcdef", 4)), nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ format, want string }{
		{GroupFolders, "a=a/1+a/2+a/c+a/empty a/b=a/b/1 series=top"},
		{GroupHeaders, "a/c a/empty series-aef24d0f=a/1+a/b/1 series-b3f2402a=a/2+top"},
	} {
		c := &Client{Buckets: buckets}
		s := memory(0).sorter()
		defer s.close()
		spec := jobs.Spec{Source: "mem://source", Target: "mem://target", Filter: jobs.Filter{Exclude: []string{"*.txt"}}}
		err := sortManifest(&s, func(fn func(jobs.Entry) error) error { return c.group(t.Context(), spec, tt.format, false, fn) })
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		err = distinct(spool(&s))(context.Background(), func(e jobs.Entry) error {
			name := e.Key
			if strings.HasPrefix(name, "series-") {
				name = name[:len("series-")+8]
			}
			for i, p := range e.Parts {
				name += string("=+"[min(i, 1)]) + p.Key
				if p.ETag == "" || p.Size < 0 && p.Key != "a/empty" {
					t.Errorf("%s: part %+v", e.Key, p)
				}
			}
			got = append(got, name)
			return nil
		})
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %s, %v", tt.format, strings.Join(got, " "), err)
		}
	}
}

// TestSeriesHash makes one secret for all jobs of a target, and none in a dry run.
func TestSeriesHash(t *testing.T) {
	buckets := storage.NewBuckets()
	defer buckets.Close()
	target, err := buckets.Open(t.Context(), "mem://target")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openSeriesHash(t.Context(), target, true); err != nil {
		t.Error(err)
	}
	if _, _, err := storage.Stat(t.Context(), target, jobs.SeriesKey); !storage.IsNotExist(err) {
		t.Errorf("a dry run wrote: %v", err)
	}
	first, err := openSeriesHash(t.Context(), target, false)
	again, err2 := openSeriesHash(t.Context(), target, false)
	if err != nil || err2 != nil || first.Sum("a") != again.Sum("a") || first.Sum("a") == sitekey.New([32]byte{}).Sum("a") {
		t.Errorf("%v; then %v", err, err2)
	}
	other, err := buckets.Open(t.Context(), "mem://other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Put(t.Context(), other, jobs.SeriesKey, []byte("no key"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := openSeriesHash(t.Context(), other, false); err == nil {
		t.Error("a damaged key was taken")
	}
}
