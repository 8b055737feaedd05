package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

func (p *program) doctor() *cobra.Command {
	c := &cluster{p: p}
	cmd := &cobra.Command{
		Use:   "doctor [SRC [DST...]]",
		Short: "Check Redis, buckets, codecs and this machine",
		Long: `Check what a job needs before it runs: with --redis the server's version, eviction
policy, persistence, memory and clock; the right to list and read SRC; the right
to create, read and delete in each DST, with objects under .pelmill/tmp/ that are
removed again; the spool of an intake that receives DICOM instances into SRC, and its quarantine; every codec and every decoder of DICOM files on pictures with known results; the cards with their links, kernels and
codecs; the free disk and the limit of open files.

Exit code 0 if nothing failed (warnings are allowed), 8 if Redis or a bucket cannot
be reached, else 1.`,
		GroupID: groupServing,
		Args:    arguments(0, 100),
		RunE: func(cmd *cobra.Command, args []string) error {
			d := &examination{p: p}
			d.all(cmd.Context(), c.redis, args)
			return d.end()
		},
	}
	c.flags(cmd.Flags())
	return cmd
}

// check is the result of one check, and what --json prints of it.
type check struct {
	Type   string `json:"type"`   // "check"
	Status string `json:"status"` // ok, warning or failed
	Name   string `json:"name"`
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
}

// examination collects the results of checks.
type examination struct {
	p           *program
	checks      []check
	unreachable bool
}

func (d *examination) ok(name, format string, args ...any) {
	d.add("ok", name, fmt.Sprintf(format, args...), "")
}

func (d *examination) warn(name, detail, advice string) { d.add("warning", name, detail, advice) }

func (d *examination) fail(name string, err error, advice string) {
	if errors.Is(err, queue.ErrUnreachable) || storage.Unreachable(err) {
		d.unreachable = true
	}
	d.add("failed", name, err.Error(), advice)
}

func (d *examination) add(status, name, detail, advice string) {
	c := check{"check", status, name, strings.ReplaceAll(detail, "\n", "; "), advice}
	d.checks = append(d.checks, c)
	if d.p.json {
		d.p.emit(c)
	}
}

// end prints the table and gives the exit code.
func (d *examination) end() error {
	failed := 0
	var table [][]string
	for _, c := range d.checks {
		if c.Status == "failed" {
			failed++
		}
		text := c.Detail
		if c.Advice != "" {
			text += ": " + c.Advice
		}
		if !d.p.quiet || c.Status != "ok" {
			table = append(table, []string{c.Status, c.Name, text})
		}
	}
	if !d.p.json {
		rows(d.p.stdout, table)
	}
	switch {
	case d.unreachable:
		return &exit{code: exitUnreachable}
	case failed > 0:
		return &exit{code: exitError}
	}
	return nil
}

func (d *examination) all(ctx context.Context, redis string, places []string) {
	if redis != "" {
		d.redis(ctx, redis)
	}
	buckets := d.p.newBuckets()
	buckets.Retry = storage.Retry{Attempts: 2, Timeout: 20 * time.Second} // who asks wants the truth, soon
	defer buckets.Close()
	var source *storage.Bucket
	for i, place := range places {
		b, err := buckets.Open(ctx, place)
		if err != nil {
			d.fail("bucket "+place, err, "")
			continue
		}
		if i == 0 {
			source = b
			d.source(ctx, b)
		} else {
			d.target(ctx, b)
			d.spool(ctx, source, b)
		}
		if b.Dir() != "" {
			d.disk(b.Dir())
		}
	}
	d.codecs(ctx)
	d.dicom()
	d.devices(ctx)
	d.disk(os.TempDir())
	d.openFiles()
}

// The bounds of the checks. A lease of the queue lasts 30 s and is counted by
// each machine's own clock.
const (
	skewWarning = time.Second
	skewLimit   = 10 * time.Second
	memoryShare = 0.7 // of maxmemory, where feeding stops
	diskWarning = 1 << 30
	filesLeast  = 1024
)

func (d *examination) redis(ctx context.Context, url string) {
	conn, err := queue.Open(ctx, url, nil)
	if err != nil {
		d.fail("redis", err, "")
		return
	}
	defer conn.Close()
	if v, err := conn.Version(ctx); err != nil {
		d.fail("redis version", err, "")
	} else {
		d.ok("redis version", "%s (6.2 or later is needed)", v)
	}
	switch policy, err := conn.Policy(ctx); {
	case err != nil:
		d.warn("redis eviction", err.Error(), "make sure that maxmemory-policy is noeviction")
	case policy != "noeviction":
		d.fail("redis eviction", fmt.Errorf("maxmemory-policy is %s", policy), "tasks would vanish; set it to noeviction")
	default:
		d.ok("redis eviction", "noeviction")
	}
	info, err := conn.Redis().Info(ctx, "persistence").Result()
	switch {
	case err != nil:
		d.warn("redis persistence", err.Error(), "")
	case strings.Contains(info, "aof_enabled:1"):
		d.ok("redis persistence", "append-only file")
	default:
		d.warn("redis persistence", "no append-only file", "a restart of Redis costs repeated work, no results; appendonly yes avoids it")
	}
	switch used, most, err := conn.Memory(ctx); {
	case err != nil:
		d.fail("redis memory", err, "")
	case most == 0:
		d.ok("redis memory", "%s used, no maxmemory", bytesText(used))
	case float64(used) > memoryShare*float64(most):
		d.warn("redis memory", fmt.Sprintf("%s of %s used", bytesText(used), bytesText(most)), "jobs are not fed above 70 %")
	default:
		d.ok("redis memory", "%s of %s used", bytesText(used), bytesText(most))
	}
	switch skew, err := conn.Clock(ctx); {
	case err != nil:
		d.fail("clock", err, "")
	case skew.Abs() > skewLimit:
		d.fail("clock", fmt.Errorf("differs from Redis by %v", skew.Round(time.Millisecond)), "leases of the queue need equal clocks; run NTP")
	case skew.Abs() > skewWarning:
		d.warn("clock", fmt.Sprintf("differs from Redis by %v", skew.Round(time.Millisecond)), "run NTP")
	default:
		d.ok("clock", "differs from Redis by %v", skew.Round(time.Millisecond))
	}
	switch workers, err := conn.Workers(ctx); {
	case err != nil:
		d.fail("workers", err, "")
	case len(workers) == 0:
		d.warn("workers", "none", "start pelmill worker with the same --redis")
	default:
		d.ok("workers", "%d", len(workers))
	}
}

// source tries what a job does with its source.
func (d *examination) source(ctx context.Context, b *storage.Bucket) {
	name := "source " + short(b.URL)
	var first *storage.Object
	found := errors.New("found")
	err := storage.Walk(ctx, b, nil, func(page storage.Page) error {
		if len(page.Objects) == 0 {
			return nil
		}
		first = &page.Objects[0]
		return found
	})
	switch {
	case err != nil && !errors.Is(err, found):
		d.fail(name, err, "")
	case first == nil:
		d.warn(name, "can be listed, holds no object", "")
	default:
		if _, err := storage.GetRange(ctx, b, first.Key, 0, min(1, first.Size)); err != nil {
			d.fail(name, err, "")
			return
		}
		d.ok(name, "can be listed and read")
	}
}

// target tries what a job does with its target: create, refuse to replace,
// read back, delete.
func (d *examination) target(ctx context.Context, b *storage.Bucket) {
	name := "target " + short(b.URL)
	var random [8]byte
	rand.Read(random[:])
	key := jobs.Root + "tmp/doctor-" + hex.EncodeToString(random[:])
	if _, err := storage.Put(ctx, b, key, []byte("pelmill doctor"), nil); err != nil {
		d.fail(name, err, "")
		return
	}
	defer func() {
		// An interrupted check still tidies up.
		if err := storage.Delete(context.WithoutCancel(ctx), b, key); err != nil {
			d.fail(name, err, "the test object "+key+" remains")
		}
	}()
	var exists *storage.ExistsError
	if _, err := storage.Put(ctx, b, key, []byte("another content"), nil); !errors.As(err, &exists) {
		d.fail(name, fmt.Errorf("a second create of one object did not conflict (%v)", err), "this store cannot be written safely")
		return
	}
	got, err := storage.Get(ctx, b, key, 1<<10, nil)
	if err != nil {
		d.fail(name, err, "")
		return
	}
	if string(got.Data) != "pelmill doctor" {
		d.fail(name, fmt.Errorf("an object read back differs from what was written"), "this store cannot be trusted")
		return
	}
	d.ok(name, "objects can be created once, read and deleted")
}

// spool looks at what an intake of DICOM instances keeps, where there is one.
func (d *examination) spool(ctx context.Context, source, target *storage.Bucket) {
	if source == nil {
		return
	}
	s, err := instances.Open(ctx, source, target, &instances.Options{Existing: true})
	if errors.Is(err, instances.ErrNone) {
		return
	}
	name := "spool " + short(source.URL)
	if err != nil {
		d.fail(name, err, "")
		return
	}
	defer s.Close()
	c, err := s.Examine(ctx)
	switch {
	case err != nil:
		d.fail(name, err, "senders are told to try again")
	case len(c.Damaged) > 0:
		d.fail(name, fmt.Errorf("of %d instances %d were read and %d have other bytes than were received, such as %s", c.Instances, c.Read, len(c.Damaged), c.Damaged[0]), "look at the disk, and for the instance at its sender")
	default:
		d.ok(name, "%s, %s; it can be written, and %d that were read are as received", plural(c.Instances, "instance"), bytesText(c.Bytes), c.Read)
	}
	for _, reason := range slices.Sorted(maps.Keys(c.Held)) {
		d.warn("quarantine "+string(reason), plural(c.Held[reason], "object"), "pelmill quarantine lists them")
	}
}

func (d *examination) disk(dir string) {
	free, err := freeSpace(dir)
	switch {
	case err != nil:
		d.warn("disk "+dir, err.Error(), "")
	case free < diskWarning:
		d.warn("disk "+dir, bytesText(free)+" free", "")
	default:
		d.ok("disk "+dir, "%s free", bytesText(free))
	}
}

func (d *examination) openFiles() {
	n, err := openFilesLimit()
	switch {
	case err != nil:
		d.warn("open files", err.Error(), "")
	case n < filesLeast:
		d.warn("open files", fmt.Sprintf("limit is %d", n), fmt.Sprintf("raise it to %d: ulimit -n", filesLeast))
	default:
		d.ok("open files", "limit is %d", n)
	}
}

// codecs lets every codec encode and decode images with known results.
func (d *examination) codecs(ctx context.Context) {
	for _, c := range codecs.All() {
		name := "codec " + c.Info().Name
		if err := worker.SelfTest(ctx, c, nil); err != nil {
			d.fail(name, err, "do not use this build on this machine")
			continue
		}
		d.ok(name, "version %d gives the known results", c.Info().Version)
	}
}

// dicom tries the dictionary and the decoders for DICOM files.
func (d *examination) dicom() {
	tried, err := imageio.SelfTestDICOM()
	if err != nil {
		d.fail("dicom", err, "do not use this build on this machine")
		return
	}
	d.ok("dicom", "%s", tried)
}
