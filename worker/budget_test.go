package worker

import (
	"context"
	"errors"
	"testing"

	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/raster"
)

// The memory that the record of a refused object names is enough for it.
func TestMemoryForIsTheInverse(t *testing.T) {
	for _, n := range []int64{1, 1 << 20, 100 << 20, 5 << 30} {
		if got := budgetOf(memoryFor(n) + 1); got < n || got > n+2 {
			t.Errorf("a process for %d bytes has a budget of %d", n, got)
		}
	}
	if budgetOf(MinMemory) <= 0 {
		t.Errorf("the least memory leaves nothing: %d", budgetOf(MinMemory))
	}
}

func TestBudget(t *testing.T) {
	b := newBudget(memoryFor(1000)+1, forCPU, 1)
	if b.total != 1000 || b.fileMax != 250 || b.imageMax() != 750 {
		t.Fatalf("%+v, want 1000 bytes, 250 of them for files", b)
	}
	for _, c := range []struct {
		name          string
		file, read, n int64
		whole         bool  // what is asked for
		first         error // of a share
		then          error // of the whole; nil: not asked
	}{
		{name: "fits", file: 250, read: 100, n: 750},
		{name: "picture over its part", file: 10, read: 100, n: 751, first: errWhole},
		{name: "file over its part has the whole", file: 251, read: 100, n: 749},
		{name: "file over the whole", file: 1001, first: &fault{}},
		{name: "reading over the whole", file: 400, read: 601, n: 601, first: &fault{}},
		{name: "work may turn out to be less", file: 10, read: 100, n: 5000, first: errWhole},
	} {
		t.Run(c.name, func(t *testing.T) {
			try := func(whole bool) error {
				s, err := b.take(t.Context(), c.file, whole)
				if err != nil {
					return err
				}
				defer s.release()
				return s.image(t.Context(), c.read, c.n)
			}
			err := try(false)
			var f *fault
			switch want := c.first.(type) {
			case *fault:
				if !errors.As(err, &f) || f.outcome != jobs.OutcomeRejected || f.class != class.Limit {
					t.Errorf("%v, want that it is rejected over a limit", err)
				}
			default:
				if !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			}
			if errors.Is(err, errWhole) {
				if err := try(true); err != nil {
					t.Errorf("with the whole budget: %v", err)
				}
			}
			if !b.files.TryAcquire(b.fileMax) || !b.images.TryAcquire(b.imageMax()) {
				t.Fatal("bytes were not given back")
			}
			b.files.Release(b.fileMax)
			b.images.Release(b.imageMax())
		})
	}
}

// What is known of an image once it is read gives the rest to others, and refuses
// what does not fit even alone.
func TestBudgetOfKnownImages(t *testing.T) {
	b := newBudget(memoryFor(1000)+1, forCPU, 1)
	s, err := b.take(t.Context(), 10, false)
	if err == nil {
		err = s.image(t.Context(), 100, 700)
	}
	if err == nil {
		err = s.shrink(200)
	}
	if err != nil || !b.images.TryAcquire(550) || b.images.TryAcquire(1) {
		t.Errorf("%v; 550 bytes of pictures should be free, and no more", err)
	}
	b.images.Release(550)
	var f *fault
	if err := s.shrink(991); !errors.As(err, &f) || f.class != class.Limit {
		t.Errorf("%v, want that it is over the limit", err)
	}
	s.release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	all, _ := b.take(t.Context(), 10, true)
	if _, err := b.take(ctx, 10, false); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the end of the context", err)
	}
	all.release()
}

// What cores hold while they check is set aside with a device, where it is enough for all of them.
func TestBudgetOfChecks(t *testing.T) {
	b := newBudget(1<<30, forChecks, 1)
	most := b.checks / 4
	for _, c := range []struct{ waits, core, want int64 }{
		{1000, 1000, 1000},
		{1000, 900, 1000},
		{1000, 1000 + most, 1000},
		{1000, 1001 + most, 1001 + most},
	} {
		if got := b.beside(c.waits, c.core, 4); got != c.want {
			t.Errorf("an image that waits with %d and is checked with %d takes %d, want %d", c.waits, c.core, got, c.want)
		}
	}
	if got := newBudget(1<<30, forDevice, 1).beside(1000, 1001, 1); got != 1001 {
		t.Errorf("%d where nothing is set aside, want what a core holds", got)
	}
}

func TestTrainingMemory(t *testing.T) {
	m := NewTrainingMemory(memoryFor(4<<20) + 1) // 1 MiB of samples
	head := &imageio.Header{Shape: raster.Shape{Width: 512, Height: 512, Depth: 1, Channels: 3, Bits: 8}, DecodedBytes: 1 << 20}
	if err := m.Take(1000, head); err != nil {
		t.Error(err)
	}
	if err := m.Take(1000, head); err == nil {
		t.Error("two pictures of 768 KiB are in a sample of 1 MiB")
	}
	m.Return(head)
	large := *head
	large.DecodedBytes = 5 << 20
	if err := m.Take(1000, &large); err == nil {
		t.Error("a picture is read that takes more than there is")
	}
	if err := m.Take(1000, head); err != nil {
		t.Error(err)
	}
}

// Sizes are written in the units of the flag: --memory 1G is not 1.1G.
func TestSizesAreWrittenAsTheFlagTakesThem(t *testing.T) {
	for n, want := range map[int64]string{1 << 30: "1.0G", 1<<30 + 1: "1.1G", 5 << 29: "2.5G", 128 << 20: "128M", 1: "1M"} {
		if got := binarySize(n); got != want {
			t.Errorf("%d bytes are %s, want %s", n, got, want)
		}
	}
}
