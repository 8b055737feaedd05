package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/sha256batch"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// summed runs the only chunk of a job of so many photographs with a device, for which sums makes digests. All of them wait for the only core
// before the first is read.
func (j *job) summed(photos int, c codec.Codec, sums func([]sha256batch.Message) ([][sha256.Size]byte, []bool, error)) (map[string]jobs.Result, *deviceSums) {
	j.t.Helper()
	w := j.deviceWorker(Options{CPU: 1, Fetchers: photos}, c)
	w.open.Store(true)
	w.reading.failed = true // cores read
	w.summing = newDeviceSums(w.pipeline, func() int { return photos })
	w.open.Store(true)
	w.summing.sums = func(_ context.Context, run codec.Run, messages []sha256batch.Message) ([][sha256.Size]byte, []bool, error) {
		if run.Device == nil {
			j.t.Error("digests are made without the device")
		}
		return sums(messages)
	}
	if err := w.cores.Acquire(j.ctx, 0); err != nil {
		j.t.Fatal(err)
	}
	go func() {
		defer w.cores.Release()
		until(j.t, "the photographs to wait", func() bool { _, waiting := w.cores.Load(); return waiting == photos })
	}()
	if err := j.chunk(w, 0); err != nil {
		j.t.Fatal(err)
	}
	return j.results(), w.summing
}

// allSums makes all digests, as a device does.
func allSums(messages []sha256batch.Message) (sums [][sha256.Size]byte, done []bool, err error) {
	for _, m := range messages {
		sums, done = append(sums, m.Sum()), append(done, true)
	}
	return sums, done, nil
}

// someSums leaves some of them, as a device does that lacks memory.
func someSums(messages []sha256batch.Message) (sums [][sha256.Size]byte, done []bool, err error) {
	sums, done, err = allSums(messages)
	for i := 0; i < len(done); i += 3 {
		sums[i], done[i] = [sha256.Size]byte{}, false
	}
	return sums, done, err
}

// noSums is a device that fails.
func noSums(messages []sha256batch.Message) ([][sha256.Size]byte, []bool, error) {
	return make([][sha256.Size]byte, len(messages)), make([]bool, len(messages)), errors.New("no")
}

// Records have the same digests whether cores make them, a device, or both.
func TestDigestsOfADevice(t *testing.T) {
	const photos = 70
	for _, lossy := range []bool{false, true} {
		for _, verify := range []string{"full", "device", "off"} {
			t.Run(fmt.Sprintf("lossy=%v/%s", lossy, verify), func(t *testing.T) {
				c := &fake{lossy: lossy}
				if lossy {
					c.decode = func(m *raster.Image) (*raster.Image, error, bool) {
						other := *m
						other.Pix = append([]byte(nil), m.Pix...)
						if m.Width == 20 && m.Pix[0]%2 == 0 { // the others decode to what they were
							other.Pix[7] ^= 1
						}
						return &other, nil, true
					}
				}
				planned := func() *job {
					return newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Verify = verify }).photos(photos, 20).plan()
				}
				j := planned()
				if err := j.chunk(j.worker(Options{CPU: 2}, c), 0); err != nil {
					t.Fatal(err)
				}
				want := j.results()
				for _, device := range []struct {
					name  string
					sums  func([]sha256batch.Message) ([][sha256.Size]byte, []bool, error)
					least int64 // digests that it makes
				}{{"all", allSums, 2 * (photos - 1)}, {"some", someSums, photos}, {"none", noSums, 0}} {
					got, s := planned().summed(photos, c, device.sums)
					if made := s.count(); made < device.least || device.least == 0 && made > 0 || s.failed.Load() != (device.least == 0) {
						t.Errorf("%s: the device has made %d digests, and failed: %v", device.name, made, s.failed.Load())
					}
					for key, w := range want {
						g := got[key]
						if verify == "device" && w.DecodedHash != w.PixelHash {
							w.DecodedHash = "" // a device's has none
						}
						if g.Outcome != jobs.OutcomeCompressed || g.Attempts != 1 || g.SHA256 != w.SHA256 || g.PixelHash != w.PixelHash || g.DecodedHash != w.DecodedHash ||
							g.TargetSHA256 != w.TargetSHA256 || g.PSNR != w.PSNR || len(g.SHA256) != 64 || len(g.PixelHash) != 64 {
							t.Fatalf("%s, %s:\n%+v\nwant\n%+v", device.name, key, g, w)
						}
					}
				}
			})
		}
	}
}

// digestsOf is what a device finds of an image.
func digestsOf(m *raster.Image) *codec.Digests {
	d := &codec.Digests{Samples: ^crc32.Update(^uint32(0), crc32.MakeTable(crc32.Castagnoli), m.Pix)}
	hex.Decode(d.Image[:], []byte(m.Hash()))
	return d
}

// The digest of what a lossy result decodes to is that of the device where the core has decoded the same image. Records are the same
// whoever makes it, and a device whose digests are wrong makes none any more.
func TestDigestsOfResults(t *testing.T) {
	const photos = 70
	changed := func(m *raster.Image) *raster.Image {
		other := *m
		other.Pix = bytes.Clone(m.Pix)
		other.Pix[7] ^= 1
		return &other
	}
	for _, c := range []struct {
		name    string
		verify  string
		digests func(m *raster.Image) *codec.Digests
		made    int64 // digests of results, at least
		failed  bool
	}{
		{name: "right", verify: "full", digests: func(m *raster.Image) *codec.Digests { return digestsOf(changed(m)) }, made: photos - photos/10},
		{name: "none", verify: "full", digests: func(*raster.Image) *codec.Digests { return nil }},
		{name: "of another image", verify: "full", digests: digestsOf, failed: true},
		{name: "checked by the device", verify: "device", digests: digestsOf},
		{name: "not checked", verify: "off", digests: digestsOf},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{lossy: true, decode: func(m *raster.Image) (*raster.Image, error, bool) { return changed(m), nil, true }}
			planned := func() *job {
				return newJob(t, "mem://source", "mem://target", f, func(s *jobs.Spec) { s.Verify = c.verify }).photos(photos, 20).plan()
			}
			j := planned()
			if err := j.chunk(j.worker(Options{CPU: 2}, f), 0); err != nil {
				t.Fatal(err)
			}
			want := j.results()
			f.digests = func(m *raster.Image) *codec.Digests {
				if c.verify != "full" {
					t.Error("digests are asked for that nobody uses")
				}
				return c.digests(m)
			}
			got, s := planned().summed(photos, f, allSums)
			if made := s.count() - 2*(photos-1); made < c.made || s.failed.Load() != c.failed {
				t.Errorf("the device has made %d digests of results, and failed: %v", made, s.failed.Load())
			}
			for key, w := range want {
				g := got[key]
				if c.verify == "device" {
					w.DecodedHash = "" // a device's has none
				}
				if g.Outcome != jobs.OutcomeCompressed || g.DecodedHash != w.DecodedHash || g.TargetSHA256 != w.TargetSHA256 || g.PSNR != w.PSNR || len(g.TargetSHA256) != 64 {
					t.Fatalf("%s:\n%+v\nwant\n%+v", key, g, w)
				}
			}
		})
	}
}

// busyCores are two that are taken, and for which so many wait.
func busyCores(t *testing.T, waiting int) *pool.Pool { return takenCores(t, 2, 2, waiting) }

// takenCores are some of which so many are taken, and for which so many wait.
func takenCores(t *testing.T, all, taken, waiting int) *pool.Pool {
	t.Helper()
	cores := pool.Shared(all)
	for range taken {
		if err := cores.Acquire(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	for range waiting {
		go func() { cores.Acquire(t.Context(), 0) }()
	}
	synctest.Wait()
	return cores
}

// A device is asked for the digests of results where somebody waits for the cores, or will do so.
func TestDigestsOfResultsAreAskedFor(t *testing.T) {
	for _, c := range []struct {
		name    string
		waiting int
		batch   int // on 2 cores
		verify  string
		failed  bool
		want    bool
	}{
		{name: "nobody waits", batch: 2, verify: "full"},
		{name: "those of the batch will wait", batch: 3, verify: "full", want: true},
		{name: "another one waits", waiting: 1, batch: 1, verify: "full", want: true},
		{name: "the device checks", waiting: 1, batch: 3, verify: "device"},
		{name: "nobody checks", waiting: 1, batch: 3, verify: "off"},
		{name: "the device has failed", waiting: 1, batch: 3, verify: "full", failed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &jobContext{summing: newDeviceSums(&pipeline{cores: busyCores(t, c.waiting)}, nil), spec: jobs.Spec{Verify: c.verify}}
				k.summing.failed.Store(c.failed)
				if got := k.digestsOfResults(codec.Run{Device: new(gpu.Device)}, c.batch); got != c.want {
					t.Errorf("%v, want %v", got, c.want)
				}
				if k.digestsOfResults(codec.Run{}, c.batch) {
					t.Error("a device that there is not is asked")
				}
			})
		})
	}
}

// Of the digest that a core makes as well, the core's counts. Where that of the device is wrong, the core makes all others, too.
func TestProvedDigestOfAResult(t *testing.T) {
	k := &jobContext{summing: newDeviceSums(&pipeline{log: slog.New(slog.DiscardHandler)}, nil)}
	m := raster.New(20, 10, 1, 3, 8)
	right, wrong := digestsOf(m), digestsOf(m)
	wrong.Image[5]++
	if hash := k.hashResult(&object{digests: right}, m); hash != m.Hash() || k.summing.count() != 1 {
		t.Errorf("%s, want %s; %d made by the device", hash, m.Hash(), k.summing.count())
	}
	for i, d := range []*codec.Digests{nil, right, wrong} {
		o := &object{digests: d, proved: true, file: []byte("file")}
		if hash := k.hashResult(o, m); hash != m.Hash() || string(o.fileSum) == "" || k.summing.failed.Load() != (d == wrong) || k.summing.count() != 1 {
			t.Errorf("digests %d: %s, want %s; %d made by the device, which failed: %v", i, hash, m.Hash(), k.summing.count(), k.summing.failed.Load())
		}
	}
	o := &object{digests: right, file: []byte("file")}
	if hash := k.hashResult(o, m); hash != m.Hash() || len(o.fileSum) == 0 || k.summing.count() != 1 {
		t.Errorf("after a wrong one: %s, want %s; %d made by the device", hash, m.Hash(), k.summing.count())
	}
}

// An object that fails in its batch has the digests of its source and its picture, too.
func TestDigestsOfFailures(t *testing.T) {
	c := &fake{encode: func(_ context.Context, _ *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		return nil, &codec.UnsupportedError{}, m.Width == 20
	}}
	j := newJob(t, "mem://source", "mem://target", c, nil).photos(9, 20).plan()
	got, _ := j.summed(9, c, allSums)
	for key, r := range got {
		data, err := j.source.ReadAll(j.ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != jobs.OutcomeUnsupported || r.SHA256 != sumOf(data) || len(r.PixelHash) != 64 {
			t.Errorf("%s: %s, SHA-256 %q, pixel hash %q", key, r.Outcome, r.SHA256, r.PixelHash)
		}
	}
}

// What is due is recorded where an object does not come to a device.
func TestDigestsThatAreStillDue(t *testing.T) {
	o := &object{image: photo(1, 20, 20, 3), data: []byte("source"), sumsDue: true}
	if o.recordSums(); o.record.PixelHash != o.image.Hash() || o.record.SHA256 != sumOf(o.data) {
		t.Errorf("%+v", o.record)
	}
	o = &object{data: []byte("source")}
	if o.recordSums(); o.record.PixelHash != "" || o.record.SHA256 != sumOf(o.data) {
		t.Errorf("%+v", o.record)
	}
}

// The device makes digests of what fits it, while cores are busy, and before it is open while objects wait for them.
func TestTheDeviceMakesDigestsWhileCoresHaveNoTime(t *testing.T) {
	sized := func(side, data int) *object {
		return &object{image: raster.New(side, side, 1, 3, 8), data: make([]byte, data), batches: new(batcher)}
	}
	for _, c := range []struct {
		name    string
		idle    int // of 8 cores
		waiting int
		atWork  int // each for 10 ms
		o       *object
		change  func(s *deviceSums, o *object)
		want    bool
	}{
		{name: "cores have time", idle: 3, atWork: 1000},
		{name: "cores are busy", idle: 2, atWork: 1, want: true},
		{name: "somebody waits", waiting: 1, atWork: 1, want: true},
		{name: "the device is not open, nobody waits", atWork: 1000, change: func(s *deviceSums, _ *object) { s.p.open.Store(false) }},
		{name: "the device is not open", waiting: 1, atWork: 120, change: func(s *deviceSums, _ *object) { s.p.open.Store(false) }},
		{name: "the device is open before cores have done what is at work", waiting: 1, atWork: 121, want: true, change: func(s *deviceSums, _ *object) { s.p.open.Store(false) }},
		{name: "the device has failed", waiting: 1, atWork: 1000, change: func(s *deviceSums, _ *object) { s.failed.Store(true) }},
		{name: "the object is alone", waiting: 1, atWork: 1, change: func(_ *deviceSums, o *object) { o.alone = true }},
		{name: "the object is not for the device", waiting: 1, atWork: 1, change: func(_ *deviceSums, o *object) { o.batches = nil }},
		{name: "a short source", waiting: 1, atWork: 1, o: sized(20, 100)},
		{name: "a small picture", waiting: 1, atWork: 1, o: sized(2, 1000)},
		{name: "a long source", waiting: 1, atWork: 1, o: sized(20, 5<<20)},
		{name: "a large picture", waiting: 1, atWork: 1, o: sized(1500, 1000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pipeline{cards: 1, cores: takenCores(t, 8, 8-c.idle, c.waiting), lanes: make(chan struct{}, 2), stats: (*gpu.Device)(nil).Stats}
				p.reading = newDeviceReader(p)
				p.reading.onCore(10 * time.Millisecond)
				p.open.Store(true)
				s, o := newDeviceSums(p, func() int { return c.atWork }), c.o
				if o == nil {
					o = sized(20, 1000)
				}
				if c.change != nil {
					c.change(s, o)
				}
				if got := s.takes(o); got != c.want {
					t.Errorf("%v, want %v", got, c.want)
				}
			})
		})
	}
	var none *deviceSums
	if none.takes(sized(20, 1000)) || none.count() != 0 {
		t.Error("no device makes digests")
	}
}
