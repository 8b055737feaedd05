package scheduler

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

func TestFilter(t *testing.T) {
	tests := []struct {
		filter jobs.Filter
		key    string
		size   int64
		want   bool
	}{
		{jobs.Filter{}, "a.png", 0, true},
		{jobs.Filter{Include: []string{"*.png"}}, "a.png", 1, true},
		{jobs.Filter{Include: []string{"*.png"}}, "dir/sub/a.png", 1, true},
		{jobs.Filter{Include: []string{"*.png"}}, "dir.png/a.jpg", 1, false},
		{jobs.Filter{Include: []string{"/*.png"}}, "a.png", 1, true},
		{jobs.Filter{Include: []string{"/*.png"}}, "dir/a.png", 1, false},
		{jobs.Filter{Include: []string{"sub/*.png"}}, "dir/sub/a.png", 1, true},
		{jobs.Filter{Include: []string{"sub/*.png"}}, "dir/thesub/a.png", 1, false},
		{jobs.Filter{Include: []string{"/dir/**"}}, "dir/sub/a.png", 1, true},
		{jobs.Filter{Include: []string{"dir/"}}, "x/dir/sub/a.png", 1, true},
		{jobs.Filter{Include: []string{"/dir/"}}, "x/dir/a.png", 1, false},
		{jobs.Filter{Include: []string{"*.{png,jpg}"}}, "a.jpg", 1, true},
		{jobs.Filter{Include: []string{"[a-c]?.png"}}, "b1.png", 1, true},
		{jobs.Filter{Include: []string{"*.png"}, Exclude: []string{"thumb*"}}, "thumb1.png", 1, false},
		{jobs.Filter{Exclude: []string{"cache/**"}}, "x/cache/y/a.png", 1, false},
		{jobs.Filter{Include: []string{"*.PNG"}}, "dir/a.png", 1, true},
		{jobs.Filter{Include: []string{"/Dir/*.{png,jpg}"}}, "Dir/a.JPG", 1, true},
		{jobs.Filter{Include: []string{"/Dir/*.{png,jpg}"}}, "dir/a.JPG", 1, false},
		{jobs.Filter{Include: []string{"/Dir/*.{png,jpg}"}, IgnoreCase: true}, "dir/a.JPG", 1, true},
		{jobs.Filter{Include: []string{"a.png"}}, "A.PNG", 1, false},
		{jobs.Filter{Include: []string{"scan*.tiff"}}, "scan1.TIFF", 1, true},
		{jobs.Filter{Include: []string{"scan*.tiff"}}, "Scan1.tiff", 1, false},
		{jobs.Filter{Include: []string{"[A-C]?.png"}, IgnoreCase: true}, "b1.png", 1, true},
		{jobs.Filter{Exclude: []string{"*.GIF"}}, "x/a.gif", 1, false},
		{jobs.Filter{DefaultExcludes: true}, "a/._b.png", 1, false},
		{jobs.Filter{DefaultExcludes: true}, "a/THUMBS.DB", 1, false},
		{jobs.Filter{DefaultExcludes: true}, ".DS_Store", 1, false},
		{jobs.Filter{DefaultExcludes: true}, "Desktop.ini", 1, false},
		{jobs.Filter{DefaultExcludes: true}, "._folder/b.png", 1, true},
		{jobs.Filter{}, "a/._b.png", 1, true},
		{jobs.Filter{MaxDepth: 1}, "a.png", 1, true},
		{jobs.Filter{MaxDepth: 1}, "a/b.png", 1, false},
		{jobs.Filter{MaxDepth: 2}, "a/b.png", 1, true},
		{jobs.Filter{MinSize: 10}, "a", 9, false},
		{jobs.Filter{MinSize: 10}, "a", 10, true},
		{jobs.Filter{MaxSize: 10}, "a", 10, true},
		{jobs.Filter{MaxSize: 10}, "a", 11, false},
		{jobs.Filter{MinSize: 10, MaxSize: 20}, "a", -1, true},
	}
	for _, tt := range tests {
		f, err := newFilter(tt.filter, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.keep(tt.key, tt.size, time.Time{}); got != tt.want {
			t.Errorf("%+v keeps %q of %d bytes: %v, want %v", tt.filter, tt.key, tt.size, got, tt.want)
		}
	}
	for _, bad := range []string{"", "[a", "{a,b"} {
		if _, err := newFilter(jobs.Filter{Include: []string{bad}}, time.Time{}); err == nil {
			t.Errorf("pattern %q is accepted", bad)
		}
	}
}

// Ages count back from the submission.
func TestFilterAges(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		filter jobs.Filter
		ago    time.Duration
		want   bool
	}{
		{jobs.Filter{MinAge: "1d"}, 23 * time.Hour, false},
		{jobs.Filter{MinAge: "1d"}, 25 * time.Hour, true},
		{jobs.Filter{MaxAge: "1d"}, 23 * time.Hour, true},
		{jobs.Filter{MaxAge: "1d"}, 25 * time.Hour, false},
		{jobs.Filter{MinAge: "1h", MaxAge: "1d"}, 2 * time.Hour, true},
	} {
		f, err := newFilter(tt.filter, now)
		if err != nil {
			t.Fatal(err)
		}
		if f.keep("a", 1, now.Add(-tt.ago)) != tt.want || !f.keep("a", 1, time.Time{}) {
			t.Errorf("%+v, written %v ago: want %v", tt.filter, tt.ago, tt.want)
		}
	}
	if _, err := newFilter(jobs.Filter{MinAge: "2d", MaxAge: "1d"}, now); err == nil {
		t.Error("bounds that leave nothing are accepted")
	}
}

func entriesOf(t *testing.T, format, source, text string) []string {
	t.Helper()
	var out []string
	err := parseManifest(strings.NewReader(text), format, source, sitekey.OfProcess().Reader(), func(e jobs.Entry) error {
		out = append(out, fmt.Sprintf("%s|%d|%s", e.Key, e.Size, e.ETag))
		return nil
	})
	if err != nil {
		t.Fatalf("%s %q: %v", format, text, err)
	}
	return out
}

func TestManifestFormats(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("a.png,3,e\n"))
	z.Close()
	tests := []struct {
		name, format, source, text string
		want                       []string
	}{
		{"keys", CSV, "mem://s", "a.png\nb.png\n", []string{"a.png|-1|", "b.png|-1|"}},
		{"keys, sizes and etags", CSV, "mem://s", "a.png,5,\"\"\"abc\"\"\"\nb.png,,\n", []string{"a.png|5|abc", "b.png|-1|"}},
		{"quoted key", CSV, "mem://s", "\"a,1.png\",5,x", []string{"a,1.png|5|x"}},
		{"header", CSV, "mem://s", "ETag,Key,Size\nx,a.png,7\n", []string{"a.png|7|x"}},
		{"byte order mark", CSV, "mem://s", "\xef\xbb\xbfkey\na.png\n", []string{"a.png|-1|"}},
		{"gzip", CSV, "mem://s", zipped.String(), []string{"a.png|3|e"}},
		{"batch operations", Inventory, "s3://b", "b,a%20b%2B.png\nb,dir/c.png,versionid\n", []string{"a b+.png|-1|", "dir/c.png|-1|"}},
		{"inventory", Inventory, "s3://b", `"b","a.png","12","2024-01-02T03:04:05.000Z","abc"`, []string{"a.png|12|abc"}},
		{"inventory with a header", Inventory, "s3://b", "Bucket,Key,VersionId,IsLatest,IsDeleteMarker,Size,ETag\nb,a,v,true,false,1,x\nb,b,v,false,false,1,x\nb,c,v,true,true,,\n", []string{"a|1|x"}},
		{"inventory outside the prefix", Inventory, "s3://b/photos", "b,photos/a.png,1\nb,other/b.png,1\n", []string{"a.png|1|"}},
		{"json lines", JSONL, "mem://s", `{"key":"a","size":0,"etag":"x"}` + "\n\n" + `{"key":"b"}`, []string{"a|0|x", "b|-1|"}},
		{"results", JSONL, "mem://s", `{"key":"a","size":9,"etag":"x","outcome":"failed","class":"codec","seconds":{"read":1}}`, []string{"a|9|x"}},
		{"files from", FilesFrom, "mem://s", "# comment\n; another\n\n /a b.png \r\nc.png", []string{"a b.png|-1|", "c.png|-1|"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := entriesOf(t, tt.format, tt.source, tt.text); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSharedStemsGetFullNames(t *testing.T) {
	tests := []struct {
		keys    string // * before a key: of an earlier job
		collide string
	}{
		{"a.jpg b.jpg", ""},
		{"a.jpg a.png", "a.jpg a.png"},
		{"a.jpg a.png a.tif", "a.jpg a.png a.tif"},
		{"a a.jpg", "a a.jpg"},
		{"a.jpg a.k/x.png a.k/y.png a.png", "a.jpg a.png"},
		{"a.jpg a.jpg-1.png a.jpg.x.png a.png", "a.jpg a.png"},
		{"a.jpg a.jpg.png", "a.jpg.png"},
		{"d/a.jpg d/a.png e/a.jpg", "d/a.jpg d/a.png"},
		{".a .a.png", ".a .a.png"},
		{".jpg .png", ""},
		{"*a.jpg a.png", "a.png"},
		{"a.jpg *a.png", "a.jpg"},
		{"a.jpg *b.png c.png", ""},
		{"*a a.png", "a.png"},
		{"a.b.jpg a.jpg", ""},
		{"1.2.840.113619.5 1.2.840.113619.6", ""},
		{"1.2.840.113619.5 1.2.840.113619.5.dcm", "1.2.840.113619.5 1.2.840.113619.5.dcm"},
	}
	for _, tt := range tests {
		c := claims{extensions: jobs.Extensions{".vq"}}
		marked := map[int64]bool{}
		keys := strings.Fields(tt.keys)
		for i, key := range keys {
			line := int64(i)
			if k, ok := strings.CutPrefix(key, "*"); ok {
				key, line = k, earlierLine
			}
			c.next(key, line, nil, func(line int64) { marked[line] = true })
		}
		var got []string
		for i, key := range keys {
			if marked[int64(i)] {
				got = append(got, key)
			}
		}
		if strings.Join(got, " ") != tt.collide {
			t.Errorf("%s: %v collide, want %s", tt.keys, got, tt.collide)
		}
	}
}

// TestNamesAreUnique goes over all small sets of keys: no two results have one name,
// and none has the name of a folder of another.
func TestNamesAreUnique(t *testing.T) {
	pool := []string{"a", "a.5", "a.5.png", "a.png", "a.png.jpg", "a.jpg", "a.vq", "a.vq.png", "a.vq/b", "a.png.vq/b", "a/b.jpg", "a/b.dcm", "b", "b.vq"}
	slices.Sort(pool)
	target, err := storage.NewBuckets().Open(t.Context(), "mem://names")
	if err != nil {
		t.Fatal(err)
	}
	for set := range 1 << len(pool) {
		var keys []string
		c := claims{extensions: jobs.Extensions{".vq"}}
		f := objectStatus{folders: map[string]bool{}}
		for i, key := range pool {
			if set>>i&1 == 1 {
				f.noteFolders(key, jobs.Extensions{".vq"})
				c.next(key, int64(len(keys)), nil, func(line int64) { f.shared.set(line) })
				keys = append(keys, key)
			}
		}
		seen := map[string]string{}
		for i, key := range keys {
			e := jobs.Entry{Key: key}
			if err := f.target(&e, int64(i), jobs.Extensions{".vq"}, target); err != nil {
				t.Fatal(err)
			}
			if e.Bad != "" {
				continue
			}
			name := e.TargetKey(".vq")
			if other, ok := seen[name]; ok {
				t.Fatalf("%q: %s and %s are both written to %s", keys, other, key, name)
			}
			seen[name] = key
		}
		for name, key := range seen {
			for folder := name; strings.Contains(folder, "/"); {
				folder = folder[:strings.LastIndexByte(folder, '/')]
				if other, ok := seen[folder]; ok {
					t.Fatalf("%q: the result %s of %s is a folder of the result %s of %s", keys, folder, other, name, key)
				}
			}
		}
	}
}

func TestBreaker(t *testing.T) {
	tests := []struct {
		counts jobs.Counts
		min    int64
		ratio  float64
		want   bool
	}{
		{jobs.Counts{}, 0, 0.5, false},
		{jobs.Counts{Objects: 99, Failed: 99}, 100, 0.5, false},
		{jobs.Counts{Objects: 100, Failed: 50}, 100, 0.5, false},
		{jobs.Counts{Objects: 100, Failed: 50, Rejected: 1}, 100, 0.5, true},
		{jobs.Counts{Objects: 100, Unsupported: 100}, 100, 0.5, false},
		{jobs.Counts{Objects: 100, Failed: 100}, 100, 1, false},
	}
	for _, tt := range tests {
		spec := jobs.Spec{FailMin: tt.min, FailRatio: tt.ratio}
		if got := overFailureLimit(&spec, tt.counts); (got != "") != tt.want {
			t.Errorf("%+v with limit %v: %q", tt.counts, tt.ratio, got)
		}
	}
}

func TestChunkObjects(t *testing.T) {
	tests := []struct {
		todo  int64 // objects
		size  int64 // of each
		slots int
		est   *jobs.Estimate
		want  int
	}{
		{1_000_000, 10_000, 2, nil, 1000},
		{2000, 10_000, 2, nil, 250},
		{100, 10_000, 2, nil, 16},
		{10, 10_000, 2, nil, 5},
		{10, 10_000, 6, nil, 2},
		{10, 10_000, 20, nil, 1},
		{10, 8 << 20, 6, nil, 1},
		{100, 1 << 20, 6, nil, 5},
		{100, 3 << 20, 12, nil, 3},
		{100, 0, 2, nil, 16},
		{1000, 10_000, 0, nil, 1000},
		{1000, 10_000, 1, &jobs.Estimate{CoreSeconds: 10_000}, 6},
		{1000, 10_000, 1, &jobs.Estimate{CoreSeconds: 10_000_000}, 1},
		{1000, 10_000, 1, &jobs.Estimate{CoreSeconds: 1}, 250},
	}
	for _, tt := range tests {
		if got := chunkObjects(&jobs.Spec{ChunkObjects: 1000}, jobs.Work{Objects: tt.todo, Bytes: tt.todo * tt.size}, tt.slots, tt.est); got != tt.want {
			t.Errorf("%d objects of %d bytes, %d slots, %+v: %d, want %d", tt.todo, tt.size, tt.slots, tt.est, got, tt.want)
		}
	}
}

func TestStoresOnThisMachine(t *testing.T) {
	for _, test := range []struct {
		bucket, s3 string
		want       bool
	}{
		{"file:///srv/photos", "", true}, {"mem://a", "", true}, {"s3://a", "", false}, {"s3://a", "http://127.0.0.1:9000", true},
		{"s3://a?endpoint=http%3A%2F%2Flocalhost%3A9000", "http://far:9000", true}, {"s3://a?endpoint=http%3A%2F%2Ffar%3A9000", "http://[::1]:9000", false},
		{"gs://a", "http://127.0.0.1:9000", false}, {"s3://a", "http://minio:9000", false},
	} {
		if got := onThisMachine(test.bucket, test.s3); got != test.want {
			t.Errorf("%s with S3 at %q: %v", test.bucket, test.s3, got)
		}
	}
}

func TestTheLastChunksAreFiner(t *testing.T) {
	for _, size := range []int64{10_000, 10 << 20} { // chunks end by their objects, or by their bytes
		c := &chunkWriter{objects: 80, bytes: 200 << 20, todo: jobs.Work{Objects: 1000, Bytes: 1000 * size}, put: func(int, []byte) error { return nil }}
		for i := range 1000 {
			if err := c.add(jobs.Entry{Key: fmt.Sprint(i), Size: size}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(c.end(), c.endPart()); err != nil {
			t.Fatal(err)
		}
		first, last := c.chunks[0].Objects, 0
		for n, i := 0, len(c.chunks)-1; n < 99; i-- {
			n += c.chunks[i].Objects
			last = max(last, c.chunks[i].Objects)
		}
		if last > first/4+1 || first != int(min(80, 200<<20/size)) {
			t.Errorf("%d objects a chunk, %d in the last tenth", first, last)
		}
	}
}

// Three workers with two slots each have nothing to do when ten objects come.
func TestIdleWorkersShareFewObjects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 3 {
		r.worker.start(t, 2)
	}
	r.wait("three workers that have told of themselves", func() bool {
		workers, err := r.conn.Workers(r.ctx)
		return err == nil && len(workers) == 3
	})
	r.fill(10)
	r.run(r.scheduler(nil))
	spec := r.submit(nil)
	if report := r.ended(spec.ID); report.Counts.Compressed != 10 || report.Chunks < 5 {
		t.Errorf("%d chunks of %+v, want 5 or more", report.Chunks, report.Counts)
	}
}

func TestChunksAreCutByObjectsAndBytes(t *testing.T) {
	written := map[int][]byte{}
	c := &chunkWriter{objects: 3, bytes: 100, put: func(part int, data []byte) error {
		written[part] = bytes.Clone(data)
		return nil
	}}
	sizes := []int64{10, 10, 10, 10, 99, 1, 200, -1, 5}
	for i, size := range sizes {
		if err := c.add(jobs.Entry{Key: fmt.Sprint(i), Size: size}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(c.end(), c.endPart()); err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"0", "1", "2"}, {"3"}, {"4", "5"}, {"6"}, {"7", "8"}}
	if len(c.chunks) != len(want) {
		t.Fatalf("%d chunks, want %d: %+v", len(c.chunks), len(want), c.chunks)
	}
	for i, ch := range c.chunks {
		var got []string
		var weight int64
		err := storage.DecodeLines(written[ch.Part][ch.Offset:ch.Offset+ch.Length], func(e jobs.Entry) error {
			got = append(got, e.Key)
			weight += max(e.Size, 0)
			return nil
		})
		if err != nil || !slices.Equal(got, want[i]) || ch.Objects != len(want[i]) || ch.Bytes != weight {
			t.Errorf("chunk %d: %q %+v (%v), want %q", i, got, ch, err, want[i])
		}
	}
}

func TestPickSpreadsEvenly(t *testing.T) {
	all := func(_ context.Context, fn func(jobs.Entry) error) error {
		for i := range 100 {
			if err := fn(jobs.Entry{Key: fmt.Sprint(i)}); err != nil {
				return err
			}
		}
		return nil
	}
	tests := []struct {
		n    int
		odd  bool // leave out even lines
		want []string
	}{
		{1, false, []string{"50"}},
		{4, false, []string{"12", "37", "62", "87"}},
		{2, true, []string{"25", "75"}},
	}
	for _, tt := range tests {
		var got []string
		total := int64(100)
		if tt.odd {
			total = 50
		}
		err := pick(t.Context(), all, total, tt.n, func(line int64) bool { return tt.odd && line%2 == 0 }, func(e jobs.Entry) (bool, error) {
			got = append(got, e.Key)
			return true, nil
		})
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%d of 100: %v (%v), want %v", tt.n, got, err, tt.want)
		}
	}
	n := 0
	if err := pick(t.Context(), all, 100, 1000, func(int64) bool { return false }, func(jobs.Entry) (bool, error) { n++; return true, nil }); err != nil || n != 100 {
		t.Errorf("more than there are: %d (%v)", n, err)
	}
}

func TestValidRecord(t *testing.T) {
	e := jobs.Entry{Key: "a.png", Size: 5, ETag: "e"}
	spec := jobs.Spec{Codec: "x", Version: 1}
	rec := func(o jobs.Outcome, fp, target string) record {
		r := record{Outcome: o, Fingerprint: fp, Target: target}
		if fp == "f" {
			r.Fingerprint = spec.Fingerprint(e)
		}
		return r
	}
	judged := func(o jobs.Outcome, target string) record {
		return record{Outcome: o, Verdict: spec.Verdict(e), Target: target}
	}
	tests := []struct {
		name    string
		records []record // newest first
		copies  bool
		want    string // target, "none" or ""
	}{
		{"compressed", []record{rec(jobs.OutcomeCompressed, "f", "a.x")}, false, "a.x"},
		{"other fingerprint", []record{rec(jobs.OutcomeCompressed, "g", "a.x")}, false, "none"},
		{"failed", []record{rec(jobs.OutcomeFailed, "f", "")}, false, "none"},
		{"failed later", []record{rec(jobs.OutcomeFailed, "f", ""), rec(jobs.OutcomeCompressed, "f", "a.x")}, false, "a.x"},
		{"replaced by other options", []record{rec(jobs.OutcomeCompressed, "g", "a.x"), rec(jobs.OutcomeCompressed, "f", "a.x")}, false, "none"},
		{"beside another codec", []record{rec(jobs.OutcomeCompressed, "g", "a.y"), rec(jobs.OutcomeCompressed, "f", "a.x")}, false, "a.x"},
		{"kept", []record{rec(jobs.OutcomeKept, "f", "")}, false, ""},
		{"kept, to be copied now", []record{rec(jobs.OutcomeKept, "f", "")}, true, "none"},
		{"kept and copied", []record{rec(jobs.OutcomeKept, "f", "a.png")}, true, "a.png"},
		{"unsupported", []record{judged(jobs.OutcomeUnsupported, "")}, false, ""},
		{"rejected, to be copied now", []record{judged(jobs.OutcomeRejected, "")}, true, "none"},
		{"rejected and copied", []record{judged(jobs.OutcomeRejected, "a.png")}, true, "a.png"},
		{"rejected without a verdict, as earlier versions recorded it", []record{{Outcome: jobs.OutcomeRejected}}, false, "none"},
		{"with a verdict and a result since", []record{rec(jobs.OutcomeCompressed, "f", "a.x"), judged(jobs.OutcomeRejected, "")}, false, "a.x"},
	}
	for _, tt := range tests {
		asked := spec
		if tt.copies {
			asked.Larger, asked.Others = "copy", "copy"
		}
		r, ok := valid(tt.records, &asked, e)
		got := r.Target
		if !ok {
			got = "none"
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for name, change := range map[string]func(*jobs.Spec){
		"other limits":       func(s *jobs.Spec) { s.Limits.Side = 7 },
		"newer readers":      func(s *jobs.Spec) { s.Readers++ },
		"other options":      func(s *jobs.Spec) { s.Options = "n=16" },
		"asked for it again": func(s *jobs.Spec) { s.Again = []jobs.Outcome{jobs.OutcomeRejected} },
	} {
		asked := spec
		change(&asked)
		if r, ok := valid([]record{judged(jobs.OutcomeRejected, "")}, &asked, e); ok {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestInOrder(t *testing.T) { synctest.Test(t, inOrderUsesEachInItsTurn) }

func inOrderUsesEachInItsTurn(t *testing.T) {
	for _, n := range []int{0, 1, readers - 1, readers, readers + 1, 100} {
		next := 0
		err := inOrder(t.Context(), n, func(_ context.Context, i int) (int, error) {
			time.Sleep(time.Duration(i%3) * time.Millisecond)
			return i, nil
		}, func(i, v int) error {
			if i != next || v != i {
				t.Fatalf("got %d as %d, want %d", v, i, next)
			}
			next++
			return nil
		})
		if err != nil || next != n {
			t.Errorf("%d of %d (%v)", next, n, err)
		}
	}
	boom := errors.New("boom")
	err := inOrder(t.Context(), 100, func(ctx context.Context, i int) (int, error) {
		if i == 20 {
			return 0, boom
		}
		return i, nil
	}, func(i, _ int) error {
		if i >= 20 {
			t.Errorf("%d was used after an error", i)
		}
		return nil
	})
	if err != boom {
		t.Errorf("error %v", err)
	}
}

func TestCountDone(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 1000} {
		done := queue.NewBitmap(n)
		for i := 0; i < n; i += 3 {
			queue.SetBit(done, i)
		}
		if got, want := countDone(done), (n+2)/3; got != want {
			t.Errorf("%d chunks: %d done, want %d", n, got, want)
		}
	}
}

func TestFullness(t *testing.T) {
	for _, tt := range []struct {
		used, limit int64
		full        bool
	}{{100, 0, false}, {70, 100, false}, {71, 100, true}, {0, 100, false}} {
		if got := fullness(tt.used, tt.limit); (got != "") != tt.full {
			t.Errorf("%d of %d: %q", tt.used, tt.limit, got)
		}
	}
}
