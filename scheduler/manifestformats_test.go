package scheduler

import (
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// TestBadLinesAreSingleFailedObjects: a line that names nothing is one entry that
// says why, and its neighbours are read as ever. "!" stands for such an entry, by
// a part of its reason.
func TestBadLinesAreSingleFailedObjects(t *testing.T) {
	long := strings.Repeat("x", longestRecord)
	tests := []struct {
		name, format, source, text string
		want                       []string
	}{
		{"relative paths of a folder", FilesFrom, "file:///s", "./a.png\nb//c.png\n/d.png\n././e/./f.png\n", []string{"a.png", "b/c.png", "d.png", "e/f.png"}},
		{"keys of a bucket are what they are", CSV, "s3://b", "./a.png\nb//c.png\n/d.png\ne/\n", []string{"./a.png", "b//c.png", "/d.png", "e/"}},
		{"relative paths in JSON", JSONL, "file:///s", `{"key":"./a.png"}` + "\n" + `{"key":"/b//c.png"}`, []string{"a.png", "b/c.png"}},
		{"a folder", FilesFrom, "file:///s", "a/\nb.png\n", []string{"!is a folder", "b.png"}},
		{"nothing but dots and slashes", FilesFrom, "file:///s", "/\n./\n.\nb.png\n", []string{"!names no object", "!is no object", "!is no object", "b.png"}},
		{"a name of a folder that is no UTF-8", FilesFrom, "file:///s", "a\xff.png\nb.png\n", []string{"a\u201bFF.png", "b.png"}},
		{"a name of a bucket that is no UTF-8", FilesFrom, "s3://b", "a\xff.png\nb.png\n", []string{"!no UTF-8", "b.png"}},
		{"JSON that is no UTF-8", JSONL, "s3://b", "{\"key\":\"a\xff\"}\n{\"key\":\"b\"}", []string{"!no UTF-8", "b"}},
		{"a line that is too long", FilesFrom, "file:///s", "a.png\n" + long + "y\nb.png\n", []string{"a.png", "!has more than", "b.png"}},
		{"a last line that is too long", FilesFrom, "file:///s", "a.png\n" + long + "y", []string{"a.png", "!has more than"}},
		{"a key that is too long", FilesFrom, "file:///s", strings.Repeat("x/", 3000) + "\nb.png", []string{"!more than any store allows", "b.png"}},
		{"broken JSON", JSONL, "mem://s", "{\"key\":\"a\"}\n{\n[]\n\"x\"\n{\"key\":\"b\"}", []string{"a", "!line 2", "!line 3", "!line 4", "b"}},
		{"JSON without a key", JSONL, "mem://s", "{\"size\":1}\n{\"key\":\"b\"}\n", []string{"!line 1 of the manifest has no key", "b"}},
		{"a stray quotation mark", CSV, "mem://s", "a\n\"b\nc\nd\n", []string{"a", "!line 2", "c", "d"}},
		{"a quotation mark in a field", CSV, "mem://s", "a\nb\"c,5\nd\n", []string{"a", "!line 2", "d"}},
		{"a row that is too long", CSV, "mem://s", "a\n\"" + long + "\"\nd\n", []string{"a", "!line 2", "d"}},
		{"a line break in a quoted key", CSV, "mem://s", "\"a\nb\",5\n,5\nd\n", []string{"a\nb", "!line 3", "d"}},
		{"a row without a key", CSV, "mem://s", "a\n,5\n", []string{"a", "!line 2 of the manifest has no key"}},
		{"Windows", CSV, "mem://s", "\xef\xbb\xbfkey,size\r\na,1\r\n\"b\",2\r\n\r\n", []string{"a", "b"}},
		{"another bucket", Inventory, "s3://b", "other,a\nb,c\n", []string{"!names bucket \"other\"", "c"}},
		{"bad encoding", Inventory, "s3://b", "b,%zz\nb,c\n", []string{"!line 1", "c"}},
		{"failures of a job that was retried", JSONL, "mem://s", `{"key":"manifest line 7","outcome":"failed","class":"key","error":"line 7 is odd"}`, []string{"!line 7 is odd"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			err := parseManifest(strings.NewReader(tt.text), tt.format, tt.source, sitekey.OfProcess().Reader(), func(e jobs.Entry) error {
				text := e.Key
				if e.Bad != "" {
					text = "!" + e.Bad
				}
				got = append(got, text)
				return nil
			})
			same := func(got, want string) bool {
				reason, bad := strings.CutPrefix(want, "!")
				return got == want || bad && strings.HasPrefix(got, "!") && strings.Contains(got, reason)
			}
			if err != nil || !slices.EqualFunc(got, tt.want, same) {
				t.Errorf("got %.300q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestManifestsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{"\xff\xfea\x00\n\x00": "UTF-16", "\xfe\xff\x00a": "UTF-16", "\x1f\x8bx": "manifest"} {
		err := parseManifest(strings.NewReader(text), FilesFrom, "file:///s", sitekey.OfProcess().Reader(), func(jobs.Entry) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if err := parseManifest(strings.NewReader("a"), "xml", "file:///s", sitekey.OfProcess().Reader(), nil); err == nil {
		t.Error("format xml is accepted")
	}
}

// TestManifestMemoryIsBounded reads one field of 128 MiB, under -short of 32, from a gzip file, in each
// format.
func TestManifestMemoryIsBounded(t *testing.T) {
	mebibytes := 128
	if testing.Short() {
		mebibytes = 32
	}
	for _, format := range []string{CSV, Inventory, JSONL, FilesFrom} {
		r, w := io.Pipe()
		go func() {
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			fmt.Fprint(z, "b,first\n\"")
			block := []byte(strings.Repeat("x", 1<<20))
			for range mebibytes {
				z.Write(block)
			}
			fmt.Fprint(z, "\nb,last\n")
			z.Close()
			w.Close()
		}()
		debug.FreeOSMemory()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		bad, n := 0, 0
		err := parseManifest(r, format, "s3://b", sitekey.OfProcess().Reader(), func(e jobs.Entry) error {
			n++
			if e.Bad != "" {
				bad++
			}
			return nil
		})
		runtime.ReadMemStats(&after)
		wantBad := 1
		if format == JSONL {
			wantBad = 3
		}
		if err != nil || n != 3 || bad != wantBad {
			t.Errorf("%s: %d entries of which %d are bad, %v", format, n, bad, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
			t.Errorf("%s: took %d bytes of memory for a field of %d MiB", format, grown, mebibytes)
		}
	}
}

// TestJobWithBadLinesEnds: each bad line is one failed object with its reason, the
// rest is done.
func TestJobWithBadLinesEnds(t *testing.T) {
	r := newRigOn(t, "", "file://"+t.TempDir(), "mem://target")
	for _, key := range []string{"a.png", "dir/b.png"} {
		if _, err := storage.Put(r.ctx, r.bucket(r.source), key, []byte("x"), nil); err != nil {
			t.Fatal(err)
		}
	}
	lines := "./a.png\n../x.png\n/dir//b.png\nc\x00.png\n" + strings.Repeat("n", 304) + ".png\n" + strings.Repeat("l", longestRecord+1) + "\nd/../e.png\nf/\n"
	plan, err := r.client.DryRun(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny"}, strings.NewReader(lines), FilesFrom)
	if err != nil || plan.Objects != 8 {
		t.Fatalf("%d objects are planned, %v; want 8", plan.Objects, err)
	}
	source := r.bucket(r.source)
	p, err := newPreparation(r.ctx, r.buckets, tinyCodecs, &jobs.Spec{Source: r.source, Target: r.target}, source, r.bucket(r.target), ".tiny")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	p.add = func(e jobs.Entry) error {
		if e.Missing {
			e.Bad = "missing"
		}
		got[e.Key] = e.Bad
		return nil
	}
	var s sorter
	defer s.close()
	if err := sortManifest(&s, func(fn func(jobs.Entry) error) error {
		return parseManifest(strings.NewReader(lines), FilesFrom, r.source, sitekey.OfProcess().Reader(), fn)
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.fromGiven(r.ctx, distinct(spool(&s)), 8); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"a.png": "", "dir/b.png": "", "../x.png": "cannot be", "c\x00.png": "cannot be", strings.Repeat("n", 304) + ".png": "308 bytes",
		"manifest line 6": "has more than", "d/../e.png": "cannot be", "f/": "is a folder",
	} {
		if bad, ok := got[key]; !ok || (bad == "") != (want == "") || !strings.Contains(bad, want) {
			t.Errorf("%.40q: %q, %v; want %q", key, bad, ok, want)
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add("a,5,x\n", 0, false)
	f.Add("b,a%20b,5\n", 1, false)
	f.Add(`{"key":"a"}`, 2, true)
	f.Add("# c\na\n", 3, true)
	f.Add("/", 3, true)
	f.Add("\x1f\x8b\x08", 0, false)
	f.Add("\"a\nb\",5\n\"c\n", 0, false)
	f.Fuzz(func(t *testing.T, text string, format int, folder bool) {
		formats := []string{CSV, Inventory, JSONL, FilesFrom}
		source := "s3://b/p"
		if folder {
			source = "file:///s"
		}
		var s sorter
		defer s.close()
		err := sortManifest(&s, func(fn func(jobs.Entry) error) error {
			return parseManifest(strings.NewReader(text), formats[uint(format)%4], source, sitekey.OfProcess().Reader(), func(e jobs.Entry) error {
				if e.Key == "" || e.Size < -1 || !utf8.ValidString(e.Key) || !utf8.ValidString(e.Bad) || len(e.Key) > longestGiven+3*len(text) {
					t.Errorf("entry %+v", e)
				}
				return fn(e)
			})
		})
		if err != nil {
			return
		}
		// What was read goes through JSON and comes back in key order.
		last := ""
		err = distinct(spool(&s))(t.Context(), func(e jobs.Entry) error {
			if e.Key <= last {
				t.Errorf("%q comes after %q", e.Key, last)
			}
			last = e.Key
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
