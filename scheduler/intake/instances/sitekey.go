package instances

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/pelmill/pelmill/storage"
)

// siteKey is where the key of keyed hashes is in a target.
const siteKey = root + "intake/key"

// hasher makes keyed hashes of what may not be written as it is.
type hasher [32]byte

// openHasher reads the key of a target, and makes it at first where make is set.
func openHasher(ctx context.Context, target *storage.Bucket, make bool) (h hasher, err error) {
	if make {
		rand.Read(h[:])
		_, err = storage.Put(ctx, target, siteKey, []byte(hex.EncodeToString(h[:])+"\n"), nil)
		var exists *storage.ExistsError
		if err == nil || !errors.As(err, &exists) {
			return h, err
		}
	}
	got, err := storage.Get(ctx, target, siteKey, 1<<10, nil)
	switch {
	case storage.IsNotExist(err) && !make:
		return h, ErrNone
	case err != nil:
		return h, err
	}
	if n, err := hex.Decode(h[:], got.Data[:min(len(got.Data), 64)]); err != nil || n != len(h) {
		return h, fmt.Errorf("instances: %s of the target is no key of 64 hexadecimal digits", siteKey)
	}
	return h, nil
}

// hashDigits is the length of hashes in keys and in the audit trail: 128 bits.
const hashDigits = 32

// of is the keyed hash of a text of some kind, such as "instance". The same text of another kind has another hash.
func (h *hasher) of(kind, text string) string {
	m := hmac.New(sha256.New, h[:])
	m.Write([]byte(kind + "\x00" + text))
	return hex.EncodeToString(m.Sum(nil))[:hashDigits]
}
