package codectest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// testDamaged cuts files and flips bits in them. The answer is an error of package
// codec, or an image where the codec has no checksum; a panic ends the test.
func (s *suite) testDamaged(t *testing.T) {
	for _, pairs := range s.sets {
		o := s.options(t, pairs)
		list := images(s.info.With(o))
		for _, p := range list[max(0, len(list)-3):] {
			s.damage(t, s.encode(t, p.Image, o))
		}
	}
	for _, junk := range [][]byte{nil, {}, []byte("x"), []byte("not a file of any codec, but long enough to look like one"), bytes.Repeat([]byte{0xff}, 4096), make([]byte, 4096)} {
		if err := s.try(junk, true); err != nil {
			t.Errorf("junk of %d bytes: %v", len(junk), err)
		}
	}
}

func (s *suite) damage(t *testing.T, file []byte) {
	r := rand.New(rand.NewPCG(1, uint64(len(file))))
	every := 1
	if testing.Short() {
		every = 11 // so that each bit has its turn
	}
	for i := 0; i < 300; i += every {
		cut := i
		if i >= 100 {
			cut = r.IntN(len(file))
		}
		if cut >= len(file) {
			continue
		}
		if err := s.try(file[:cut:cut], s.opts.Checksummed); err != nil {
			t.Errorf("file of %d bytes cut at %d: %v", len(file), cut, err)
		}
	}
	for i := 0; i < 1200; i += every {
		bad := bytes.Clone(file)
		at := i / 8
		if i >= 800 || at >= len(file) {
			at = r.IntN(len(file))
		}
		bad[at] ^= 1 << (i % 8)
		if err := s.try(bad, s.opts.Checksummed); err != nil {
			t.Errorf("file of %d bytes with bit %d of byte %d flipped: %v", len(file), i%8, at, err)
		}
	}
	if err := s.try(append(bytes.Clone(file), 0), s.opts.Checksummed); err != nil {
		t.Errorf("file of %d bytes with one more: %v", len(file), err)
	}
}

// damagedMemory is the most that damaged files are decoded with, as their headers say.
const damagedMemory = 64 << 20

// try decodes and inspects a damaged file and says what is wrong with the answer. A file
// whose header asks for much memory is left out where it need not be refused: callers
// refuse it by its header.
func (s *suite) try(file []byte, mustFail bool) error {
	if h, err := s.codec.Header(file); err == nil && !mustFail && h.Memory > damagedMemory {
		return nil
	}
	m, err := s.decode(file, func(context.Context, string) ([]byte, error) {
		return nil, errors.New("no such asset")
	})
	if err == nil {
		if mustFail {
			return errors.New("decodes without an error")
		}
		if m == nil || len(m.Pix) != m.Size() {
			return errors.New("no error and no whole picture")
		}
		return nil
	}
	var f *codec.FormatError
	var u *codec.UnsupportedError
	if !errors.As(err, &f) && !errors.As(err, &u) && !strings.Contains(err.Error(), "no such asset") {
		return fmt.Errorf("want a FormatError or UnsupportedError, got %T: %v", err, err)
	}
	return nil
}

// testShared trains an asset and uses it.
func (s *suite) testShared(t *testing.T) {
	trainer, ok := s.codec.(codec.Trainer)
	if !ok {
		t.Fatal("the codec is no Trainer")
	}
	shared, ok := s.options(t, s.opts.Shared).(codec.SharedOptions)
	if !ok || shared.Want() == (codec.Want{}) {
		t.Fatalf("options %q want no asset", s.opts.Shared)
	}
	var sample []*raster.Image
	for _, p := range images(s.info) {
		sample = append(sample, p.Image)
	}
	ctx := context.Background()
	asset, err := trainer.Train(ctx, codec.Run{}, append(refused(s.info), sample...), shared)
	if err != nil {
		t.Fatal(err)
	}
	again, err := trainer.Train(ctx, codec.Run{}, sample, shared)
	if err != nil || !bytes.Equal(asset, again) {
		t.Fatalf("training twice gives two assets (%v)", err)
	}
	if _, err := trainer.Train(ctx, codec.Run{}, nil, shared); err == nil {
		t.Error("training on nothing succeeds")
	}
	for _, e := range s.codec.Encode(ctx, codec.Run{}, codec.Items(sample[:1]...), shared) {
		if e.Err == nil {
			t.Error("encode without the asset succeeds")
		}
	}
	o, err := shared.WithAsset(asset)
	if err != nil {
		t.Fatal(err)
	}
	parsed, ok := s.options(t, strings.Fields(o.String())).(codec.SharedOptions)
	if !ok || parsed.Want().SHA256 == "" {
		t.Fatalf("options %q do not ask for the asset by its hash", o)
	}
	if _, err := parsed.WithAsset(append(bytes.Clone(asset), 0)); err == nil {
		t.Error("another asset is taken")
	}
	with, err := parsed.WithAsset(asset)
	if err != nil || with.String() != o.String() {
		t.Fatalf("options %q parsed and with the asset are %q (%v)", o, with, err)
	}
	assets := func(_ context.Context, hash string) ([]byte, error) {
		if hash != parsed.Want().SHA256 {
			return nil, fmt.Errorf("asset %s", hash)
		}
		return asset, nil
	}
	for i, e := range s.codec.Encode(ctx, codec.Run{}, codec.Items(sample...), o) {
		if e.Err != nil {
			t.Fatalf("item %d: %v", i, e.Err)
		}
		if again := s.encode(t, sample[i], with); !bytes.Equal(again, e.Data) {
			t.Errorf("item %d: options that were parsed again give other bytes", i)
		}
		m, err := s.decode(e.Data, assets)
		if err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
		if err := s.check(sample[i], m, s.info.KeepsImages(with), false); err != nil {
			t.Errorf("item %d: %v", i, err)
		}
		if _, err := s.decode(e.Data, nil); err == nil {
			t.Errorf("item %d: decodes without the asset", i)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		bad := bytes.Clone(asset)
		bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		if _, err := shared.WithAsset(bad[:len(bad)-r.IntN(2)]); err == nil && s.opts.Checksummed {
			t.Error("a damaged asset is taken")
		}
	}
}
