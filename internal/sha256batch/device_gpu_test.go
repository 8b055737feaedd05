//go:build cuda && cgo

package sha256batch

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// check compares digests of a device with those of crypto/sha256.
func check(t *testing.T, dev *gpu.Device, list []Message) {
	t.Helper()
	sums, done, err := Sums(t.Context(), codec.Run{Device: dev, Pool: pool.New()}, list)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range list {
		if done[i] != Takes(m) {
			t.Errorf("message %d of %d+%d bytes: done %v", i, len(m.Head), len(m.Data), done[i])
		}
		if want := sha256.Sum256(slices.Concat(m.Head, m.Data)); done[i] && sums[i] != want {
			t.Errorf("message %d of %d+%d bytes: %x, want %x", i, len(m.Head), len(m.Data), sums[i], want)
		}
	}
}

// A device makes the digests of crypto/sha256 of messages of all lengths, in memory of all kinds.
func TestLockstepSums(t *testing.T) {
	dev := gputest.Device(t, nil)
	long := random(mostMessage+1, 3)
	pinned, err := dev.Host(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer pinned.Free()
	copy(pinned.Bytes, random(1<<20, 4))
	var many []Message
	for i := range 3000 {
		many = append(many, Message{Head: random(i%70, uint64(i)), Data: long[i : i+128+i*i%20_000]})
	}
	for name, list := range map[string][]Message{
		"mixed":  mixed(),
		"one":    {{Data: long[:1000]}},
		"none":   {},
		"longer": {{Data: long}, {Data: long[1:]}, {Data: long[:127]}, {Data: long[:128]}},
		"pinned": {{Data: pinned.Bytes}, {Data: pinned.Bytes[13:70_000]}, {Data: long[:5000]}, {Head: long[:32], Data: pinned.Bytes[500_000:]}},
		"many":   many,
	} {
		t.Run(name, func(t *testing.T) { check(t, dev, list) })
	}
}

// A device with too little memory takes what fits.
func TestLittleMemoryForSums(t *testing.T) {
	list := mixed()
	for i := range 20 {
		list = append(list, Message{Data: random(100_000*i+128, uint64(i))})
	}
	for memory := int64(100 << 10); memory < 64<<20; memory *= 5 {
		dev := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: memory})
		sums, done, err := Sums(t.Context(), codec.Run{Device: dev, Pool: pool.New()}, list)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range list {
			if want := m.Sum(); done[i] && sums[i] != want {
				t.Errorf("%d bytes of memory, message of %d+%d bytes: %x, want %x", memory, len(m.Head), len(m.Data), sums[i], want)
			}
		}
	}
}

// BenchmarkCardSums makes the digests of photographs and their files: of 1.2 and 0.6 MB.
func BenchmarkCardSums(b *testing.B) {
	dev := gputest.Device(b, nil)
	memory := random(200<<20, 5)
	for _, n := range []int{1, 64, 128} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var list []Message
			bytes := 0
			for i := range n {
				at := i << 20
				list = append(list, Message{Data: memory[at : at+1_179_648]}, Message{Data: memory[at+20<<20:][:600_000]})
				bytes += 1_779_648
			}
			b.SetBytes(int64(bytes))
			run := codec.Run{Device: dev, Pool: pool.New()}
			var kernel time.Duration
			for b.Loop() {
				err := dev.Do(b.Context(), func(l *gpu.Lane) error {
					t := &batch{lane: l, staging: gpu.Staging{Lane: l, Spans: run.Cores().Spans}, messages: make([]message, len(list)), timed: func(took time.Duration) { kernel += took }}
					for j := range list {
						t.messages[j].begin(list[j])
					}
					if err := t.start(); err != nil {
						return err
					}
					return t.end()
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(kernel.Microseconds())/1000/float64(b.N), "kernel-ms")
		})
	}
}
