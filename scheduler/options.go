package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// tools is a job's codec and its options.
type tools struct {
	codec codec.Codec
	opts  codec.Options
}

func (t tools) info() codec.Info { return t.codec.Info().With(t.opts) }

func (t tools) extension() string { return t.info().Extension }

// findCodec looks a codec up by name, in list where that is not nil.
func findCodec(list []codec.Codec, name string) (codec.Codec, error) {
	if list == nil {
		return codecs.Find(name)
	}
	for _, c := range list {
		if c.Info().Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("scheduler: no codec %q", name)
}

// pairs splits options: at line ends where there are any, so that a value can
// hold spaces, else at spaces.
func pairs(options string) []string {
	if !strings.Contains(options, "\n") {
		return strings.Fields(options)
	}
	var out []string
	for line := range strings.SplitSeq(options, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// parseTools gives the tools of a specification as it is stored.
func parseTools(list []codec.Codec, spec *jobs.Spec) (tools, error) {
	c, err := findCodec(list, spec.Codec)
	if err != nil {
		return tools{}, err
	}
	if v := c.Info().Version; spec.Version != 0 && spec.Version != v {
		return tools{}, fmt.Errorf("scheduler: job %s is for version %d of codec %s and this program has version %d", spec.ID, spec.Version, spec.Codec, v)
	}
	opts, err := c.Options(pairs(spec.Options))
	return tools{c, opts}, err
}

// asked is a job's options as they were before the plan made an asset.
func asked(spec *jobs.Spec) string {
	if spec.Asked != "" {
		return spec.Asked
	}
	return spec.Options
}

// resolve reads the options of spec, and the asset that they name by a path or
// URL, and brings them into their canonical form. asset is nil where there is
// none.
func resolve(ctx context.Context, buckets *storage.Buckets, list []codec.Codec, spec *jobs.Spec) (asset []byte, err error) {
	c, err := findCodec(list, spec.Codec)
	if err != nil {
		return nil, err
	}
	spec.Version = c.Info().Version
	opts, err := c.Options(pairs(spec.Options))
	if err != nil {
		return nil, err
	}
	if shared, ok := opts.(codec.SharedOptions); ok {
		want := shared.Want()
		switch {
		case want.Trained:
			if _, ok := c.(codec.Trainer); !ok {
				return nil, fmt.Errorf("scheduler: codec %s cannot be trained", spec.Codec)
			}
			spec.Asked = opts.String()
		case want.Path != "":
			if asset, err = readAny(ctx, buckets, want.Path); err != nil {
				return nil, err
			}
			if opts, err = shared.WithAsset(asset); err != nil {
				return nil, fmt.Errorf("scheduler: %s: %w", want.Path, err)
			}
		}
	}
	spec.Options = opts.String()
	return asset, nil
}

// largestAsset bounds a codebook.
const largestAsset = 256 << 20

// readAny reads a file or an object by its path or URL.
func readAny(ctx context.Context, buckets *storage.Buckets, name string) ([]byte, error) {
	if !strings.Contains(name, "://") {
		info, err := os.Stat(name)
		if err == nil && info.Size() > largestAsset {
			err = fmt.Errorf("%d bytes, more than the limit of %d", info.Size(), largestAsset)
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(filepath.Clean(name))
		}
		if err != nil {
			return nil, fmt.Errorf("scheduler: read %s: %w", name, err)
		}
		return data, nil
	}
	base, query, hasQuery := strings.Cut(name, "?")
	dir, key := path.Split(base)
	if hasQuery {
		dir += "?" + query
	}
	b, err := buckets.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	got, err := storage.Get(ctx, b, key, largestAsset, nil)
	return got.Data, err
}

// storeAsset keeps an asset in the target, under its hash.
func storeAsset(ctx context.Context, f folder, asset []byte) error {
	sum := sha256.Sum256(asset)
	return f.put(ctx, jobs.AssetKey(hex.EncodeToString(sum[:])), asset, false)
}

// loadAsset completes options that name an asset by its hash.
func loadAsset(ctx context.Context, target *storage.Bucket, opts codec.Options) (codec.Options, error) {
	shared, ok := opts.(codec.SharedOptions)
	if !ok {
		return opts, nil
	}
	hash := shared.Want().SHA256
	if hash == "" {
		return opts, nil
	}
	if !jobs.ValidHash(hash) {
		return nil, fmt.Errorf("scheduler: asset of the options %q: want a SHA-256 of 64 hexadecimal digits", opts)
	}
	got, err := storage.Get(ctx, target, jobs.AssetKey(hash), largestAsset, nil)
	if err != nil {
		return nil, fmt.Errorf("scheduler: asset of the options %q: %w", opts, err)
	}
	return shared.WithAsset(got.Data)
}
