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
		{"replace one version only", replaceVersion},
		{"one winner among those who replace one version", raceReplace},
		{"delete one version only", deleteVersion},
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
		if n := len(p.Objects); opts != nil && opts.PageSize > 0 && n > opts.PageSize {
			t.Errorf("a page has %d objects, want %d at most", n, opts.PageSize)
		}
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
		sum := md5.Sum(data)
		if r.Existed || r.Size != int64(size) || r.MD5 != nil && !bytes.Equal(r.MD5, sum[:]) || (r.MD5 == nil) != (b.Kind() == "file") || len(r.SHA256) != 32 || r.ETag == "" {
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
// match is the ETag of the version that they replace; empty: they create.
func (s *suite) race(clients []*storage.Bucket, key, match string, content func(i int) []byte) []error {
	errs := make([]error, len(clients))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, b := range clients {
		wg.Go(func() {
			<-start
			_, errs[i] = storage.Put(s.ctx, b, key, content(i), &storage.PutOptions{Metadata: owner(i), IfMatch: match})
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// owner is the metadata of a client's objects.
func owner(i int) map[string]string { return map[string]string{"owner": fmt.Sprintf("client-%d", i)} }

// oneWinner lets all clients write and wants one to succeed and the others to learn whose object is there.
func (s *suite) oneWinner(t *testing.T, clients []*storage.Bucket, key, match string, content func(i int) []byte) {
	t.Helper()
	winner := -1
	var found []*storage.ExistsError
	for i, err := range s.race(clients, key, match, content) {
		var exists *storage.ExistsError
		if errors.As(err, &exists) {
			found = append(found, exists)
		}
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
	for _, e := range found {
		if e.Object.Size != int64(len(content(winner))) || s.Metadata && e.Metadata["owner"] != owner(winner)["owner"] {
			t.Fatalf("%s: a loser found %d bytes, metadata %v; want those of client %d", key, e.Object.Size, e.Metadata, winner)
		}
	}
}

func raceDifferent(t *testing.T, s *suite) {
	clients := s.clients(t, 6)
	for k := range 25 {
		s.oneWinner(t, clients, fmt.Sprintf("k/%d", k), "", func(i int) []byte { return noise(byte(i), 2000+i%2) })
	}
}

func raceEqual(t *testing.T, s *suite) {
	clients := s.clients(t, 6)
	for k := range 15 {
		key := fmt.Sprintf("k/%d", k)
		for i, err := range s.race(clients, key, "", func(int) []byte { return noise(byte(k), 3000) }) {
			if err != nil {
				t.Fatalf("%s: writer %d: %v", key, i, err)
			}
		}
	}
}

func raceLarge(t *testing.T, s *suite) {
	contents := [][]byte{noise(0, 17<<20), noise(1, 17<<20), noise(2, 18<<20)}
	s.oneWinner(t, s.clients(t, len(contents)), "large", "", func(i int) []byte { return contents[i] })
}

// replaceVersion: with IfMatch Put replaces what was looked at and nothing that came later.
func replaceVersion(t *testing.T, s *suite) {
	b := s.fresh(t)
	for i, size := range []int{2000, 17 << 20} {
		key := fmt.Sprintf("%d", size)
		version := func(v int) []byte { return noise(byte(10*i+v), size) }
		replace := func(v int, etag string) (storage.PutResult, error) {
			return storage.Put(s.ctx, b, key, version(v), &storage.PutOptions{IfMatch: etag, Metadata: owner(v)})
		}
		first := s.put(t, b, key, version(0), &storage.PutOptions{Metadata: owner(0)})
		second, err := replace(1, first.ETag)
		if err != nil || second.Existed || second.ETag == first.ETag {
			t.Fatalf("%d bytes: the version that is there: %+v, %v", size, second, err)
		}
		var exists *storage.ExistsError
		if _, err := replace(2, first.ETag); !errors.As(err, &exists) {
			t.Fatalf("%d bytes: a version that is gone: %v, want *ExistsError", size, err)
		}
		if exists.Object.ETag != second.ETag || s.Metadata && exists.Metadata["owner"] != "client-1" {
			t.Errorf("%d bytes: ExistsError is %+v, want the second version's", size, exists)
		}
		if !bytes.Equal(s.get(t, b, key), version(1)) {
			t.Errorf("%d bytes: the later version was replaced", size)
		}
		again, err := replace(1, first.ETag)
		if err != nil || !again.Existed || again.ETag != second.ETag || s.Metadata && again.Metadata["owner"] != "client-1" {
			t.Errorf("%d bytes: the same bytes once more: %+v, %v", size, again, err)
		}
		if err := storage.Delete(s.ctx, b, key); err != nil {
			t.Fatal(err)
		}
		if r, err := replace(3, second.ETag); err != nil || r.Existed || !bytes.Equal(s.get(t, b, key), version(3)) {
			t.Errorf("%d bytes: an object that is gone: %+v, %v, want it created", size, r, err)
		}
	}
}

// deleteVersion: what was looked at is deleted and nothing that came later.
func deleteVersion(t *testing.T, s *suite) {
	b := s.fresh(t)
	for _, key := range []string{"a.bin", "folder/b c#%é.bin"} {
		first := s.put(t, b, key, noise(1, 2000), nil)
		second := s.put(t, b, key, noise(2, 2000), &storage.PutOptions{IfMatch: first.ETag, Metadata: owner(1)})
		var exists *storage.ExistsError
		if err := storage.DeleteVersion(s.ctx, b, storage.Object{Key: key, ETag: first.ETag}); !errors.As(err, &exists) {
			t.Fatalf("%s: a version that is gone: %v, want *ExistsError", key, err)
		}
		if exists.Object.ETag != second.ETag || s.Metadata && exists.Metadata["owner"] != "client-1" {
			t.Errorf("%s: ExistsError is %+v, want the second version's", key, exists)
		}
		if !bytes.Equal(s.get(t, b, key), noise(2, 2000)) {
			t.Fatalf("%s: the later version was deleted", key)
		}
		for _, state := range []string{"there", "gone"} {
			if err := storage.DeleteVersion(s.ctx, b, storage.Object{Key: key, ETag: second.ETag}); err != nil {
				t.Errorf("%s: the version that is %s: %v", key, state, err)
			}
			if _, _, err := storage.Stat(s.ctx, b, key); !storage.IsNotExist(err) {
				t.Errorf("%s: after the deletion: %v, want none", key, err)
			}
		}
	}
}

func raceReplace(t *testing.T, s *suite) {
	clients := s.clients(t, 6)
	for k := range 15 {
		key := fmt.Sprintf("k/%d", k)
		old := s.put(t, clients[0], key, noise(100, 2000), nil)
		s.oneWinner(t, clients, key, old.ETag, func(i int) []byte { return noise(byte(i), 2000) })
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
