package worker

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// The device is given back when no object of the plan needs it any more, once, and stays where that is not certain.
func TestTheLastUseOfADevice(t *testing.T) {
	plan := jobs.Chunks{{Objects: 3}, {Objects: 2}}
	first, second := jobs.Task{Job: "a", Index: 0}, jobs.Task{Job: "a", Index: 1}
	for _, c := range []struct {
		name string
		do   func(u *lastUse)
		want int
	}{
		{"all are past", func(u *lastUse) {
			u.begins(first, plan)
			u.past(3)
			u.begins(second, plan)
			u.past(1)
			u.past(1)
		}, 1},
		{"one is not", func(u *lastUse) {
			u.begins(first, plan)
			u.begins(second, plan)
			u.past(4)
		}, 0},
		{"one is tried again", func(u *lastUse) {
			u.begins(first, plan)
			u.past(4)
			if !u.there(true, true) {
				t.Error("it is gone while one needs it")
			}
			u.past(1)
		}, 0},
		{"one is tried again and then past", func(u *lastUse) {
			u.begins(first, plan)
			u.past(4)
			u.there(true, true)
			u.past(2)
		}, 1},
		{"one is tried again too late", func(u *lastUse) {
			u.begins(first, plan)
			u.past(5)
			if u.there(true, true) || u.there(false, false) {
				t.Error("it is said to be there")
			}
			u.past(1)
		}, 1},
		{"a chunk comes again", func(u *lastUse) {
			u.begins(first, plan)
			u.begins(first, plan)
			u.past(5)
		}, 0},
		{"a chunk fails", func(u *lastUse) {
			u.begins(first, plan)
			u.past(4)
			u.fails()
			u.past(1)
		}, 0},
		{"another job", func(u *lastUse) {
			u.begins(first, plan)
			u.begins(jobs.Task{Job: "b", Index: 1}, plan)
			u.past(5)
		}, 0},
	} {
		given := 0
		u := &lastUse{giveBack: func() { given++ }}
		c.do(u)
		if u.wait(); given != c.want {
			t.Errorf("%s: given back %d times, want %d", c.name, given, c.want)
		}
	}
	var none *lastUse
	none.begins(first, plan)
	none.past(9)
	none.fails()
	none.wait()
	if !none.there(true, true) {
		t.Error("a device that is not looked for is said to be gone")
	}
}

// oneJob is a worker whose process ends with its job. given is closed when it gives the device back.
func oneJob(j *job, c codec.Codec) (w *Worker, given chan struct{}) {
	w, given = j.deviceWorker(Options{CPU: 2, TestOnUse: true, OneJob: true}, c), make(chan struct{})
	w.lastUse.giveBack = func() {
		w.discardDevice()
		close(given)
	}
	return w, given
}

const photoSide = 8 // no image of the self-test is as small

// Cores check results when the device is given back, and nothing of the job is encoded on it afterwards.
func TestTheDeviceIsGivenBackWhileCoresCheck(t *testing.T) {
	var given chan struct{}
	var made, late atomic.Int64
	isGiven := func() bool {
		select {
		case <-given:
			return true
		default:
			return false
		}
	}
	var j *job
	c := &fake{
		encode: func(_ context.Context, dev *gpu.Device, m *raster.Image) ([]byte, error, bool) {
			if dev != nil && m.Width == photoSide {
				made.Add(1)
				if isGiven() {
					late.Add(1)
				}
			}
			return nil, nil, false
		},
		decode: func(m *raster.Image) (*raster.Image, error, bool) {
			if m.Width == photoSide && made.Load() == 40 { // else others may have to be read first
				select {
				case <-given:
				case <-time.After(time.Minute):
					j.t.Error("the device is not given back while results are to be checked")
				}
			}
			return nil, nil, false
		},
	}
	j = newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.ChunkObjects = 7 }).queued()
	j.photos(40, photoSide).plan()
	w, ended := oneJob(j, c)
	given = ended
	if counts := j.run(w); counts.Compressed != 40 {
		t.Errorf("%+v, want 40 compressed", counts)
	}
	if n := late.Load(); n > 0 {
		t.Errorf("%d images were encoded on the device after it was given back", n)
	}
	for key, r := range j.results() {
		if r.Attempts != 1 || r.Verified != "full" || r.Outcome != jobs.OutcomeCompressed {
			t.Errorf("%s: %s in attempt %d, verified %s", key, r.Outcome, r.Attempts, r.Verified)
		}
	}
}

// A result that fails its check when the device is gone is made again on the CPU; where others still need the device it is made there.
func TestAnObjectThatIsTriedAgain(t *testing.T) {
	for _, gone := range []bool{false, true} {
		t.Run(fmt.Sprintf("gone %v", gone), func(t *testing.T) {
			var given chan struct{}
			var made, failed, again atomic.Int64
			c := &fake{
				encode: func(_ context.Context, dev *gpu.Device, m *raster.Image) ([]byte, error, bool) {
					if m.Width != photoSide {
						return nil, nil, false
					}
					if made.Add(1); failed.Load() > 0 && again.Add(1) == 1 && (dev == nil) != gone {
						t.Errorf("it is made again with the device %v", dev != nil)
					}
					return nil, nil, false
				},
				decode: func(m *raster.Image) (*raster.Image, error, bool) {
					if m.Width != photoSide || made.Load() < 10 { // those that are to be encoded first may have to be read
						return nil, nil, false
					}
					if gone {
						<-given
					}
					if failed.Add(1) == 1 {
						return nil, codec.Malformedf("it does not decode"), true
					}
					return nil, nil, false
				},
			}
			j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.ChunkObjects = 10 }).queued()
			j.photos(10, photoSide).plan()
			w, ended := oneJob(j, c)
			given = ended
			if !gone {
				w.lastUse.left = 1 // another object, which does not come
			}
			if counts := j.run(w); counts.Compressed != 10 {
				t.Errorf("%+v, want 10 compressed", counts)
			}
			var attempts []int
			for _, r := range j.results() {
				attempts = append(attempts, r.Attempts)
			}
			slices.Sort(attempts)
			if want := []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 2}; !slices.Equal(attempts, want) {
				t.Errorf("attempts %v, want %v", attempts, want)
			}
		})
	}
}

// The device stays where something may still be at work on it.
func TestWhenTheDeviceStays(t *testing.T) {
	j := newJob(t, "mem://source", "mem://target", &fake{}, nil)
	for _, c := range []struct {
		name    string
		set     func(w *Worker)
		discard bool
	}{
		{"open, and nothing at work", func(w *Worker) {}, true},
		{"not open", func(w *Worker) { w.open.Store(false) }, false},
		{"a self-test", func(w *Worker) { w.testing.Add(1) }, false},
		{"a call that was given up", func(w *Worker) { w.laneGuards.stuck.Add(1) }, false},
	} {
		w, _ := oneJob(j, &fake{})
		w.open.Store(true)
		c.set(w)
		if w.discardDevice(); w.lender.closed != c.discard {
			t.Errorf("%s: given back is %v, want %v", c.name, w.lender.closed, c.discard)
		}
	}
}

// Whoever ends the work does not wait for a batch that goes on.
func TestTheDeviceStaysWhereTheWorkIsEnded(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{}, batchImages)
	c := &fake{encode: func(_ context.Context, dev *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		if dev != nil && m.Width == photoSide {
			held <- struct{}{}
			<-hold
		}
		return nil, nil, false
	}}
	j := newJob(t, "mem://source", "mem://target", c, nil).queued()
	j.photos(3, photoSide).plan()
	w, given := oneJob(j, c)
	w.opts.Grace = 10 * time.Millisecond
	ctx, end := context.WithCancel(j.ctx)
	over := make(chan error, 1)
	go func() { over <- w.Run(ctx) }()
	if err := j.conn.Tasks(0).Enqueue(j.ctx, j.tasks[0]); err != nil {
		t.Fatal(err)
	}
	<-held
	end()
	if err := <-over; err != nil {
		t.Error(err)
	}
	select {
	case <-given:
		t.Error("the device is given back while a batch is at work")
	default:
	}
	close(hold)
}
