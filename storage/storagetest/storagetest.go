// Package storagetest is the conformance suite of storage: what the rest of pelmill relies on, checked against a real
// store. [Run] is called once for each kind of bucket.
package storagetest

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/storage"
)

// Store is what the suite needs to know of the kind under test.
type Store struct {
	// URL returns the URL of a bucket that does not hold any object, another one at each call.
	URL func(t *testing.T) string
	// Missing is the URL of a bucket that does not exist; empty if the kind has no such thing.
	Missing string
	// Metadata tells whether objects carry metadata.
	Metadata bool
	// Skip gives reasons for not running subtests, by name: what the server, not storage, does wrong.
	Skip map[string]string
}

// Run runs the whole suite.
func Run(t *testing.T, s Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"round trip", roundTrip},
		{"create only", createOnly},
		{"overwrite", overwrite},
		{"metadata", metadata},
		{"one winner among different writers", raceDifferent},
		{"equal writers all succeed", raceEqual},
		{"one winner of large objects", raceLarge},
		{"odd keys", oddKeys},
		{"prefix is part of the bucket", prefix},
		{"listing order and markers", listing},
		{"listing continues elsewhere", tokens},
		{"listing agrees with stat and get", agreement},
		{"get within limits", limits},
		{"get notices change", change},
		{"ranges", ranges},
		{"missing object", missing},
		{"missing bucket", missingBucket},
		{"cancelled upload leaves nothing", cancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			if reason := s.Skip[test.name]; reason != "" {
				t.Skipf("NOT TESTED on this server: %s", reason)
			}
			u := &suite{Store: s, ctx: t.Context()}
			test.run(t, u)
		})
	}
}

type suite struct {
	Store
	ctx context.Context
}

// open returns a bucket that no other client of the test shares.
func (s *suite) open(t *testing.T, url string) *storage.Bucket {
	t.Helper()
	bs := storage.NewBuckets()
	t.Cleanup(func() { bs.Close() })
	b, err := bs.Open(s.ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// clients returns n views of one empty bucket, as different processes would have them; memory has one process only.
func (s *suite) clients(t *testing.T, n int) []*storage.Bucket {
	t.Helper()
	url := s.URL(t)
	list := []*storage.Bucket{s.open(t, url)}
	for len(list) < n {
		if list[0].Kind() == "mem" {
			list = append(list, list[0])
		} else {
			list = append(list, s.open(t, url))
		}
	}
	return list
}

func (s *suite) fresh(t *testing.T) *storage.Bucket { return s.clients(t, 1)[0] }

func (s *suite) put(t *testing.T, b *storage.Bucket, key string, data []byte, opts *storage.PutOptions) storage.PutResult {
	t.Helper()
	r, err := storage.Put(s.ctx, b, key, data, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *suite) get(t *testing.T, b *storage.Bucket, key string) []byte {
	t.Helper()
	g, err := storage.Get(s.ctx, b, key, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g.Data
}

func (s *suite) list(t *testing.T, b *storage.Bucket, opts *storage.WalkOptions) []storage.Object {
	t.Helper()
	var all []storage.Object
	if err := storage.Walk(s.ctx, b, opts, func(p storage.Page) error {
		all = append(all, p.Objects...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func (s *suite) keys(t *testing.T, b *storage.Bucket, opts *storage.WalkOptions) []string {
	t.Helper()
	keys := []string{}
	for _, o := range s.list(t, b, opts) {
		keys = append(keys, o.Key)
	}
	return keys
}

func noise(seed byte, n int) []byte {
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(data)
	return data
}

func roundTrip(t *testing.T, s *suite) {
	b := s.fresh(t)
	for i, size := range []int{0, 1, 1000, 1 << 20, 20 << 20} {
		key := fmt.Sprintf("size/%d.bin", size)
		data := noise(byte(i), size)
		r := s.put(t, b, key, data, nil)
		if sum := md5.Sum(data); r.Existed || r.Size != int64(size) || !bytes.Equal(r.MD5, sum[:]) || len(r.SHA256) != 32 || r.ETag == "" {
			t.Errorf("%d bytes: Put says %+v", size, r)
		}
		g, err := storage.Get(s.ctx, b, key, int64(size), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(g.Data, data) || g.Size != int64(size) || g.ETag != r.ETag {
			t.Errorf("%d bytes: Get says %d bytes, etag %q, Put said %q", size, g.Size, g.ETag, r.ETag)
		}
	}
}

func createOnly(t *testing.T, s *suite) {
	b := s.fresh(t)
	for _, size := range []int{5, 20 << 20} {
		key := fmt.Sprintf("%d", size)
		data := noise(1, size)
		first := s.put(t, b, key, data, &storage.PutOptions{Metadata: map[string]string{"owner": "me"}})
		again := s.put(t, b, key, data, nil)
		if !again.Existed || again.ETag != first.ETag {
			t.Errorf("%d bytes: same bytes again: %+v, first %+v", size, again, first)
		}
		for _, other := range [][]byte{noise(2, size), noise(1, size-1), nil} {
			_, err := storage.Put(s.ctx, b, key, other, nil)
			var exists *storage.ExistsError
			if !errors.As(err, &exists) {
				t.Fatalf("%d other bytes: %v, want *ExistsError", len(other), err)
			}
			if exists.Key != key || exists.Object.Size != int64(size) || s.Metadata && exists.Metadata["owner"] != "me" {
				t.Errorf("ExistsError is %+v", exists)
			}
		}
		if !bytes.Equal(s.get(t, b, key), data) {
			t.Errorf("%d bytes: object was changed", size)
		}
	}
}

func overwrite(t *testing.T, s *suite) {
	b := s.fresh(t)
	for i, text := range []string{"one", "three", "", "two"} {
		r := s.put(t, b, "dir/key", []byte(text), &storage.PutOptions{Overwrite: true})
		if got := s.get(t, b, "dir/key"); string(got) != text || r.Existed {
			t.Errorf("write %d: got %q, want %q; %+v", i, got, text, r)
		}
	}
}

func metadata(t *testing.T, s *suite) {
	b := s.fresh(t)
	want := map[string]string{"pelmill_fingerprint": "0123abc", "pelmill_source_etag": "d41d8-3"}
	s.put(t, b, "m", []byte("x"), &storage.PutOptions{Metadata: want, ContentType: "image/png"})
	_, got, err := storage.Stat(s.ctx, b, "m")
	if err != nil {
		t.Fatal(err)
	}
	if !s.Metadata {
		if len(got) != 0 {
			t.Errorf("a kind without metadata has %v", got)
		}
		return
	}
	if len(got["sha256"]) != 64 {
		t.Errorf("no SHA-256 in metadata %v", got)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %q, want %q", k, got[k], v)
		}
	}
}

// race lets every client write its own content and returns the errors, by client.
func (s *suite) race(clients []*storage.Bucket, key string, content func(i int) []byte) []error {
	errs := make([]error, len(clients))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, b := range clients {
		wg.Go(func() {
			<-start
			_, errs[i] = storage.Put(s.ctx, b, key, content(i), nil)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

func (s *suite) oneWinner(t *testing.T, clients []*storage.Bucket, key string, content func(i int) []byte) {
	t.Helper()
	winner := -1
	for i, err := range s.race(clients, key, content) {
		var exists *storage.ExistsError
		switch {
		case err == nil && winner >= 0:
			t.Fatalf("%s: writers %d and %d both won", key, winner, i)
		case err == nil:
			winner = i
		case !errors.As(err, &exists):
			t.Fatalf("%s: writer %d: %v", key, i, err)
		}
	}
	if winner < 0 {
		t.Fatalf("%s: nobody won", key)
	}
	if !bytes.Equal(s.get(t, clients[0], key), content(winner)) {
		t.Fatalf("%s: content is not the winner's", key)
	}
}

func raceDifferent(t *testing.T, s *suite) {
	clients := s.clients(t, 6)
	for k := range 25 {
		s.oneWinner(t, clients, fmt.Sprintf("k/%d", k), func(i int) []byte { return noise(byte(i), 2000+i%2) })
	}
}

func raceEqual(t *testing.T, s *suite) {
	clients := s.clients(t, 6)
	for k := range 15 {
		key := fmt.Sprintf("k/%d", k)
		for i, err := range s.race(clients, key, func(int) []byte { return noise(byte(k), 3000) }) {
			if err != nil {
				t.Fatalf("%s: writer %d: %v", key, i, err)
			}
		}
	}
}

func raceLarge(t *testing.T, s *suite) {
	contents := [][]byte{noise(0, 17<<20), noise(1, 17<<20), noise(2, 18<<20)}
	s.oneWinner(t, s.clients(t, len(contents)), "large", func(i int) []byte { return contents[i] })
}

// OddKeys are names that real folders and buckets have.
var OddKeys = []string{
	"plain.png", "with space.png", " leading and trailing ", "a#b?c=d&e;f.png", "100%.png", "%2F%20.png", "a+b.png", "ü/日本語/🙂.png",
	"e\u0301 is not \u00e9.png", "quote'\"`$(x).png", "[a]{b}*!.png", "~tilde", "-dash", ".hidden", "..two", "dots.../x", "a:b|c<d>.png", "comma,semi;colon=.png",
	"under__0x2f__score", "UPPER.png", "upper.png", strings.Repeat("long", 50) + "/" + strings.Repeat("name", 50) + ".png",
}

func oddKeys(t *testing.T, s *suite) {
	b := s.fresh(t)
	for _, key := range OddKeys {
		s.put(t, b, key, []byte(key), nil)
	}
	for _, key := range OddKeys {
		if got := s.get(t, b, key); string(got) != key {
			t.Errorf("%q holds %q", key, got)
		}
	}
	want := slices.Clone(OddKeys)
	slices.Sort(want)
	if got := s.keys(t, b, nil); !slices.Equal(got, want) {
		t.Errorf("listing is\n%q, want\n%q", got, want)
	}
	for _, key := range OddKeys {
		if got := s.keys(t, b, &storage.WalkOptions{Prefix: key}); len(got) == 0 || got[0] != key {
			t.Errorf("listing of prefix %q is %q", key, got)
		}
		if err := storage.Delete(s.ctx, b, key); err != nil {
			t.Error(err)
		}
	}
	if got := s.keys(t, b, nil); len(got) != 0 {
		t.Errorf("left after Delete: %q", got)
	}
}

// withPrefix puts a path behind the bucket's name of a URL.
func withPrefix(url, prefix string) string {
	base, query, ok := strings.Cut(url, "?")
	if ok {
		query = "?" + query
	}
	return strings.TrimSuffix(base, "/") + "/" + prefix + query
}

func prefix(t *testing.T, s *suite) {
	url := s.URL(t)
	bs := storage.NewBuckets()
	defer bs.Close()
	open := func(url string) *storage.Bucket {
		b, err := bs.Open(s.ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	whole, part := open(url), open(withPrefix(url, "in/side"))
	s.put(t, part, "a.png", []byte("1"), nil)
	s.put(t, part, "b/c.png", []byte("2"), nil)
	s.put(t, part, ".pelmill/jobs/x", []byte("4"), nil)
	s.put(t, whole, "in/sideways.png", []byte("3"), nil)
	for _, c := range []struct {
		b    *storage.Bucket
		opts *storage.WalkOptions
		want []string
	}{
		{whole, nil, []string{"in/side/.pelmill/jobs/x", "in/side/a.png", "in/side/b/c.png", "in/sideways.png"}},
		{part, nil, []string{"a.png", "b/c.png"}},
		{part, &storage.WalkOptions{StartAfter: "a.png"}, []string{"b/c.png"}},
		{part, &storage.WalkOptions{Prefix: "b/"}, []string{"b/c.png"}},
		{part, &storage.WalkOptions{Prefix: ".pelmill/jobs/"}, []string{".pelmill/jobs/x"}},
	} {
		if got := s.keys(t, c.b, c.opts); !slices.Equal(got, c.want) {
			t.Errorf("%s with %+v lists %q, want %q", c.b.URL, c.opts, got, c.want)
		}
	}
	if got := s.get(t, whole, "in/side/b/c.png"); string(got) != "2" {
		t.Errorf("got %q", got)
	}
	if open(withPrefix(url, "in/side/")) != part {
		t.Error("the same URL with a slash at the end is opened twice")
	}
}

func listing(t *testing.T, s *suite) {
	b := s.fresh(t)
	want := []string{"A.png", "a!/x", "a-.png", "a.png", "a/b.png", "a/b/c.png", "a/b0", "a0.png", "b", "b.d/e", "b/c", "ü.png", "日.png"}
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(want)) {
		if key := want[i]; key != "b" { // a folder cannot hold file b and folder b
			s.put(t, b, key, []byte(key), nil)
		}
	}
	want = slices.DeleteFunc(want, func(k string) bool { return k == "b" })
	for _, own := range []string{".pelmill/jobs/1/spec.json", ".pelmill/x"} {
		s.put(t, b, own, []byte("own"), nil)
	}
	if b.Kind() != "file" {
		if err := b.WriteAll(s.ctx, "marker/", nil, nil); err != nil {
			t.Logf("store takes no directory marker: %v", err)
		}
	}
	cases := []struct {
		opts storage.WalkOptions
		want []string
	}{
		{storage.WalkOptions{}, want},
		{storage.WalkOptions{Prefix: "a"}, want[1:8]},
		{storage.WalkOptions{Prefix: "a/"}, want[4:7]},
		{storage.WalkOptions{Prefix: "a/b"}, want[4:7]},
		{storage.WalkOptions{Prefix: "a/b/"}, want[5:6]},
		{storage.WalkOptions{Prefix: "nothing/"}, []string{}},
		{storage.WalkOptions{Prefix: ".pelmill/"}, []string{".pelmill/jobs/1/spec.json", ".pelmill/x"}},
		{storage.WalkOptions{Prefix: "a", StartAfter: "a/b.png"}, want[5:8]},
	}
	for i := range want {
		cases = append(cases, struct {
			opts storage.WalkOptions
			want []string
		}{storage.WalkOptions{StartAfter: want[i]}, want[i+1:]})
	}
	cases = append(cases, struct {
		opts storage.WalkOptions
		want []string
	}{storage.WalkOptions{StartAfter: "a/"}, want[4:]})
	for _, c := range cases {
		if got := s.keys(t, b, &c.opts); !slices.Equal(got, c.want) {
			t.Errorf("%+v lists\n%q, want\n%q", c.opts, got, c.want)
		}
	}
}

func tokens(t *testing.T, s *suite) {
	url := s.URL(t)
	b := s.open(t, url)
	const n = 2105
	var wg sync.WaitGroup
	var want []string
	work := make(chan string)
	for range 8 {
		wg.Go(func() {
			for key := range work {
				if _, err := storage.Put(s.ctx, b, key, []byte(key), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range n {
		key := fmt.Sprintf("d%d/%05d.png", i/700, i)
		want = append(want, key)
		work <- key
	}
	close(work)
	wg.Wait()

	// Another process takes over after every page, with the token only.
	stop := errors.New("stop here")
	var got []string
	var token []byte
	pages := 0
	for {
		c := b
		if b.Kind() != "mem" {
			c = s.open(t, url)
		}
		called := false
		err := storage.Walk(s.ctx, c, &storage.WalkOptions{Token: token}, func(p storage.Page) error {
			called = true
			for _, o := range p.Objects {
				got = append(got, o.Key)
			}
			if len(p.Objects) > 1000 {
				t.Errorf("page of %d objects", len(p.Objects))
			}
			token = p.Token
			return stop
		})
		if !called && err == nil {
			break
		}
		if err != stop {
			t.Fatalf("page %d: %v", pages, err)
		}
		if pages++; pages > 10 {
			t.Fatal("listing does not end")
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d keys in %d pages, want %d in order", len(got), pages, n)
	}
	got = nil
	if err := storage.Walk(s.ctx, b, &storage.WalkOptions{StartAfter: want[1499]}, func(p storage.Page) error {
		for _, o := range p.Objects {
			got = append(got, o.Key)
		}
		return nil
	}); err != nil || !slices.Equal(got, want[1500:]) {
		t.Errorf("from the middle: %d keys, want %d; %v", len(got), n-1500, err)
	}
}

func agreement(t *testing.T, s *suite) {
	b := s.fresh(t)
	for i, size := range []int{0, 10, 100000, 17 << 20} {
		s.put(t, b, fmt.Sprintf("%d.bin", i), noise(byte(i), size), nil)
	}
	for _, o := range s.list(t, b, nil) {
		st, _, err := storage.Stat(s.ctx, b, o.Key)
		if err != nil {
			t.Fatal(err)
		}
		if st.Key != o.Key || st.Size != o.Size || st.ETag != o.ETag || o.ETag == "" || o.MD5 != nil && !bytes.Equal(o.MD5, st.MD5) ||
			!st.ModTime.Truncate(time.Second).Equal(o.ModTime.Truncate(time.Second)) {
			t.Errorf("listed\n%+v, stat says\n%+v", o, st)
		}
		if _, err := storage.Get(s.ctx, b, o.Key, -1, &o); err != nil {
			t.Errorf("get of what was listed: %v", err)
		}
		if _, err := storage.Get(s.ctx, b, o.Key, -1, &storage.Object{ModTime: o.ModTime}); err != nil {
			t.Errorf("get with the listed time: %v", err)
		}
	}
}

func limits(t *testing.T, s *suite) {
	b := s.fresh(t)
	s.put(t, b, "k", noise(1, 1000), nil)
	for _, limit := range []int64{0, 999} {
		_, err := storage.Get(s.ctx, b, "k", limit, nil)
		var large *storage.TooLargeError
		if !errors.As(err, &large) || large.Size != 1000 || large.Limit != limit {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	if g, err := storage.Get(s.ctx, b, "k", 1000, nil); err != nil || len(g.Data) != 1000 {
		t.Error(err)
	}
}

func change(t *testing.T, s *suite) {
	b := s.fresh(t)
	s.put(t, b, "k", []byte("before"), nil)
	was := s.list(t, b, nil)[0]
	time.Sleep(10 * time.Millisecond) // a file's time may have the grain of a clock tick
	s.put(t, b, "k", []byte("after!"), &storage.PutOptions{Overwrite: true})
	for _, want := range []storage.Object{was, {ETag: was.ETag}, {Size: 7}, {ModTime: was.ModTime.Add(-time.Hour)}} {
		if _, err := storage.Get(s.ctx, b, "k", -1, &want); !errors.Is(err, storage.ErrChanged) || storage.Temporary(err) {
			t.Errorf("want %+v: %v, want ErrChanged", want, err)
		}
	}
	if g, err := storage.Get(s.ctx, b, "k", -1, &storage.Object{Size: 6}); err != nil || string(g.Data) != "after!" {
		t.Errorf("%q, %v", g.Data, err)
	}
}

func ranges(t *testing.T, s *suite) {
	b := s.fresh(t)
	data := noise(1, 10000)
	s.put(t, b, "k", data, nil)
	for _, r := range [][2]int64{{0, 1}, {0, 10000}, {9999, 1}, {1234, 4321}} {
		got, err := storage.GetRange(s.ctx, b, "k", r[0], r[1])
		if err != nil || !bytes.Equal(got, data[r[0]:r[0]+r[1]]) {
			t.Errorf("%d+%d: %d bytes, %v", r[0], r[1], len(got), err)
		}
	}
	for _, r := range [][2]int64{{0, 10001}, {9999, 2}, {20000, 1}} {
		if got, err := storage.GetRange(s.ctx, b, "k", r[0], r[1]); err == nil {
			t.Errorf("%d+%d gives %d bytes, want an error", r[0], r[1], len(got))
		}
	}
}

func missing(t *testing.T, s *suite) {
	b := s.fresh(t)
	s.put(t, b, "there", nil, nil)
	_, getErr := storage.Get(s.ctx, b, "not/there", -1, nil)
	_, _, statErr := storage.Stat(s.ctx, b, "not/there")
	_, rangeErr := storage.GetRange(s.ctx, b, "not/there", 0, 1)
	for what, err := range map[string]error{"get": getErr, "stat": statErr, "range": rangeErr} {
		if !storage.IsNotExist(err) || storage.Temporary(err) || storage.Unreachable(err) {
			t.Errorf("%s: %v, want IsNotExist only", what, err)
		}
	}
	if err := storage.Delete(s.ctx, b, "not/there"); err != nil {
		t.Errorf("delete: %v", err)
	}
}

func missingBucket(t *testing.T, s *suite) {
	if s.Missing == "" {
		t.Skip("this kind has no buckets that may be missing")
	}
	b := s.open(t, s.Missing)
	walkErr := storage.Walk(s.ctx, b, nil, func(storage.Page) error { return nil })
	_, getErr := storage.Get(s.ctx, b, "k", -1, nil)
	for what, err := range map[string]error{"walk": walkErr, "get": getErr} {
		if !storage.IsNotExist(err) && !storage.Unreachable(err) || storage.Temporary(err) {
			t.Errorf("%s: %v, want IsNotExist or Unreachable", what, err)
		}
	}
}

func cancelled(t *testing.T, s *suite) {
	b := s.fresh(t)
	data := noise(1, 20<<20)
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := storage.Put(ctx, b, "never", data, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("before the start: %v", err)
	}
	for i, delay := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond} {
		key := fmt.Sprintf("k%d", i)
		ctx, cancel := context.WithTimeout(s.ctx, delay)
		_, err := storage.Put(ctx, b, key, data, nil)
		cancel()
		got, gerr := storage.Get(s.ctx, b, key, -1, nil)
		switch {
		case storage.IsNotExist(gerr):
			if err == nil {
				t.Errorf("%s: success, but no object", key)
			}
		case gerr != nil:
			t.Errorf("%s: %v", key, gerr)
		case !bytes.Equal(got.Data, data):
			t.Errorf("%s: half an object: %d bytes; put: %v", key, len(got.Data), err)
		}
	}
	if got := s.keys(t, b, &storage.WalkOptions{Prefix: ".pelmill/tmp"}); len(got) != 0 {
		t.Errorf("temporary files are listed: %q", got)
	}
	if got := s.keys(t, b, &storage.WalkOptions{Prefix: "never"}); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}
