package instances

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pelmill/pelmill/storage"
)

// Reason is why an instance is in quarantine, or was refused.
type Reason string

// The reasons. Those below ReasonMismatch are of refusals that keep nothing.
const (
	ReasonNotDICOM    Reason = "not-dicom"   // no file of PS3.10
	ReasonTruncated   Reason = "truncated"   // it ends early, or cannot be parsed
	ReasonUndecodable Reason = "undecodable" // its pixels cannot be read
	ReasonConflict    Reason = "conflict"    // another instance has its UID
	ReasonOther       Reason = "other"       // not the instance that its sender has announced
	ReasonMismatch    Reason = "mismatch"    // its result failed verification

	reasonFull   Reason = "full"
	reasonLarge  Reason = "too-large"
	reasonSender Reason = "sender-stopped"
	reasonStore  Reason = "store"
)

func reasonOf(err error) Reason {
	var sender *sourceError
	switch {
	case errors.Is(err, ErrNotDICOM):
		return ReasonNotDICOM
	case errors.Is(err, ErrBroken):
		return ReasonTruncated
	case errors.Is(err, ErrOther):
		return ReasonOther
	case errors.Is(err, ErrFull):
		return reasonFull
	case errors.Is(err, ErrTooLarge):
		return reasonLarge
	case errors.As(err, &sender):
		return reasonSender
	}
	return reasonStore
}

// Isolated is what the record beside an object in quarantine says.
type Isolated struct {
	Time   time.Time `json:"time"`
	Reason Reason    `json:"reason"`
	Bytes  int64     `json:"bytes"`
	SHA256 string    `json:"sha256"`           // of the file
	Object string    `json:"object,omitempty"` // keyed hash of the key that it has in the source
	Job    string    `json:"job,omitempty"`
}

// isolate puts an instance into quarantine, under a name that is made of hashes. why, where it is not nil, is given
// back: it is what the sender is told. stored is how many bytes were written.
func (s *Store) isolate(ctx context.Context, st *staged, reason Reason, name string, why error) (stored int64, err error) {
	if name == "" {
		name = st.sha256() + ".dcm"
	}
	key := Quarantine + string(reason) + "/" + name
	put, err := st.put(ctx, s.target, key)
	if err == nil && !put.Existed {
		stored = put.Size
		s.metrics.quarantined.WithLabelValues(string(reason)).Inc()
		err = s.record(ctx, key, Isolated{Time: now(), Reason: reason, Bytes: st.size, SHA256: st.sha256()})
	}
	switch {
	case why != nil:
		return stored, why // the sender keeps its instance in any case
	case err != nil:
		return stored, fmt.Errorf("instances: quarantine: %w", err)
	}
	return stored, nil
}

// record writes the record of an object in quarantine.
func (s *Store) record(ctx context.Context, key string, r Isolated) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = storage.Put(ctx, s.target, key+".json", append(data, '\n'), &storage.PutOptions{Overwrite: true, ContentType: "application/json"})
	return err
}
