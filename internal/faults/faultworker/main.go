// Command faultworker is a pelmill worker for the fault tests. Its codec is vq or that of -codec, except that images of some
// widths bring out what a codec must not do:
//
//	33    it panics
//	34    it sleeps for -sleep and ignores the end of its context
//	35    it ends the process with SIGKILL, as the kernel does when memory runs out
//	36    it panics where nobody recovers, which ends the process with the stacks of all goroutines
//	41    its file has one wrong bit, drawn from -seed, another one each time
//
// With -flip-all every file has such a bit, also those of sources that are not decoded, but for those of the self-test.
//
// It ends with code 99 when more images are being encoded at once than -cpu allows.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
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
	all := flag.Bool("flip-all", false, "a wrong bit in every file")
	timeout := flag.Duration("timeout", 30*time.Second, "longest time for one picture")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := codecs.Find(*name)
	if err != nil {
		return err
	}
	tested, err := selfTestImages(ctx, c)
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
		Codecs: []codec.Codec{faultyOf(&faulty{
			Codec: c, tested: tested, most: int64(*cpu), sleep: *sleep, all: *all, bits: rand.New(rand.NewPCG(*seed, 37)),
		})},
	})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// faulty is a codec with faults in Encode.
type faulty struct {
	codec.Codec
	tested map[string]bool // images of the self-test, which have no faults
	most   int64
	sleep  time.Duration
	all    bool // files have a wrong bit
	active atomic.Int64

	mu   sync.Mutex
	bits *rand.Rand
}

// faultySource is a faulty codec that keeps sources.
type faultySource struct {
	*faulty
	source codec.SourceCodec
}

func (c faultySource) SourceFormat() string { return c.source.SourceFormat() }
func (c faultySource) SourceSample() []byte { return c.source.SourceSample() }
func (c faultySource) Restore(ctx context.Context, run codec.Run, files [][]byte) []codec.Encoded {
	return c.source.Restore(ctx, run, files)
}

// faultyOf is what the worker gets: a codec that keeps sources where c does.
func faultyOf(c *faulty) codec.Codec {
	if source, ok := c.Codec.(codec.SourceCodec); ok {
		return faultySource{c, source}
	}
	return c
}

// flips reports whether the file of an item gets a wrong bit.
func (c *faulty) flips(i codec.Item) bool { return c.all || width(i) == 41 }

// fromJob reports whether an item is of a job, and not of the self-test.
func (c *faulty) fromJob(i codec.Item) bool {
	if source, ok := c.Codec.(codec.SourceCodec); ok {
		return !bytes.Equal(i.Source.Data, source.SourceSample())
	}
	return !c.tested[i.Image.Hash()]
}

// recorder is a codec that keeps the hashes of the images which it encodes.
type recorder struct {
	codec.Codec
	mu     sync.Mutex
	hashes map[string]bool
}

func (r *recorder) Encode(ctx context.Context, run codec.Run, items []codec.Item, opts codec.Options) []codec.Encoded {
	r.mu.Lock()
	for _, i := range items {
		r.hashes[i.Image.Hash()] = true
	}
	r.mu.Unlock()
	return r.Codec.Encode(ctx, run, items, opts)
}

// selfTestImages has the hashes of the images with which a worker tests c.
func selfTestImages(ctx context.Context, c codec.Codec) (map[string]bool, error) {
	if _, ok := c.(codec.SourceCodec); ok {
		return nil, nil // it is tested with its SourceSample
	}
	r := &recorder{Codec: c, hashes: map[string]bool{}}
	return r.hashes, worker.SelfTest(ctx, r, nil)
}

// width is that of an item's image, or 0 of a source that is not decoded.
func width(i codec.Item) int {
	if i.Image == nil {
		return 0
	}
	return i.Image.Width
}

func (c *faulty) Encode(ctx context.Context, run codec.Run, items []codec.Item, opts codec.Options) []codec.Encoded {
	if !slices.ContainsFunc(items, c.fromJob) {
		return c.Codec.Encode(ctx, run, items, opts) // which takes all cores, whatever -cpu says
	}
	defer c.active.Add(-1)
	if n := c.active.Add(1); n > c.most {
		fmt.Fprintf(os.Stderr, "faultworker: %d pictures encoded at once, want at most %d\n", n, c.most)
		os.Exit(99)
	}
	for _, i := range items {
		switch width(i) {
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
	for i := range items {
		if data := out[i].Data; len(data) > 0 && c.flips(items[i]) {
			c.mu.Lock()
			bit := c.bits.IntN(8 * len(data))
			c.mu.Unlock()
			data[bit/8] ^= 1 << (bit % 8)
		}
	}
	return out
}
