package instances

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/pelmill/pelmill/storage"
)

// Outcome is what became of an instance that was received.
type Outcome string

// The outcomes. After the first three the bytes are safe.
const (
	Stored    Outcome = "stored"    // a new object of the spool
	Duplicate Outcome = "duplicate" // it was there already, and nothing was written
	Conflict  Outcome = "conflict"  // another instance has its UID: both are kept, this one in quarantine
	Refused   Outcome = "refused"   // it is not taken; what may be worth a look is in quarantine
)

// Receipt is what is known of an instance that was received. Its UIDs are those of the data set, for the answer to the
// sender alone: they may not be written anywhere.
type Receipt struct {
	Outcome         Outcome
	Key             string // in the spool; empty: it is not there
	Class, Instance string // SOP Class and SOP Instance UID
	Study           string // Study Instance UID
	Syntax          string // Transfer Syntax UID
	Entry           storage.Object
}

// Receive stores the file of PS3.10 that r has to the end. When it returns without an error, the bytes are durable. The
// errors are [ErrFull], [ErrTooLarge], [ErrNotDICOM], [ErrBroken], those of the reader, and those of stores; with one the
// sender has to keep its instance. Expect, where it is not empty, is the SOP Instance UID that the sender has announced.
func (s *Store) Receive(ctx context.Context, from Sender, r io.Reader, expect Expect) (Receipt, error) {
	rec, err := s.receive(ctx, from, r, expect)
	s.metrics.count(from, rec, err)
	return rec, err
}

func (s *Store) receive(ctx context.Context, from Sender, r io.Reader, expect Expect) (Receipt, error) {
	st, err := s.stage(r)
	if err != nil {
		s.refused(from, Receipt{Outcome: Refused}, header{}, st, err)
		return Receipt{Outcome: Refused}, err
	}
	kept := int64(0)
	defer func() { st.close(kept) }()
	h, err := readHeader(st.reader(0))
	rec := Receipt{Outcome: Refused, Class: h.class, Instance: h.instance, Study: h.study, Syntax: h.syntax}
	if err == nil {
		err = expect.check(&h)
	}
	if err != nil {
		kept, err = s.isolate(ctx, st, reasonOf(err), "", err)
		s.refused(from, rec, h, st, err)
		return rec, err
	}
	data := sha256.New()
	io.WriteString(data, h.syntax+"\x00")
	if _, err := io.Copy(data, st.reader(h.dataset)); err != nil {
		rec.Outcome = Refused
		return rec, fmt.Errorf("instances: %w", err)
	}
	n := name{s.hash.Hash("instance", h.instance), s.hash.Hash("series", h.series), hex.EncodeToString(data.Sum(nil))[:hashDigits]}
	defer s.lock(n.uid)()
	if kept, err = s.keep(ctx, st, n, &rec); err == nil {
		err = s.note(from, rec, h, st, nil)
	}
	if err != nil {
		rec.Outcome = Refused
	}
	return rec, err
}

// keep stores an instance, unless it is there. stored is how many bytes were written.
func (s *Store) keep(ctx context.Context, st *staged, n name, rec *Receipt) (stored int64, err error) {
	versions, err := s.versions(ctx, n.uid)
	if err != nil {
		return 0, err
	}
	other := false
	for _, v := range versions {
		if v.data != n.data {
			other = true
			continue
		}
		if v.result {
			continue // its original was removed: what comes again is stored again
		}
		// A name is trusted only as far as the bytes under it are.
		if err := s.intact(ctx, v); err != nil {
			return 0, err
		}
		if rec.Outcome = Duplicate; !v.isolated {
			rec.Key = v.key
		}
		return 0, nil
	}
	if other {
		stored, err = s.isolate(ctx, st, ReasonConflict, n.String(), nil)
		rec.Outcome = Conflict
		return stored, err
	}
	put, err := st.put(ctx, s.spool, n.key())
	if err != nil {
		return 0, err
	}
	rec.Outcome, rec.Key = Stored, n.key()
	rec.Entry = storage.Object{Key: rec.Key, Size: put.Size, ETag: put.ETag}
	return put.Size, nil
}

// version is a stored instance with some UID.
type version struct {
	name
	key      string
	isolated bool // in quarantine
	result   bool // what a job made of it, in the target
}

func (v version) bucket(s *Store) *storage.Bucket {
	if v.isolated {
		return s.target
	}
	return s.spool
}

// versions are all instances of a UID, by its hash: in the spool, in conflict with these, and those that are there only as
// results.
func (s *Store) versions(ctx context.Context, uid string) (all []version, err error) {
	for _, at := range []struct {
		b        *storage.Bucket
		prefix   string
		isolated bool
		result   bool
	}{
		{b: s.spool, prefix: received + uid[:4] + "/" + uid + "-"},
		{b: s.target, prefix: Quarantine + string(ReasonConflict) + "/" + uid + "-", isolated: true},
		{b: s.target, prefix: received + uid[:4] + "/" + uid + "-", result: true},
	} {
		err := storage.Walk(ctx, at.b, &storage.WalkOptions{Prefix: at.prefix}, func(p storage.Page) error {
			for _, o := range p.Objects {
				base, _, _ := strings.Cut(path.Base(o.Key), ".") // results have extensions of their own
				if at.isolated && strings.HasSuffix(o.Key, ".json") {
					continue
				}
				if n, ok := parseName(base + ".dcm"); ok {
					all = append(all, version{n, o.Key, at.isolated, at.result})
				}
			}
			return nil
		})
		if err != nil && !storage.IsNotExist(err) {
			return nil, err
		}
	}
	return all, nil
}

// ErrDamaged means that a stored instance is not what its name says.
var ErrDamaged = errors.New("instances: a stored instance has other bytes than its name says")

// intact reads a stored instance and compares its data set with its name.
func (s *Store) intact(ctx context.Context, v version) error {
	sum, err := s.dataset(ctx, v.bucket(s), v.key)
	switch {
	case err != nil:
		return err
	case !strings.HasPrefix(sum, v.data):
		return ErrDamaged
	}
	return nil
}

// dataset is the SHA-256 of the transfer syntax and the data set of a stored file.
func (s *Store) dataset(ctx context.Context, b *storage.Bucket, key string) (string, error) {
	r, err := b.NewReader(ctx, key, nil)
	if err != nil {
		return "", err
	}
	h, err := readHeader(r)
	r.Close()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if r, err = b.NewRangeReader(ctx, key, h.dataset, -1, nil); err != nil {
		return "", err
	}
	defer r.Close()
	sum := sha256.New()
	io.WriteString(sum, h.syntax+"\x00")
	if _, err := io.Copy(sum, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Expect is what a sender has announced of an instance.
type Expect struct {
	Class, Instance string // empty: nothing
	Study           string
}

// ErrOther means that an instance is not the one that was announced.
var ErrOther = errors.New("instances: the data set is not the instance that was announced")

func (e *Expect) check(h *header) error {
	for _, c := range [][2]string{{e.Class, h.class}, {e.Instance, h.instance}, {e.Study, h.study}} {
		if c[0] != "" && c[0] != c[1] {
			return ErrOther
		}
	}
	return nil
}

// Committed reports whether an instance of a UID is stored, with its bytes, and of which SOP Class.
func (s *Store) Committed(ctx context.Context, instance string) (class string, ok bool, err error) {
	uid := s.hash.Hash("instance", instance)
	defer s.lock(uid)()
	versions, err := s.versions(ctx, uid)
	if err != nil {
		return "", false, err
	}
	for _, v := range versions {
		if v.result {
			continue
		}
		if err := s.intact(ctx, v); err != nil {
			return "", false, err
		}
		r, err := v.bucket(s).NewReader(ctx, v.key, nil)
		if err != nil {
			return "", false, err
		}
		h, err := readHeader(r)
		r.Close()
		if err != nil {
			return "", false, err
		}
		class, ok = h.class, true
	}
	return class, ok, nil
}
