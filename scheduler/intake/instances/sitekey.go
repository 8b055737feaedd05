package instances

import (
	"context"
	"errors"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/storage"
)

// siteKey is where a target has the key of keyed hashes of what may not be written as it is: names in the spool and the
// audit trail are made of it.
const siteKey = root + "intake/key"

// hashDigits is the length of hashes in keys and in the audit trail: 128 bits.
const hashDigits = 32

// openSiteKey reads the key of a target, and makes it at first where create is set.
func openSiteKey(ctx context.Context, target *storage.Bucket, create bool) (*sitekey.Key, error) {
	key, err := sitekey.Open(ctx, target, siteKey, create)
	if errors.Is(err, sitekey.ErrNone) {
		return nil, ErrNone
	}
	return key, err
}
