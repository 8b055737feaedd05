package codecs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/pelmill/pelmill/codecs/codec"
)

// MaxAsset bounds a shared asset, such as a codebook, in bytes: where one is given,
// stored or loaded.
const MaxAsset = 64 << 20

// ErrUnable: this build does not have the codec, or has another version of it.
var ErrUnable = errors.New("not in this build")

// Resolved is a codec with options, or what [Auto] chooses from.
type Resolved struct {
	Codec   codec.Codec // nil of Auto
	Options codec.Options

	choices *choices // of Auto; else nil
}

// Resolve finds the codec with the given name in list, nil being [All], and reads
// options, which are written as [codec.JoinPairs] does. The version is that of the
// codec, 0 being any. Errors wrap [ErrUnable] where another build may do. [Auto] is a
// name too.
func Resolve(list []codec.Codec, name string, version int, options string) (Resolved, error) {
	if name == Auto {
		return resolveAuto(list, version, options)
	}
	c, err := find(list, name)
	if err != nil {
		return Resolved{}, fmt.Errorf("%w: %w", ErrUnable, err)
	}
	if v := c.Info().Version; version != 0 && version != v {
		return Resolved{}, fmt.Errorf("%w: version %d of codec %s is asked for and this program has version %d", ErrUnable, version, name, v)
	}
	opts, err := c.Options(codec.SplitPairs(options))
	if err != nil {
		return Resolved{}, err
	}
	return Resolved{Codec: c, Options: opts}, nil
}

// Info describes the codec as it is with the options. That of [Auto] has no extension, and says nothing of images that are
// taken.
func (r Resolved) Info() codec.Info {
	if r.choices != nil {
		return r.choices.info()
	}
	return r.Codec.Info().With(r.Options)
}

// ID names the codec with its options.
func (r Resolved) ID() string { return r.Info().Name + " " + r.Options.String() }

// MinPSNR is the floor in decibels for results; 0 where images come back whole.
func (r Resolved) MinPSNR() float64 {
	if r.choices != nil {
		return 0
	}
	return r.Codec.Info().MinPSNR(r.Options)
}

// Want is the asset that the options still need; the zero value where they need none.
func (r Resolved) Want() codec.Want {
	if shared, ok := r.Options.(codec.SharedOptions); ok {
		return shared.Want()
	}
	return codec.Want{}
}

// WithAsset gives the options the asset that they want.
func (r Resolved) WithAsset(data []byte) (Resolved, error) {
	shared, ok := r.Options.(codec.SharedOptions)
	if !ok {
		return r, fmt.Errorf("options %q use no asset", r.Options)
	}
	var err error
	r.Options, err = shared.WithAsset(data)
	return r, err
}

// Load gives the options the stored asset that they name by its hash, if they name
// one. Options that want one which is not stored yet are an error.
func (r Resolved) Load(ctx context.Context, find codec.Assets) (Resolved, error) {
	want := r.Want()
	switch {
	case want == codec.Want{}:
		return r, nil
	case want.SHA256 == "":
		return r, fmt.Errorf("options %q name no stored asset", r.Options)
	}
	data, err := find(ctx, want.SHA256)
	if err != nil {
		return r, fmt.Errorf("asset of the options %q: %w", r.Options, err)
	}
	return r.WithAsset(data)
}

// CheckedAssets finds assets by get, which is asked only for what is the SHA-256 of
// something, as hashes come from files and options. What get finds must have it.
func CheckedAssets(get codec.Assets) codec.Assets {
	return func(ctx context.Context, hash string) ([]byte, error) {
		if raw, err := hex.DecodeString(hash); err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != hash {
			return nil, fmt.Errorf("asset sha256:%q: want 64 hexadecimal digits in lower case", hash)
		}
		data, err := get(ctx, hash)
		if err != nil {
			return nil, err
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
			return nil, fmt.Errorf("asset sha256:%s: the stored bytes have sha256 %x", hash, sum)
		}
		return data, nil
	}
}
