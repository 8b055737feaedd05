package api

import (
	"context"
	"sync"
	"time"
)

// listFresh is for how long an answer other than the status of a job is given to everybody who asks.
const listFresh = 2 * time.Second

// mostKept bounds how many answers of a kind are kept.
const mostKept = 256

// fresh keeps answers by name for a moment. However many ask, one at a time finds out.
type fresh[T any] struct {
	mu      sync.Mutex
	answers map[string]*answer[T]
}

type answer[T any] struct {
	done  chan struct{} // closed when the rest is there
	at    time.Time
	value T
	err   error
}

// get gives the answer of that name, of at most listFresh ago; an error is given to those who wait for it only. find is called in the name of everybody who waits for
// it, so that it does not end with the first of them; it has lookTime.
func (f *fresh[T]) get(ctx context.Context, name string, find func(context.Context) (T, error)) (value T, err error) {
	f.mu.Lock()
	x := f.answers[name]
	if x != nil {
		select {
		case <-x.done:
			if time.Since(x.at) > listFresh {
				x = nil
			}
		default:
		}
	}
	if x == nil {
		x = &answer[T]{done: make(chan struct{})}
		f.keep(name, x)
		go func() {
			defer close(x.done)
			fctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
			defer cancel()
			if x.value, x.err = find(fctx); x.err == nil {
				x.at = time.Now()
			}
		}()
	}
	f.mu.Unlock()
	select {
	case <-x.done:
	case <-ctx.Done():
		return value, problemOf(ctx.Err())
	}
	if x.err != nil {
		return value, problemOf(x.err)
	}
	return x.value, nil
}

// keep remembers x, and forgets what is too old where there is too much.
func (f *fresh[T]) keep(name string, x *answer[T]) {
	if f.answers == nil || len(f.answers) >= mostKept {
		kept := map[string]*answer[T]{}
		for n, y := range f.answers {
			select {
			case <-y.done:
				if time.Since(y.at) < listFresh && len(kept) < mostKept/2 {
					kept[n] = y
				}
			default:
				kept[n] = y
			}
		}
		f.answers = kept
	}
	f.answers[name] = x
}

// drop forgets everything.
func (f *fresh[T]) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers = nil
}
