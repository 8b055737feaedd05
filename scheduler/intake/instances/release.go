package instances

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/pelmill/pelmill/storage"
)

func hexOf(sum []byte) string { return hex.EncodeToString(sum) }

// Held is an object in quarantine.
type Held struct {
	Name string `json:"name"` // REASON/NAME, by which it is released or deleted
	Isolated
}

// Held calls fn with each object in quarantine, in the order of names.
func (s *Store) Held(ctx context.Context, fn func(Held) error) error {
	err := storage.Walk(ctx, s.target, &storage.WalkOptions{Prefix: Quarantine}, func(p storage.Page) error {
		for _, o := range p.Objects {
			if strings.HasSuffix(o.Key, ".json") {
				continue
			}
			h, err := s.held(ctx, strings.TrimPrefix(o.Key, Quarantine))
			if err != nil {
				return err
			}
			if h.Bytes = o.Size; h.Time.IsZero() {
				h.Time = o.ModTime
			}
			if err := fn(h); err != nil {
				return err
			}
		}
		return nil
	})
	if storage.IsNotExist(err) {
		return nil
	}
	return err
}

// held reads the record of an object in quarantine. One whose record was never written has what its name says.
func (s *Store) held(ctx context.Context, name string) (Held, error) {
	h := Held{Name: name, Isolated: Isolated{Reason: Reason(path.Dir(name))}}
	got, err := storage.Get(ctx, s.target, Quarantine+name+".json", 1<<20, nil)
	switch {
	case storage.IsNotExist(err):
		return h, nil
	case err != nil:
		return h, err
	}
	return h, json.Unmarshal(got.Data, &h.Isolated)
}

// ErrNotHeld means that quarantine has no object of a name.
var ErrNotHeld = errors.New("instances: there is no such object in quarantine")

// Release brings an object from quarantine into the source, where the next listing finds it, and gives its key there.
// One that a job has refused is there already, unless its owner has taken it away; "pelmill retry" does it again. To find
// it by the hash of its key the source is listed.
func (s *Store) Release(ctx context.Context, name string) (key string, err error) {
	h, from, err := s.find(ctx, name)
	if err != nil {
		return "", err
	}
	key = received + "released/" + path.Base(name)
	if n, ok := parseName(path.Base(name)); ok {
		key = n.key()
	} else if h.Job != "" {
		there, err := s.original(ctx, h)
		if err != nil {
			return "", err
		}
		if there {
			return "", s.drop(ctx, "release", "", h, from)
		}
	}
	if _, err := storage.Copy(ctx, s.target, from.Key, s.spool, key, &from, nil); err != nil {
		return "", err
	}
	return key, s.drop(ctx, "release", key, h, from)
}

// original reports whether the source still has what is in quarantine, byte for byte, under the key that it had.
func (s *Store) original(ctx context.Context, h Held) (there bool, err error) {
	var found string
	err = storage.Walk(ctx, s.spool, nil, func(p storage.Page) error {
		for _, o := range p.Objects {
			if o.Size == h.Bytes && s.hash.Hash("key", o.Key) == h.Object {
				found = o.Key
			}
		}
		return nil
	})
	if err != nil || found == "" {
		return false, err
	}
	digest, _, err := storage.Sum(ctx, s.spool, found)
	return digest == h.SHA256, err
}

// Discard deletes an object in quarantine. What a job has refused stays in the source.
func (s *Store) Discard(ctx context.Context, name string) error {
	h, from, err := s.find(ctx, name)
	if err != nil {
		return err
	}
	return s.drop(ctx, "delete", "", h, from)
}

// find finds an object in quarantine.
func (s *Store) find(ctx context.Context, name string) (h Held, from storage.Object, err error) {
	if name == "" || strings.HasSuffix(name, ".json") || strings.Contains(name, "..") || strings.Count(name, "/") != 1 {
		return h, from, fmt.Errorf("%w: a name is REASON/NAME", ErrNotHeld)
	}
	from, _, err = storage.Stat(ctx, s.target, Quarantine+name)
	switch {
	case storage.IsNotExist(err):
		return h, from, ErrNotHeld
	case err != nil:
		return h, from, err
	}
	h, err = s.held(ctx, name)
	return h, from, err
}

// drop removes an object from quarantine. The line of the audit trail is first: what it says is about to happen.
func (s *Store) drop(ctx context.Context, action, key string, h Held, from storage.Object) error {
	line := Line{Actor: Sender{Protocol: "command"}, Action: action, Outcome: "done", Reason: string(h.Reason), Object: key, Bytes: from.Size, SHA256: h.SHA256, Job: h.Job}
	if line.Object == "" {
		line.Object = h.Object
	}
	if n, ok := parseName(path.Base(h.Name)); ok {
		line.Instance, line.Series = n.uid, n.series
	}
	if err := s.audit.add(line); err != nil {
		return err
	}
	if err := storage.DeleteVersion(ctx, s.target, from); err != nil {
		return err
	}
	return storage.Delete(ctx, s.target, from.Key+".json")
}
