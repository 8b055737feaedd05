package faults_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/seed"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// flipped are the rules by which reads from a kind of store come with a wrong bit that can be noticed: S3 gives the
// MD5 as the ETag, and Azure beside it. The emulator of Google gives no checksum with what is read; there the connection
// is what is relied on, which is TLS outside of tests.
func flipped(kind string) []faults.Rule {
	flip := faults.Rule{Fault: faults.FlipBit, Share: 0.3, Match: faults.Reads}
	bare := flip
	bare.Bare = true
	switch kind {
	case "s3":
		return []faults.Rule{bare, flip}
	case "azblob":
		return []faults.Rule{flip}
	}
	return nil
}

// storageRules are the ways in which a store of a kind fails one operation, each by itself.
func storageRules(kind string) (all []faults.Rule) {
	return append([]faults.Rule{
		{Fault: faults.Refuse, Share: 0.3},
		{Fault: faults.Throttle, Share: 0.3},
		{Fault: faults.CutBody, Share: 0.3, Match: faults.Reads},
		{Fault: faults.DropWrite, Share: 0.3, Match: faults.Writes},
		{Fault: faults.DropAnswer, Share: 0.3, Match: faults.Writes},
		{Fault: faults.Precondition, Share: 0.3, Match: faults.Writes},
		{Fault: faults.Delay, Share: 0.1, Wait: time.Hour, Each: 1},
		{Fault: faults.Hang, Share: 0.1, Match: faults.Reads, Each: 1},
	}, append(flipped(kind), conflicts(kind, faults.Writes)...)...)
}

// conflicts is the answer of S3 and Google where writes race; Azure has none that says to try again.
func conflicts(kind string, match func(faults.Call) bool) []faults.Rule {
	if kind == "azblob" {
		return nil
	}
	return []faults.Rule{{Fault: faults.Conflict, Share: 0.3, Match: match}}
}

// direct is a bucket past the proxy, for what loses writes in it.
type direct struct {
	t *testing.T
	b *storage.Bucket
}

func (d direct) Remove(_, key string) error { return d.b.Delete(d.t.Context(), key) }
func (d direct) Has(_, key string) bool {
	ok, err := d.b.Exists(d.t.Context(), key)
	return ok || err != nil
}

// storageFaults puts and gets objects on each kind of store with one kind of fault after the other. What storage calls
// a success must be one; the store is looked at past the proxy.
func storageFaults(t *testing.T, size int, l *ledger) {
	for _, s := range stores[1:] {
		gw := s.start(t)
		storageFaultsOn(t, gw, s.name, size/(len(stores)-1), l)
	}
}

func storageFaultsOn(t *testing.T, gw *services.Store, kind string, size int, l *ledger) {
	t.Helper()
	name := fmt.Sprintf("faults-%d", rand.Uint32())
	past := openBucket(t, gw.NewBucket(name))
	p := faults.NewProxyOf(t, gw.Endpoint, kind, direct{t, past})
	buckets := storage.NewBuckets()
	t.Cleanup(func() { buckets.Close() })
	buckets.S3Endpoint = p.URL
	buckets.Retry.Timeout = 5 * time.Second // which no call takes that is not held up
	b, err := buckets.Open(t.Context(), proxied(t, gw, kind, name, p.URL))
	if err != nil {
		t.Fatal(err)
	}
	all := storageRules(kind)
	for i, rule := range all {
		before, want := p.All(), size/len(all)+1
		if rule.Fault == faults.Delay || rule.Fault == faults.Hang {
			want = want/8 + 1 // each of which takes seconds
		}
		var puts, gets atomic.Int32
		tries := 0
		p.Set(rule)
		for ; p.All()-before < want && tries < 20*want+100; tries += 16 {
			var wait sync.WaitGroup
			for j := range 16 {
				wait.Go(func() {
					put, get := putAndGet(t, b, past, fmt.Sprintf("%d/%d-%d.bin", i, tries, j))
					puts.Add(put)
					gets.Add(get)
				})
			}
			wait.Wait()
			if p.Calls() == 0 {
				t.Fatalf("%s: no call came through the proxy", kind)
			}
		}
		n := p.All() - before
		l.add(countFaults, int64(n))
		l.add("objects put", int64(puts.Load()))
		l.say("%s: %d times %q in %d puts and gets", kind, n, rule.Fault, tries)
		if n < want {
			t.Errorf("%s: %q was done %d times, want %d", kind, rule.Fault, n, want)
		}
		if few := int32(tries * 9 / 10); puts.Load() < few || gets.Load() < few {
			t.Errorf("%s: %q: %d of %d puts and %d gets succeeded; retries should get nearly all through", kind, rule.Fault, puts.Load(), tries, gets.Load())
		}
	}
}

// proxied is the URL by which this process opens a bucket of gw through a proxy until the end of the test. The client of Google
// knows another server from the environment only, and looks whenever a bucket is opened. What names that of Azure there is read
// once in a process, so that the URL must say it.
func proxied(t *testing.T, gw *services.Store, kind, bucket, proxy string) string {
	t.Helper()
	host := strings.TrimPrefix(proxy, "http://")
	switch kind {
	case "gs":
		t.Setenv("STORAGE_EMULATOR_HOST", host)
	case "azblob":
		u, err := url.Parse(gw.URL(bucket))
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("domain", host)
		u.RawQuery = q.Encode()
		return u.String()
	}
	return kind + "://" + bucket
}

// twoSourcesAnywhere is twoSources on a store of a drawn kind.
func twoSourcesAnywhere(t *testing.T, size int, l *ledger) {
	s := stores[1+seed.Rand(t).IntN(len(stores)-1)]
	gw := s.start(t)
	for l.of(countFaults) < int64(size) && !t.Failed() {
		ok := t.Run(s.name, func(t *testing.T) { twoSources(t, gw, l) })
		if !ok {
			return
		}
	}
}

// twoSources compresses two sources, with vq with different options, into one target at the same time, while the store does all
// kinds of faults. A third of the keys are the same in both sources, with other images. No operation of storage meets more
// than five faults, and it tries six times, so that every object must end well whatever the random choices are; of two that
// want one key one must.
func twoSources(t *testing.T, gw *services.Store, l *ledger) {
	rng := seed.Rand(t)
	const n = 30
	w := drawWork(t, rng, l)
	a := w.of(inBuckets(t, gw, w.sources(rng.Uint64(), n, 80)))
	b := w.of(&trial{t: t, proxy: a.proxy, to: a.to, target: a.target, disk: a.disk, env: a.env})
	if w.codec == "vq" {
		b.options = []string{"n=32"}
	}
	for i, s := range w.sources(rng.Uint64(), n, 80) {
		if i%3 != 0 {
			s.Key = "other/" + s.Key
		}
		b.sources = append(b.sources, s)
	}
	shared := shareKeys(a.sources, b.sources)
	other := strings.TrimSuffix(strings.TrimPrefix(a.source, a.to.Kind()+"://"), "-src") + "-two"
	b.from = openBucket(t, gw.NewBucket(other))
	for _, s := range b.sources {
		b.write(s)
	}
	b.source = a.to.Kind() + "://" + other
	for _, tr := range []*trial{a, b} {
		tr.extra = []string{"--chunk-objects", "10", "--fail-ratio", "1"}
	}
	inSource := func(c faults.Call) bool { return !strings.HasSuffix(c.Bucket, "-dst") && faults.Reads(c) }
	writes := func(c faults.Call) bool { return faults.Writes(c) && !inSource(c) }
	results := func(c faults.Call) bool { return writes(c) && !own(c) }
	rules := []faults.Rule{
		{Fault: faults.Refuse, Share: 0.15},
		{Fault: faults.CutBody, Share: 0.3, Match: inSource},
	}
	for _, r := range flipped(a.to.Kind())[:min(1, len(flipped(a.to.Kind())))] {
		r.Match = inSource
		rules = append(rules, r)
	}
	// Each fault comes once to equal calls. With two of these a put of a result meets at most five: two and a refusal of the write,
	// and refusals of the two requests by which it is looked at.
	ofWrites := []faults.Rule{
		{Fault: faults.Throttle, Share: 0.3, Match: writes},
		{Fault: faults.DropWrite, Share: 0.3, Match: writes},
		{Fault: faults.DropAnswer, Share: 0.3, Match: writes},
		{Fault: faults.Precondition, Share: 0.3, Match: results},
	}
	ofWrites = append(ofWrites, conflicts(a.to.Kind(), writes)...)
	rng.Shuffle(len(ofWrites), func(i, j int) { ofWrites[i], ofWrites[j] = ofWrites[j], ofWrites[i] })
	rules = append(rules, ofWrites[:2]...)
	for i := range rules {
		rules[i].Each = 1
	}
	a.proxy.Set(rules...)
	l.add(countImages, 2*n)
	var runs []*faults.Process
	for _, tr := range []*trial{a, b} {
		runs = append(runs, tr.pelmill("compress", tr.flags("compress")...))
	}
	for i, p := range runs {
		if code := p.Wait(t, limit); code != 0 && code != 3 {
			t.Errorf("run %d: exit code %d, want 0, or 3 for one that lost keys to the other", i, code)
		}
	}
	done := a.proxy.All()
	l.add(countFaults, int64(done))
	for _, r := range rules {
		l.say("%d times %q under two jobs on %s", a.proxy.Done(r.Fault), r.Fault, a.to.Kind())
	}
	ids := a.jobs()
	if len(ids) != 2 {
		t.Fatalf("the target has jobs %v, want two", ids)
	}
	a.proxy.Set()
	// Which of the jobs is whose is in their specifications.
	var parts []faults.Part
	for _, id := range ids {
		tr := a
		if strings.HasSuffix(a.spec(id).Source, "-two") {
			tr = b
		}
		parts = append(parts, faults.Part{Sources: tr.sources, ID: id})
	}
	checked := faults.CheckTogether(t, a.to, codecOf(t, a.codec), parts...)
	for _, key := range shared {
		var have []string
		for i, c := range checked {
			r := c.Results[key]
			if r.Error == "" {
				have = append(have, ids[i])
			}
		}
		if len(have) != 1 {
			t.Errorf("%s is the result of jobs %q, want one", key, have)
		}
	}
}

// shareKeys gives the keys that both have, and lets either of them fail for the other's sake.
func shareKeys(a, b []faults.Source) (shared []string) {
	for i := range a {
		j := slices.IndexFunc(b, func(s faults.Source) bool { return s.Key == a[i].Key })
		if j < 0 {
			continue
		}
		shared = append(shared, a[i].Key)
		a[i].Want, b[j].Want = lostOrWon, lostOrWon
	}
	return shared
}

// lostOrWon are the outcomes of an object whose result two sources want.
var lostOrWon = []jobs.Outcome{jobs.OutcomeCompressed, jobs.OutcomeFailed}

// spec is what was asked of a job.
func (tr *trial) spec(id string) (s jobs.Spec) {
	tr.t.Helper()
	data, err := tr.to.ReadAll(tr.t.Context(), jobs.Folder(id).Spec())
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		tr.t.Fatal(err)
	}
	return s
}
