package queue

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

func benchKinds(b *testing.B, fn func(b *testing.B, c *Conn)) {
	b.Run("embedded", func(b *testing.B) { fn(b, open(b, "")) })
	b.Run("redis", func(b *testing.B) { fn(b, open(b, services.Redis(b).URL())) })
}

func BenchmarkEnqueue(b *testing.B) {
	benchKinds(b, func(b *testing.B, c *Conn) {
		for i := 0; b.Loop(); i++ {
			enqueue(b, c, 0, task(i))
		}
	})
}

// BenchmarkReconcile is a scheduler that feeds a window again which is there.
func BenchmarkReconcile(b *testing.B) {
	benchKinds(b, func(b *testing.B, c *Conn) {
		const window = 2000
		for i := range window {
			enqueue(b, c, 0, task(i))
		}
		for i := 0; b.Loop(); i++ {
			wantErr(b, c.Tasks(0).Enqueue(b.Context(), task(i%window)), ErrQueued)
		}
	})
}

func BenchmarkCommit(b *testing.B) {
	benchKinds(b, func(b *testing.B, c *Conn) {
		if err := c.Job("j").Init(b.Context(), 1<<20, nil, jobs.Counts{}); err != nil {
			b.Fatal(err)
		}
		for i := 0; b.Loop(); i++ {
			if _, err := c.Job("j").commit(b.Context(), i%(1<<20), counts(3)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkReap(b *testing.B) {
	benchKinds(b, func(b *testing.B, c *Conn) {
		for i := range 500 {
			enqueue(b, c, 0, task(i))
		}
		now := time.Now().Add(time.Hour)
		for range 500 {
			activate(b, c, 0, now)
		}
		for b.Loop() {
			if _, err := c.Reap(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkServe(b *testing.B) {
	benchKinds(b, func(b *testing.B, c *Conn) {
		for i := range b.N {
			enqueue(b, c, 0, task(i))
		}
		var n atomic.Int64
		done := make(chan struct{})
		b.ResetTimer()
		serve(b, c, ServerOptions{Concurrency: 8}, func(ctx context.Context, t jobs.Task, attempt int) error {
			if n.Add(1) == int64(b.N) {
				close(done)
			}
			return nil
		})
		<-done
	})
}
