package storage

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestRetriesAreCounted(t *testing.T) {
	var again atomic.Int64
	r := Retry{Initial: time.Millisecond, Max: time.Millisecond, again: &again}.withDefaults()
	calls := 0
	try := func(fails int, err error) error {
		calls = 0
		return r.do(t.Context(), func(*attempt) error {
			if calls++; calls <= fails {
				return err
			}
			return nil
		})
	}
	if err := try(0, nil); err != nil || again.Load() != 0 {
		t.Errorf("success at once: %d retries, %v", again.Load(), err)
	}
	if err := try(3, errStalled); err != nil || again.Load() != 3 {
		t.Errorf("after 3 temporary errors: %d retries, %v", again.Load(), err)
	}
	if err := try(1, errors.New("for good")); err == nil || again.Load() != 3 {
		t.Errorf("an error for good: %d retries, %v", again.Load()-3, err)
	}
	if err := try(100, errStalled); err == nil || again.Load() != 3+int64(r.Attempts)-1 {
		t.Errorf("an error that stays: %d retries, want %d", again.Load()-3, r.Attempts-1)
	}

	bs := NewBuckets()
	defer bs.Close()
	b, err := bs.Open(context.Background(), "mem://counted")
	if err != nil || b.retry.again != &bs.again || bs.Retries() != 0 {
		t.Errorf("%d retries of a new bucket, %v", bs.Retries(), err)
	}
}
