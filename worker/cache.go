package worker

import (
	"context"
	"errors"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

// cache keeps what was read from storage and used last. A value that several callers
// want at the same time is read once. All methods are safe for concurrent use; nobody
// changes a value that is in a cache.
type cache[V any] struct {
	values  *lru.Cache[string, V]
	reading singleflight.Group

	valid  func(V) bool // nil: values stay valid
	weight func(V) int  // nil: weights are not counted
	limit  int          // of the weights of all values; a heavier value is kept alone
	total  atomic.Int64 // of the weights
}

// newCache returns a cache of at most size values.
func newCache[V any](size int) *cache[V] {
	c := &cache[V]{}
	values, err := lru.NewWithEvict(size, func(_ string, v V) {
		if c.weight != nil {
			c.total.Add(-int64(c.weight(v)))
		}
	})
	if err != nil {
		panic(err) // size is a constant of this package, and not below 1
	}
	c.values = values
	return c
}

// weighing bounds the sum of the weights of all values.
func (c *cache[V]) weighing(limit int, weight func(V) int) *cache[V] {
	c.limit, c.weight = limit, weight
	return c
}

// checking reads a value again when valid no longer says that it is valid.
func (c *cache[V]) checking(valid func(V) bool) *cache[V] {
	c.valid = valid
	return c
}

// get returns the value of key, which read reads if it is not there. Errors are not
// kept. The error is that of read, or the cause of the end of ctx.
func (c *cache[V]) get(ctx context.Context, key string, read func(context.Context) (V, error)) (V, error) {
	for {
		if v, ok := c.find(key); ok {
			return v, nil
		}
		done := c.reading.DoChan(key, func() (any, error) {
			if v, ok := c.find(key); ok {
				return v, nil // read since it was looked for
			}
			v, err := read(ctx)
			if err == nil {
				c.add(key, v)
			}
			return v, err
		})
		select {
		case r := <-done:
			if r.Err != nil && r.Shared && ctx.Err() == nil && (errors.Is(r.Err, context.Canceled) || errors.Is(r.Err, context.DeadlineExceeded)) {
				continue // the caller that was reading has ended, this one has not
			}
			return r.Val.(V), r.Err
		case <-ctx.Done():
			var none V
			return none, context.Cause(ctx)
		}
	}
}

func (c *cache[V]) find(key string) (v V, ok bool) {
	v, ok = c.values.Get(key)
	return v, ok && (c.valid == nil || c.valid(v))
}

func (c *cache[V]) add(key string, v V) {
	c.values.Remove(key)
	if c.weight != nil {
		c.total.Add(int64(c.weight(v)))
	}
	c.values.Add(key, v)
	for c.weight != nil && c.total.Load() > int64(c.limit) && c.values.Len() > 1 {
		c.values.RemoveOldest()
	}
}
