// Command faultworker is a pelmill worker for the fault tests. Its codec is vq or that of -codec, except that images of some
// widths bring out what a codec must not do:
//
//	33    it panics
//	34    it sleeps for -sleep and ignores the end of its context
//	35    it ends the process with SIGKILL, as the kernel does when memory runs out
//	36    it panics where nobody recovers, which ends the process with the stacks of all goroutines
//	41    its file has one wrong bit, drawn from -seed, another one each time
//
// It ends with code 99 when more images are being encoded at once than -cpu allows.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	redis := flag.String("redis", os.Getenv("PELMILL_REDIS"), "Redis `URL`")
	cpu := flag.Int("cpu", 2, "pictures encoded at once")
	sleep := flag.Duration("sleep", time.Second, "how long a codec that ignores its context does so")
	name := flag.String("codec", "vq", "`name` of the codec")
	seed := flag.Uint64("seed", 0, "where the wrong bits come from")
	timeout := flag.Duration("timeout", 30*time.Second, "longest time for one picture")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := codecs.Find(*name)
	if err != nil {
		return err
	}
	conn, err := queue.Open(ctx, *redis, nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	buckets := storage.NewBuckets()
	buckets.S3Endpoint = os.Getenv("PELMILL_S3_ENDPOINT")
	defer buckets.Close()
	w, err := worker.New(conn, buckets, &worker.Options{
		CPU:           *cpu,
		Grace:         time.Second,
		ObjectTimeout: *timeout,
		Log:           slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Codecs:        []codec.Codec{&faulty{Codec: c, most: int64(*cpu), sleep: *sleep, bits: rand.New(rand.NewPCG(*seed, 37))}},
	})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// faulty is a codec with faults in Encode.
type faulty struct {
	codec.Codec
	most   int64
	sleep  time.Duration
	active atomic.Int64

	mu   sync.Mutex
	bits *rand.Rand
}

func (c *faulty) Encode(ctx context.Context, run codec.Run, items []codec.Item, opts codec.Options) []codec.Encoded {
	defer c.active.Add(-1)
	if n := c.active.Add(1); n > c.most {
		fmt.Fprintf(os.Stderr, "faultworker: %d pictures encoded at once, want at most %d\n", n, c.most)
		os.Exit(99)
	}
	for _, m := range codec.Images(items) {
		switch m.Width {
		case 33:
			panic("faultworker: picture of width 33")
		case 34:
			time.Sleep(c.sleep)
		case 35:
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				self.Kill()
			}
			select {}
		case 36:
			go panic("faultworker: picture of width 36")
			select {}
		}
	}
	out := c.Codec.Encode(ctx, run, items, opts)
	for i, m := range codec.Images(items) {
		if data := out[i].Data; m.Width == 41 && len(data) > 0 {
			c.mu.Lock()
			bit := c.bits.IntN(8 * len(data))
			c.mu.Unlock()
			data[bit/8] ^= 1 << (bit % 8)
		}
	}
	return out
}
