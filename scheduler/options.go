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

// resolveStored gives the codec and options of a specification as it is stored.
func resolveStored(list []codec.Codec, spec *jobs.Spec) (codecs.Resolved, error) {
	r, err := codecs.Resolve(list, spec.Codec, spec.Version, spec.Options)
	if err != nil {
		err = fmt.Errorf("scheduler: job %s: %w", spec.ID, err)
	}
	return r, err
}

// requestedOptions are a job's options as they were before the plan made an asset.
func requestedOptions(spec *jobs.Spec) string {
	if spec.Requested != "" {
		return spec.Requested
	}
	return spec.Options
}

// resolve reads the options of spec, and the asset that they name by a path or
// URL, and brings them into their canonical form. asset is nil where there is
// none.
func resolve(ctx context.Context, buckets *storage.Buckets, list []codec.Codec, spec *jobs.Spec) (asset []byte, err error) {
	r, err := codecs.Resolve(list, spec.Codec, 0, spec.Options)
	if err != nil {
		return nil, err
	}
	spec.Version = r.Info().Version
	switch want := r.Want(); {
	case want.Trained:
		if _, ok := r.Codec.(codec.Trainer); !ok {
			return nil, fmt.Errorf("scheduler: codec %s cannot be trained", spec.Codec)
		}
		spec.Requested = r.Options.String()
	case want.Path != "":
		if asset, err = readAny(ctx, buckets, want.Path); err != nil {
			return nil, err
		}
		if r, err = r.WithAsset(asset); err != nil {
			return nil, fmt.Errorf("scheduler: %s: %w", want.Path, err)
		}
	}
	spec.Options = r.Options.String()
	return asset, nil
}

// readAny reads a file or an object by its path or URL.
func readAny(ctx context.Context, buckets *storage.Buckets, name string) ([]byte, error) {
	if !strings.Contains(name, "://") {
		info, err := os.Stat(name)
		if err == nil && info.Size() > codecs.MaxAsset {
			err = fmt.Errorf("%d bytes, more than the limit of %d", info.Size(), codecs.MaxAsset)
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
	got, err := storage.Get(ctx, b, key, codecs.MaxAsset, nil)
	return got.Data, err
}

// storeAsset keeps an asset in the target, under its hash.
func storeAsset(ctx context.Context, f folder, asset []byte) error {
	sum := sha256.Sum256(asset)
	return f.put(ctx, jobs.AssetKey(hex.EncodeToString(sum[:])), asset, false)
}

// Assets finds what results of a target share, such as codebooks, by their hash.
func Assets(target *storage.Bucket) codec.Assets { return storedAssets(target) }

// storedAssets finds assets in the target, by their hash.
func storedAssets(target *storage.Bucket) codec.Assets {
	return codecs.CheckedAssets(func(ctx context.Context, hash string) ([]byte, error) {
		got, err := storage.Get(ctx, target, jobs.AssetKey(hash), codecs.MaxAsset, nil)
		return got.Data, err
	})
}
