//go:build cuda && cgo

package gpu

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// benchDevice is gputest.Device for this package's own tests.
func benchDevice(b *testing.B) *Device {
	d, err := Open("cuda")
	if err != nil {
		if os.Getenv("PELMILL_GPU") == "require" {
			b.Fatal(err)
		}
		b.Skipf("NOT MEASURED ON A CARD: %v", err)
	}
	b.Cleanup(func() { d.Close() })
	return d
}

// onLane runs f on one lane, outside of the benchmark's clock.
func onLane(b *testing.B, f func(l *Lane) error) {
	if err := benchDevice(b).Do(b.Context(), f); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCardLink measures copies of the sizes of small and large batches.
func BenchmarkCardLink(b *testing.B) {
	for _, n := range []int{16 << 10, 256 << 10, 4 << 20, 64 << 20} {
		for _, pinned := range []bool{true, false} {
			b.Run(fmt.Sprintf("%dKiB/pinned=%v", n>>10, pinned), func(b *testing.B) {
				onLane(b, func(l *Lane) error {
					host, err := l.Host(n)
					if err != nil {
						return err
					}
					memory, err := l.Device(n)
					if err != nil {
						return err
					}
					src := host.Bytes
					if !pinned {
						src = make([]byte, n)
					}
					b.SetBytes(int64(n))
					for b.Loop() {
						if err := l.Stream(0).Upload(memory, 0, src); err != nil {
							return err
						}
						if err := l.Stream(0).Sync(); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}

// BenchmarkCardCopy measures a copy within the card, in bytes read plus written by the
// card's clock: what a kernel that only moves memory can reach.
func BenchmarkCardCopy(b *testing.B) {
	const n = 1 << 30
	onLane(b, func(l *Lane) error {
		from, err := l.Device(n)
		if err != nil {
			return err
		}
		to, err := l.Device(n)
		if err != nil {
			return err
		}
		s := l.Stream(0)
		var total time.Duration
		count := 0
		for b.Loop() {
			took, err := s.Time(func() error { return s.Copy(to, 0, from, 0, n) })
			if err != nil {
				return err
			}
			total += took
			count++
		}
		b.ReportMetric(2*n*float64(count)/total.Seconds()/1e9, "GB/s")
		return nil
	})
}

// BenchmarkCardLaunch measures a launch that does nothing, alone and in rows of 100.
func BenchmarkCardLaunch(b *testing.B) {
	for _, row := range []int{1, 100} {
		b.Run(fmt.Sprintf("row=%d", row), func(b *testing.B) {
			onLane(b, func(l *Lane) error {
				k, err := l.Kernel(&selfTestModule, "gpu_reduce")
				if err != nil {
					return err
				}
				out, err := l.Device(1 << 10)
				if err != nil {
					return err
				}
				p := &reduceParams{out.Ptr, out.Ptr + 512, out.Ptr, 0}
				for b.Loop() {
					for range row {
						if err := Launch(l.Stream(0), k, Grid{Blocks: [3]int{1}, Threads: [3]int{32}}, p); err != nil {
							return err
						}
					}
					if err := l.Stream(0).Sync(); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// BenchmarkCardBatch measures what a batch costs that does nothing.
func BenchmarkCardBatch(b *testing.B) {
	d := benchDevice(b)
	for b.Loop() {
		if err := d.Do(b.Context(), func(*Lane) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
