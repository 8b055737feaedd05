//go:build cuda && cgo

package gputest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
)

// startSlow starts two cards of which the driver does not make the second one's context while fake.Hang is 1.
func startSlow(t *testing.T, o *gpu.Options) *gpu.Device {
	t.Helper()
	fake.Reset()
	fake.Cards, fake.Slow, fake.Hang = 2, 2, 1
	d, err := gpu.StartWith("cuda", o)
	if err == nil {
		err = d.Ready(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A card takes batches, and memory is pinned, while the driver opens another card, which then takes batches as well.
func TestACardIsUsedWhileAnotherOpens(t *testing.T) {
	d := startSlow(t, &gpu.Options{Lanes: 2})
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := d.Opened(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("all cards are open (%v)", err)
	}
	card := func(l *gpu.Lane) (err error) {
		if l.Card().Index != 0 {
			err = errors.New("the card is not open")
		}
		return errors.Join(err, batch(l, pixels))
	}
	for range 5 {
		if err := d.Do(t.Context(), card); err != nil {
			t.Error(err)
		}
	}
	h, err := d.Host(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	h.Free()
	if n := len(d.Cards()); n != 2 {
		t.Errorf("%d cards, want those that are being opened as well", n)
	}

	// Four at once wait for each other, and so for the second card.
	var all sync.WaitGroup
	begun, end := make(chan int, 4), make(chan struct{})
	for range 4 {
		all.Go(func() {
			if err := d.Do(t.Context(), func(l *gpu.Lane) error { begun <- l.Card().Index; <-end; return batch(l, pixels) }); err != nil {
				t.Error(err)
			}
		})
	}
	cards := []int{<-begun, <-begun}
	fake.Hang = 0
	cards = append(cards, <-begun, <-begun)
	close(end)
	all.Wait()
	if want := []int{0, 0, 1, 1}; !slices.Equal(cards, want) {
		t.Errorf("batches were on the cards %d, want %d", cards, want)
	}
	closed(t, d)
}

// A card that does not open in the end leaves the device to the others.
func TestACardGoesOnWithoutAnother(t *testing.T) {
	d := startSlow(t, &gpu.Options{Lanes: 1})
	fake.Code, fake.Hang = 2, 0
	if err := d.Opened(t.Context()); err != nil || len(d.Cards()) != 1 {
		t.Errorf("%d cards, %v", len(d.Cards()), err)
	}
	if err := d.Do(t.Context(), func(l *gpu.Lane) error { return batch(l, pixels) }); err != nil {
		t.Error(err)
	}
	closed(t, d)
}

// A device that is closed while a card is being opened waits for that.
func TestCloseWaitsForACardThatIsBeingOpened(t *testing.T) {
	for _, end := range []func(*gpu.Device) error{(*gpu.Device).Close, (*gpu.Device).Discard} {
		d := startSlow(t, &gpu.Options{Lanes: 1})
		ended := make(chan error)
		go func() { ended <- end(d) }()
		select {
		case err := <-ended:
			t.Errorf("it has ended (%v)", err)
		case <-time.After(20 * time.Millisecond):
		}
		fake.Hang = 0
		if err := <-ended; err != nil || fake.Contexts != 0 {
			t.Errorf("%v, %d contexts are left", err, fake.Contexts)
		}
	}
}

// A card whose opening hangs takes the others along: the driver cannot be trusted any more.
func TestACardThatHangsWhileAnotherIsUsed(t *testing.T) {
	d := startSlow(t, &gpu.Options{Lanes: 1, Hang: 50 * time.Millisecond})
	var hang *gpu.HangError
	if err := d.Opened(t.Context()); !errors.As(err, &hang) || hang.Call != "cuDevicePrimaryCtxRetain" || hang.Card != 1 {
		t.Errorf("%v, want that the context of card 1 hangs", err)
	}
	if err := d.Do(t.Context(), func(*gpu.Lane) error { return nil }); !errors.As(err, &hang) {
		t.Errorf("a batch: %v", err)
	}
	if err := d.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v, want that batches say it", err)
	}
	fake.Hang = 0
	for start := time.Now(); fake.Inside > 0 && time.Since(start) < 10*time.Second; {
		time.Sleep(time.Millisecond)
	}
}
