//go:build cuda && cgo

package gputest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/driver"
	"github.com/pelmill/pelmill/gpu/gputest"
)

func TestUnusableCardsAreRefusedInOneSentence(t *testing.T) {
	for name, c := range map[string]struct {
		set  func()
		want string
	}{
		"no card":    {func() { fake.Cards = 0 }, "no card"},
		"old card":   {func() { fake.Capability = 70 }, "kernels need compute capability 7.5, the card has 7.0"},
		"old driver": {func() { fake.Version = 9020 }, "the driver is for CUDA 9.2, kernels in PTX 6.3 need one for CUDA 10.0 (driver 410.48) or later"},
	} {
		fake.Reset()
		c.set()
		d, err := gpu.Open("cuda")
		if d != nil || !errors.Is(err, gpu.ErrNoDevice) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if d, err := gpu.Open("auto"); d != nil || err != nil {
			t.Errorf("%s: auto: %v, %v", name, d, err)
		}
		if left := fake.Left(); left != "" {
			t.Errorf("%s: left %s", name, left)
		}
	}
}

// A driver that is too old says so by what it refuses, not only by its version.
func TestRefusedKernelsAreOneSentence(t *testing.T) {
	for _, code := range []int64{209, 218, 222} {
		want := fmt.Sprintf("card 0: the driver, for CUDA 12.8, refuses the kernels of %%s in PTX 6.3 for compute capability 7.5 (FAKE_ERROR_%d, %d), "+
			"which need one for CUDA 10.0 (driver 410.48) or later: no usable device", code, code)
		fake.Reset()
		fake.RefusePTX = code
		d, err := gpu.Open("cuda")
		if d != nil || !errors.Is(err, gpu.ErrNoDevice) || !strings.Contains(err.Error(), fmt.Sprintf(want, "gpu")) || strings.Contains(err.Error(), "\n") {
			t.Errorf("open: %v", err)
		}
		if left := fake.Left(); left != "" {
			t.Errorf("left %s", left)
		}
		fake.RefusePTX = 0
		d = open(t, nil)
		fake.RefusePTX = code
		err = d.Do(t.Context(), func(l *gpu.Lane) error { return batch(l, pixels) })
		if !errors.Is(err, gpu.ErrNoDevice) || !strings.Contains(err.Error(), fmt.Sprintf(want, "test")) || strings.Contains(err.Error(), "\n") {
			t.Errorf("a later module: %v", err)
		}
		closed(t, d)
	}
}

// TestAHangEndsInTheWatchdog lets each call after Open hang, those of Close too.
func TestAHangEndsInTheWatchdog(t *testing.T) {
	n := calls(t)
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: lanes})
	opened := fake.Calls
	closed(t, d)
	for at := opened + 1; at <= n; at += 4 {
		fake.Reset()
		fake.HangAt, fake.Hang = at, 1
		d := open(t, &gpu.Options{Lanes: lanes, Hang: 20 * time.Millisecond})
		var running sync.WaitGroup
		for range batches {
			if err := d.Do(t.Context(), func(l *gpu.Lane) error {
				running.Add(1)
				defer running.Done()
				return batch(l, pixels)
			}); err != d.Err() {
				t.Errorf("hang at call %d: %v, the card's error is %v", at, err, d.Err())
			}
		}
		err := d.Close()
		var hang *gpu.HangError
		if !errors.As(err, &hang) || !errors.Is(err, gpu.ErrFatal) || !strings.HasPrefix(hang.Call, "cu") || err != d.Err() {
			t.Errorf("hang at call %d: close: %v", at, err)
		}
		fake.Hang = 0
		running.Wait()
		for fake.Inside != 0 || hang != nil && hang.Card < 0 && fake.Contexts != 0 {
			time.Sleep(time.Millisecond) // until what hung has ended too
		}
	}
}

// TestAHangWhileOpeningEndsInTheWatchdog lets each call of Open hang.
func TestAHangWhileOpeningEndsInTheWatchdog(t *testing.T) {
	fake.Reset()
	d := open(t, &gpu.Options{Lanes: 2})
	opened := fake.Calls
	closed(t, d)
	if opened < 15 {
		t.Fatalf("Open made only %d calls", opened)
	}
	for at := int64(1); at <= opened; at++ {
		for _, spec := range []string{"cuda", "auto"} {
			fake.Reset()
			fake.HangAt, fake.Hang = at, 1
			d, err := gpu.OpenWith(spec, &gpu.Options{Lanes: 2, Hang: 20 * time.Millisecond})
			var hang *gpu.HangError
			if d != nil || !errors.As(err, &hang) || !errors.Is(err, gpu.ErrFatal) || !strings.HasPrefix(hang.Call, "cu") || strings.Contains(err.Error(), "-1") {
				t.Errorf("hang at call %d of Open(%q): %v, %v", at, spec, d, err)
			}
			if fake.Inside != 1 || fake.Calls != at {
				t.Errorf("hang at call %d: %d calls, %d under way", at, fake.Calls, fake.Inside)
			}
			fake.Hang = 0
			for fake.Inside != 0 {
				time.Sleep(time.Millisecond) // until what hung has ended too
			}
			time.Sleep(2 * time.Millisecond)
			if n := fake.Calls; n > at+attributes {
				t.Errorf("hang at call %d: %d more calls of a driver that was given up", at, n-at)
			}
		}
	}
}

// TestCardsAreOpenedSideBySide: one card gets all that it needs while the driver takes its time for the other one.
func TestCardsAreOpenedSideBySide(t *testing.T) {
	fake.Reset()
	fake.Cards = 2
	if _, err := gpu.List(); err != nil {
		t.Fatal(err)
	}
	listing := fake.Calls
	fake.Reset()
	fake.Cards = 2
	d := open(t, &gpu.Options{Lanes: 2})
	each := (fake.Calls - listing) / 2
	closed(t, d)

	fake.Reset()
	fake.Cards, fake.HangAt, fake.Hang = 2, listing+1, 1
	d, err := gpu.StartWith("cuda", &gpu.Options{Lanes: 2})
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); fake.Calls < listing+1+each; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d calls while the first for a card does not return, want %d", fake.Calls, listing+1+each)
		}
	}
	fake.Hang = 0
	if err := d.Opened(t.Context()); err != nil || len(d.Cards()) != 2 {
		t.Errorf("%d cards, %v", len(d.Cards()), err)
	}
	closed(t, d)
}

// attributes is how many calls describe a card, which are watched as one.
const attributes = 10

// TestAProcessWithoutADriver runs this binary with a driver that cannot be had.
func TestAProcessWithoutADriver(t *testing.T) {
	if os.Getenv("PELMILL_FAKE_INIT") == "hangs" {
		d, err := gpu.OpenWith("cuda", &gpu.Options{Hang: 20 * time.Millisecond})
		var hang *gpu.HangError
		if d != nil || !errors.As(err, &hang) || hang.Call != "cuInit" {
			t.Fatalf("%v, %v", d, err)
		}
		t.Logf("said: %v", err)
		return
	}
	if os.Getenv("PELMILL_FAKE_INIT") != "" {
		_, err := gpu.List()
		_, err2 := gpu.Open("cuda")
		d, err3 := gpu.Open("auto")
		if !errors.Is(err, gpu.ErrNoDevice) || !errors.Is(err2, gpu.ErrNoDevice) || d != nil || err3 != nil {
			t.Fatalf("%v; %v; %v, %v", err, err2, d, err3)
		}
		t.Logf("said: %v", err2)
		return
	}
	for kind, want := range map[string]string{"missing": "NVIDIA's driver is not installed", "fails": "cuInit: ", "hangs": "gpu: cuInit: did not return within 20ms"} {
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestAProcessWithoutADriver$")
		cmd.Env = append(os.Environ(), "PELMILL_FAKE_INIT="+kind)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", kind, err, out)
		}
	}
}

// TestTheOnlyCardIsShownAlone runs this binary with a driver that the system finds and that has three cards: whoever has to do with one
// alone sees no other, by the number that the card has among all, unless the environment says which there are.
func TestTheOnlyCardIsShownAlone(t *testing.T) {
	cases := map[string]struct {
		spec, visible string
		only          bool
		init          int64  // what cuInit returns
		name          string // of the card; empty: there is none
		index, cards  int    // its number, and how many the driver shows
		says          string
	}{
		"only":      {spec: "cuda:2", only: true, name: "Fake 2", index: 2, cards: 1},
		"first":     {spec: "cuda:0", only: true, name: "Fake 0", index: 0, cards: 1},
		"not only":  {spec: "cuda:2", name: "Fake 2", index: 2, cards: 3},
		"all":       {spec: "cuda", only: true, name: "3 x Fake 0", index: 0, cards: 3},
		"chosen":    {spec: "cuda:0", visible: "1", only: true, name: "Fake 1", index: 0, cards: 1},
		"not there": {spec: "cuda:3", only: true, says: "the driver shows no card 3"},
		"fails":     {spec: "cuda:2", only: true, init: 803, says: "cuInit: CUDA error 803: no usable device"},
	}
	if name, child := os.LookupEnv("PELMILL_FAKE_CASE"); child {
		c := cases[name]
		d, err := gpu.OpenWith(c.spec, &gpu.Options{Only: c.only, Lanes: 1})
		if c.name == "" {
			if !errors.Is(err, gpu.ErrNoDevice) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want it to say %q", err, c.says)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if d.Name() != c.name || d.Cards()[0].Index != c.index {
			t.Errorf("%s with cards %v, want %s, card %d", d.Name(), d.Cards(), c.name, c.index)
		}
		if list, err := gpu.List(); err != nil || len(list) != c.cards {
			t.Errorf("the driver shows %v, %v, want %d cards", list, err, c.cards)
		}
		again, err := gpu.OpenWith(c.spec, nil)
		if err != nil || again.Name() != c.name {
			t.Errorf("again: %s, %v", again.Name(), err)
		}
		if _, err := gpu.Open("cuda:7"); !errors.Is(err, gpu.ErrNoDevice) || !strings.Contains(err.Error(), "there are cards ") {
			t.Errorf("card 7: %v", err)
		}
		if err := errors.Join(d.Close(), again.Close()); err != nil {
			t.Error(err)
		}
		return
	}
	t.Setenv("PELMILL_FAKE_DRIVER", os.Getenv("PELMILL_FAKE_DRIVER")) // which BuildFake changes
	dir := t.TempDir()
	f, library, err := gputest.BuildFake(dir)
	if err == nil {
		err = os.Rename(library, filepath.Join(dir, driver.Library))
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		f.Reset()
		f.Cards, f.Init = 3, c.init
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestTheOnlyCardIsShownAlone$")
		cmd.Env = append(os.Environ(), "PELMILL_FAKE_INIT=found", "PELMILL_FAKE_CASE="+name, "LD_LIBRARY_PATH="+dir)
		if c.visible != "" {
			cmd.Env = append(cmd.Env, "CUDA_VISIBLE_DEVICES="+c.visible)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if left := f.Left(); left != "" {
			t.Errorf("%s: %s", name, left)
		}
	}
}

// TestStartReturnsWhileTheCardOpens: a caller of Start knows the card before it has lanes, and
// whatever needs a lane waits for them, or hears why there are none. Close waits too.
func TestStartReturnsWhileTheCardOpens(t *testing.T) {
	fake.Reset()
	d := open(t, nil)
	opened := fake.Calls
	closed(t, d)

	fake.Reset()
	fake.HangAt, fake.Hang = opened, 1 // the last call of all
	d, err := gpu.Start("cuda")
	if err != nil || d.Name() != "Fake 0" || len(d.Cards()) != 1 {
		t.Fatalf("%v, %s with cards %v", err, d.Name(), d.Cards())
	}
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the caller has gone"))
	for what, err := range map[string]error{
		"Opened": d.Opened(gone), "Do": d.Do(gone, func(*gpu.Lane) error { t.Error("a batch runs on a card that is not open"); return nil }),
	} {
		if err == nil || err.Error() != "the caller has gone" {
			t.Errorf("%s of a card that is being opened: %v", what, err)
		}
	}
	ran := make(chan error, 1)
	go func() { ran <- d.Do(t.Context(), func(*gpu.Lane) error { return nil }) }()
	select {
	case err := <-ran:
		t.Errorf("a batch ran before the card was open: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	fake.Hang = 0
	if err := <-ran; err != nil {
		t.Error(err)
	}
	closed(t, d)

	// A card that is there and refuses to be used.
	for _, spec := range []string{"cuda", "auto"} {
		fake.Reset()
		fake.FailAt, fake.Code, fake.Sticky = opened, 2, 1
		d, err := gpu.Start(spec)
		if err != nil || d == nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{"Opened": d.Opened(t.Context()), "Do": d.Do(t.Context(), func(*gpu.Lane) error { return nil })} {
			if !errors.Is(err, gpu.ErrNoDevice) || !strings.Contains(err.Error(), spec) {
				t.Errorf("%s of a card that does not open: %v", what, err)
			}
		}
		if _, err := d.Host(1); !errors.Is(err, gpu.ErrNoDevice) {
			t.Errorf("pinned memory of it: %v", err)
		}
		if d.Name() != "" || d.Cards() != nil || d.Close() != nil {
			t.Errorf("it is %q with cards %v", d.Name(), d.Cards())
		}
	}

	fake.Reset()
	fake.Cards = 0
	if d, err := gpu.Start("cuda"); d != nil || !errors.Is(err, gpu.ErrNoDevice) {
		t.Errorf("without a card: %v, %v", d, err)
	}
	if d, err := gpu.Start("auto"); d != nil || err != nil {
		t.Errorf("without a card: %v, %v", d, err)
	}
	if d, err := gpu.Start("cpu"); d != nil || err != nil || d.Opened(t.Context()) != nil {
		t.Errorf("the CPU: %v, %v", d, err)
	}
}

// Cards that are presumed are waited for as those that are known, also where there are others, or none.
func TestPresumedCards(t *testing.T) {
	fake.Reset()
	fake.Cards, fake.HangAt, fake.Hang = 2, 1, 1 // the first call that lists them
	d, err := gpu.StartWith("cuda", &gpu.Options{Presume: 3, Lanes: 2})
	if err != nil || d.Name() != "" || len(d.Cards()) != 3 {
		t.Fatalf("%v, %q with cards %v before they are known", err, d.Name(), d.Cards())
	}
	gone, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("the caller has gone"))
	defer cancel()
	if err := d.Opened(gone); err == nil || err.Error() != "the caller has gone" {
		t.Errorf("before the cards are known: %v", err)
	}
	fake.Hang = 0
	if err := d.Opened(t.Context()); err != nil || d.Name() != "2 x Fake 0" || len(d.Cards()) != 2 {
		t.Errorf("%v, %q with cards %v", err, d.Name(), d.Cards())
	}
	if err := d.Do(t.Context(), func(*gpu.Lane) error { return nil }); err != nil {
		t.Error(err)
	}
	closed(t, d)

	fake.Reset()
	fake.Cards = 0
	if d, err = gpu.StartWith("cuda", &gpu.Options{Presume: 1}); err != nil {
		t.Fatal(err)
	}
	if err := d.Opened(t.Context()); !errors.Is(err, gpu.ErrNoDevice) || !strings.Contains(err.Error(), "no card") {
		t.Errorf("without a card: %v", err)
	}
	if err := d.Do(t.Context(), func(*gpu.Lane) error { return nil }); !errors.Is(err, gpu.ErrNoDevice) {
		t.Errorf("a batch without a card: %v", err)
	}
	if d.Name() != "" || d.Cards() != nil || d.Close() != nil {
		t.Errorf("without a card it is %q with cards %v", d.Name(), d.Cards())
	}

	fake.Reset()
	fake.HangAt, fake.Hang = 1, 1
	if d, err = gpu.StartWith("cuda", &gpu.Options{Presume: 1, Hang: 20 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	var hang *gpu.HangError
	if err := d.Opened(t.Context()); !errors.As(err, &hang) {
		t.Errorf("a driver that hangs: %v", err)
	}
	fake.Hang = 0
	for fake.Inside > 0 {
		time.Sleep(time.Millisecond)
	}
}
