package storage_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/storage"
)

// TestS3BehindABadNetwork writes, reads and lists through a proxy that fails a third of all calls in every way it
// knows; what comes out must be right, and what is stored too.
func TestS3BehindABadNetwork(t *testing.T) {
	const objects = 200
	s := services.VersityGW(t)
	s.NewBucket("bad")
	proxy := faults.NewProxy(t, s.Endpoint)
	bs := storage.NewBuckets()
	defer bs.Close()
	bs.Retry = storage.Retry{Attempts: 12, Initial: 5 * time.Millisecond, Max: 50 * time.Millisecond}
	b, err := bs.Open(t.Context(), services.S3URL(proxy.URL, "bad"))
	if err != nil {
		t.Fatal(err)
	}
	lists := func(c faults.Call) bool { return c.Method == http.MethodGet && c.Key == "" }
	rules := []faults.Rule{
		{Fault: faults.Refuse, Share: 0.2},
		{Fault: faults.DropWrite, Share: 0.1, Match: faults.Writes},
		{Fault: faults.DropAnswer, Share: 0.1},
		{Fault: faults.FlipBit, Share: 0.1, Match: faults.Reads},
		{Fault: faults.FlipBit, Share: 0.1, Match: faults.Reads, Bare: true},
		{Fault: faults.CutBody, Share: 0.1, Match: faults.Reads},
		{Fault: faults.CutBody, Share: 0.1, Match: lists},
	}
	for i := range rules {
		rules[i].Each = 2 // so that no call fails as often as it is tried
	}
	proxy.Set(rules...)
	key := func(i int) string { return fmt.Sprintf("dir %d/%03d.bin", i%3, i) }
	data := func(i int) []byte {
		d := make([]byte, 1+i*301)
		rand.NewChaCha8([32]byte{byte(i)}).Read(d)
		return d
	}
	each := func(f func(i int) error) {
		t.Helper()
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := w; i < objects; i += 8 {
					if err := f(i); err != nil {
						t.Errorf("object %d: %v", i, err)
					}
				}
			})
		}
		wg.Wait()
	}
	each(func(i int) error {
		_, err := storage.Put(t.Context(), b, key(i), data(i), &storage.PutOptions{Metadata: map[string]string{"n": fmt.Sprint(i)}})
		return err
	})
	var listed []storage.Object
	if err := storage.Walk(t.Context(), b, nil, func(p storage.Page) error {
		listed = append(listed, p.Objects...)
		return nil
	}); err != nil || len(listed) != objects {
		t.Fatalf("%d objects listed, want %d; %v", len(listed), objects, err)
	}
	byKey := map[string]storage.Object{}
	for _, o := range listed {
		byKey[o.Key] = o
	}
	each(func(i int) error {
		want := byKey[key(i)]
		g, err := storage.Get(t.Context(), b, key(i), -1, &want)
		if err == nil && !bytes.Equal(g.Data, data(i)) {
			err = fmt.Errorf("wrong bytes")
		}
		return err
	})
	for f := faults.Refuse; f <= faults.DropAnswer; f++ {
		if proxy.Done(f) == 0 {
			t.Errorf("%s never happened", f)
		}
	}
	t.Logf("%d calls", proxy.Calls())

	direct, err := bs.Open(t.Context(), s.URL("bad"))
	if err != nil {
		t.Fatal(err)
	}
	each(func(i int) error {
		g, err := storage.Get(t.Context(), direct, key(i), -1, nil)
		if err == nil && !bytes.Equal(g.Data, data(i)) {
			err = fmt.Errorf("wrong bytes are stored")
		}
		return err
	})
}

// A flipped bit on the way from Azure is noticed by the MD5 that comes with a blob, also where a connection that broke
// is taken up again.
func TestReadsFromAzureAreChecked(t *testing.T) {
	s := services.Azurite(t)
	bs := storage.NewBuckets()
	defer bs.Close()
	bs.Retry = storage.Retry{Attempts: 8, Initial: time.Millisecond, Max: 5 * time.Millisecond}
	direct := s.NewBucket("checked")
	proxy := faults.NewProxyOf(t, s.Endpoint, "azblob", nil)
	host := func(u string) string { return url.QueryEscape(strings.TrimPrefix(u, "http://")) }
	b, err := bs.Open(t.Context(), strings.Replace(direct, host(s.Endpoint), host(proxy.URL), 1))
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 300_000)
	rand.NewChaCha8([32]byte{1}).Read(data)
	if _, err := storage.Put(t.Context(), b, "k", data, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		rules []faults.Rule
	}{
		{"a bit", []faults.Rule{{Fault: faults.FlipBit, Share: 1, Match: faults.Reads, Each: 2}}},
		{"a broken connection, then a bit", []faults.Rule{{Fault: faults.CutBody, Share: 1, Match: faults.Reads, Each: 1}, {Fault: faults.FlipBit, Share: 1, Match: faults.Reads, Each: 2}}},
	} {
		proxy.Set(c.rules...)
		if got, err := storage.Get(t.Context(), b, "k", -1, nil); err != nil || !bytes.Equal(got.Data, data) {
			t.Errorf("%s: %d bytes that are not those that were stored, %v", c.name, len(got.Data), err)
		}
	}
	proxy.Set(faults.Rule{Fault: faults.FlipBit, Share: 1, Match: faults.Reads})
	if _, err := storage.Get(t.Context(), b, "k", -1, nil); err == nil || !strings.Contains(err.Error(), "MD5") {
		t.Errorf("bits that flip in every answer: %v, want an error about the MD5", err)
	}
}
