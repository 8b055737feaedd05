package instances

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

const (
	root     = jobs.Root
	received = "received/" // of the spool
)

// Quarantine is where a target has what was not taken.
const Quarantine = root + "quarantine/"

// DefaultMostBytes is the most bytes of an instance: no job reads a larger file.
const DefaultMostBytes = 1 << 30

// countEvery is the time between two counts of what the store keeps.
const countEvery = 10 * time.Minute

// Options of [Open]. The zero value of a field is its default.
type Options struct {
	MostBytes int64        // of an instance; default: DefaultMostBytes
	Budget    int64        // most bytes of everything that the store keeps; default: no limit
	Floor     int64        // bytes that stay free, by Free
	Free      func() int64 // bytes that are free where the spool is; nil: that is not known
	Existing  bool         // it must be there: nothing is made
}

// ErrNone means that nothing with an audit trail has worked on a target.
var ErrNone = errors.New("instances: nothing that receives instances or has --audit has worked on the target")

// Store keeps instances durably. It is safe for concurrent use; one process serves a spool at a time.
type Store struct {
	spool, target *storage.Bucket
	opts          Options
	hash          *sitekey.Key
	budget        budget
	audit         *audit
	metrics       *metrics
	staging       string // folder of instances that arrive
	buckets       *storage.Buckets
	stagingBucket *storage.Bucket
	same          [64]sync.Mutex // held while an instance with a UID is stored, by its hash
}

// Open opens a store. Whoever opens it closes it.
func Open(ctx context.Context, spool, target *storage.Bucket, opts *Options) (*Store, error) {
	s := &Store{spool: spool, target: target, buckets: storage.NewBuckets()}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.MostBytes == 0 {
		s.opts.MostBytes = DefaultMostBytes
	}
	if dir := spool.Dir(); dir != "" && !s.opts.Existing {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, fmt.Errorf("instances: %w", err)
		}
	}
	s.metrics = newMetrics(s)
	s.budget = budget{most: s.opts.Budget, floor: s.opts.Floor, free: s.opts.Free}
	var err error
	if s.hash, err = openSiteKey(ctx, target, !s.opts.Existing); err != nil {
		return nil, err
	}
	if err := s.Count(ctx); err != nil {
		return nil, err
	}
	if s.staging, err = os.MkdirTemp("", "pelmill-instances-"); err != nil {
		return nil, fmt.Errorf("instances: %w", err)
	}
	if s.stagingBucket, err = s.buckets.Open(ctx, filepath.ToSlash(s.staging)); err != nil {
		os.RemoveAll(s.staging)
		return nil, err
	}
	if s.audit, err = openAudit(ctx, target); err != nil {
		os.RemoveAll(s.staging)
		return nil, err
	}
	return s, nil
}

// Close writes what is left of the audit trail.
func (s *Store) Close() error {
	return errors.Join(s.audit.close(), s.buckets.Close(), os.RemoveAll(s.staging))
}

// Watch counts what the store keeps every now and then, until ctx ends.
func (s *Store) Watch(ctx context.Context, failed func(error)) {
	t := time.NewTicker(countEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if err := s.Count(ctx); err != nil && ctx.Err() == nil {
				failed(err)
			}
		}
	}
}

// Room reports whether n more bytes can be taken in, before they come; n below 1 means that it is not known how many.
func (s *Store) Room(n int64) bool { return s.budget.room(n) }

// MostBytes is the most bytes of an instance.
func (s *Store) MostBytes() int64 { return s.opts.MostBytes }

// lock keeps others from storing an instance of the same UID until unlock is called.
func (s *Store) lock(uid string) (unlock func()) {
	h := fnv.New32a()
	h.Write([]byte(uid))
	m := &s.same[h.Sum32()%uint32(len(s.same))]
	m.Lock()
	return m.Unlock
}

// name is what an instance is called: hashes of its UIDs and of its data set.
type name struct{ uid, series, data string }

func (n name) String() string { return n.uid + "-" + n.series + "-" + n.data + ".dcm" }

// key is that of the instance in the spool.
func (n name) key() string { return received + n.uid[:4] + "/" + n.String() }

// parseName reads a name; false: it is none of a received instance.
func parseName(text string) (n name, ok bool) {
	text, ok = strings.CutSuffix(text, ".dcm")
	parts := strings.Split(text, "-")
	if !ok || len(parts) != 3 {
		return n, false
	}
	for _, p := range parts {
		if len(p) != hashDigits || strings.Trim(p, "0123456789abcdef") != "" {
			return n, false
		}
	}
	return name{parts[0], parts[1], parts[2]}, true
}

// Series is the keyed hash of the series that a received instance belongs to, from its key in the spool; false: it is
// the key of something else.
func Series(key string) (series string, ok bool) {
	rest, ok := strings.CutPrefix(key, received)
	if !ok || len(rest) < 5 {
		return "", false
	}
	n, ok := parseName(rest[5:])
	return n.series, ok
}

// now is the time as the audit trail has it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
