package instances

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/pelmill/pelmill/storage"
)

// examined is how many instances of the spool [Store.Examine] reads.
const examined = 100

// Condition is what [Store.Examine] has found.
type Condition struct {
	Instances, Bytes int64            // of the spool
	Read             int64            // of Instances, those whose bytes were compared with their names
	Damaged          []string         // of Read, the keys of those that differ
	Held             map[Reason]int64 // objects in quarantine
}

// Examine looks at the spool and at quarantine: whether the spool can be written, how many there are, and whether some
// instances, evenly spread, are what their names say.
func (s *Store) Examine(ctx context.Context) (c Condition, err error) {
	if err := s.writable(ctx); err != nil {
		return c, err
	}
	var sample []version
	step := int64(1)
	err = storage.Walk(ctx, s.spool, &storage.WalkOptions{Prefix: received}, func(p storage.Page) error {
		for _, o := range p.Objects {
			c.Bytes += o.Size
			if n, ok := parseName(path.Base(o.Key)); ok && c.Instances%step == 0 {
				if sample = append(sample, version{name: n, key: o.Key}); len(sample) == 2*examined {
					for i := range examined {
						sample[i] = sample[2*i]
					}
					sample, step = sample[:examined], 2*step
				}
			}
			c.Instances++
		}
		return nil
	})
	if err != nil && !storage.IsNotExist(err) {
		return c, err
	}
	for _, v := range sample[:min(len(sample), examined)] {
		c.Read++
		if err := s.intact(ctx, v); errors.Is(err, ErrDamaged) {
			c.Damaged = append(c.Damaged, v.key)
		} else if err != nil && !storage.IsNotExist(err) {
			return c, err
		}
	}
	c.Held = map[Reason]int64{}
	return c, s.Held(ctx, func(h Held) error { c.Held[h.Reason]++; return nil })
}

// writable creates, reads and deletes an object of the spool.
func (s *Store) writable(ctx context.Context) error {
	key, text := root+"tmp/spool-"+s.hash.Hash("probe", s.staging), "pelmill doctor"
	_, err := storage.Put(ctx, s.spool, key, []byte(text), nil)
	if err == nil {
		var got storage.GetResult
		if got, err = storage.Get(ctx, s.spool, key, 1<<10, nil); err == nil && string(got.Data) != text {
			err = errors.New("an object read back differs from what was written")
		}
		err = errors.Join(err, storage.Delete(context.WithoutCancel(ctx), s.spool, key))
	}
	if err != nil {
		return fmt.Errorf("instances: the spool cannot be written: %w", err)
	}
	return nil
}
