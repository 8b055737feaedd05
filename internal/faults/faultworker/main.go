// Command faultworker is a pelmill worker for the fault tests. Its codec is vq, except that images of three widths
// bring out what a codec must not do:
//
//	33    it panics
//	34    it sleeps for -sleep and ignores the end of its context
//	35    it ends the process with SIGKILL, as the kernel does when memory runs out
//	36    it panics where nobody recovers, which ends the process with the stacks of all goroutines
//
// It ends with code 99 when more images are being encoded at once than -cpu allows.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
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
	timeout := flag.Duration("timeout", 30*time.Second, "longest time for one picture")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	vq, err := codecs.Find("vq")
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
		Codecs:        []codec.Codec{&faulty{Codec: vq, most: int64(*cpu), sleep: *sleep}},
	})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// faulty is vq with faults in Encode.
type faulty struct {
	codec.Codec
	most   int64
	sleep  time.Duration
	active atomic.Int64
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
	return c.Codec.Encode(ctx, run, items, opts)
}
