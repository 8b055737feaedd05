package faults_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/storage"
)

// openBucket opens a bucket until the end of the test.
func openBucket(t *testing.T, url string) *storage.Bucket {
	t.Helper()
	buckets := storage.NewBuckets()
	t.Cleanup(func() { buckets.Close() })
	b, err := buckets.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestStorageThroughFaults puts and gets objects through a proxy with one fault each. What storage calls a success
// must be one; the store is looked at past the proxy.
func TestStorageThroughFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	const objects = 60 // of which faults hit some in any case
	gw := services.VersityGW(t)
	p := faults.NewProxy(t, gw.Endpoint)
	direct := openBucket(t, gw.NewBucket("faulty"))
	patient := openBucket(t, services.S3URL(p.URL, "faulty"))
	hasty := storage.NewBuckets()
	t.Cleanup(func() { hasty.Close() })
	hasty.Retry.Timeout = 5 * time.Second // which no call takes that is not held up
	impatient, err := hasty.Open(t.Context(), services.S3URL(p.URL, "faulty"))
	if err != nil {
		t.Fatal(err)
	}
	for i, rules := range [][]faults.Rule{
		{},
		{{Fault: faults.Refuse, Share: 0.3}},
		{{Fault: faults.CutBody, Share: 0.3, Match: faults.Reads}},
		{{Fault: faults.FlipBit, Share: 0.3, Match: faults.Reads}},
		{{Fault: faults.FlipBit, Share: 0.3, Match: faults.Reads, Bare: true}},
		{{Fault: faults.DropWrite, Share: 0.3, Match: faults.Writes}},
		{{Fault: faults.DropAnswer, Share: 0.3, Match: faults.Writes}},
		{{Fault: faults.Delay, Share: 0.2, Wait: time.Hour, Each: 1}},
	} {
		name := "none"
		if len(rules) > 0 {
			name = rules[0].Fault.String()
			if rules[0].Bare {
				name += " without checksums"
			}
		}
		t.Run(name, func(t *testing.T) {
			p.Set(rules...)
			through := patient
			if name == faults.Delay.String() {
				through = impatient
			}
			var puts, gets atomic.Int32
			var all sync.WaitGroup
			for j := range objects {
				all.Go(func() {
					put, get := putAndGet(t, through, direct, fmt.Sprintf("%d/%d.bin", i, j))
					puts.Add(put)
					gets.Add(get)
				})
			}
			all.Wait()
			if puts.Load() < objects-2 || gets.Load() < objects-2 {
				t.Errorf("%d of %d puts and %d gets succeeded; retries should get nearly all through", puts.Load(), objects, gets.Load())
			}
			if len(rules) > 0 && p.Done(rules[0].Fault) == 0 {
				t.Error("no fault was done")
			}
		})
	}
}

// TestStoresAreReachedThroughAProxy opens buckets of this process as storageFaultsOn does, after buckets past the proxy, which must
// not decide where the later ones lead to.
func TestStoresAreReachedThroughAProxy(t *testing.T) {
	for _, s := range stores[1:] {
		t.Run(s.name, func(t *testing.T) {
			gw := s.start(t)
			past := openBucket(t, gw.NewBucket("proxied"))
			if _, err := past.Exists(t.Context(), "any"); err != nil {
				t.Fatal(err)
			}
			p := faults.NewProxyOf(t, gw.Endpoint, s.name, direct{t, past})
			buckets := storage.NewBuckets()
			t.Cleanup(func() { buckets.Close() })
			buckets.S3Endpoint = p.URL
			b, err := buckets.Open(t.Context(), proxied(t, gw, s.name, "proxied", p.URL))
			if err != nil {
				t.Fatal(err)
			}
			if put, get := putAndGet(t, b, past, "one"); put != 1 || get != 1 || p.Calls() == 0 {
				t.Errorf("%d puts, %d gets and %d calls through the proxy, want one, one and some", put, get, p.Calls())
			}
		})
	}
}

// putAndGet counts its successes. An error is allowed, a wrong success is not.
func putAndGet(t *testing.T, through, direct *storage.Bucket, key string) (put, get int32) {
	ctx := t.Context()
	rng := rand.New(rand.NewPCG(1, uint64(crc32.ChecksumIEEE([]byte(key)))))
	data := make([]byte, 1+rng.IntN(50_000))
	for k := range data {
		data[k] = byte(rng.Uint32())
	}
	if _, err := storage.Put(ctx, through, key, data, nil); err != nil {
		t.Logf("put %s: %v", key, err)
		return 0, 0
	}
	if got, err := direct.ReadAll(ctx, key); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%s was put, but the store has %d of %d bytes, %v", key, len(got), len(data), err)
	}
	got, err := storage.Get(ctx, through, key, 1<<20, nil)
	if err != nil {
		t.Logf("get %s: %v", key, err)
		return 1, 0
	}
	if !bytes.Equal(got.Data, data) {
		t.Errorf("%s was read, but with other bytes", key)
	}
	return 1, 1
}
