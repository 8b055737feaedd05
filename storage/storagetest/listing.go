package storagetest

import (
	"bytes"
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
	for _, size := range []int{1, 2, 5, len(want)} {
		cases = append(cases, struct {
			opts storage.WalkOptions
			want []string
		}{storage.WalkOptions{PageSize: size}, want})
	}
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
