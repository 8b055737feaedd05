package codecs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
)

func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		name    string
		version int
		options string
		want    string // of the extension; "!" and a part of the error; "?" where another build may do
	}{
		{"webp", 0, "", ".webp"},
		{"webp", 1, "effort=1  near-lossless=60", ".webp"},
		{"neuquant", 0, "format=gif", ".gif"},
		{"webp", 999, "", "?version 999"},
		{"zip", 0, "", `?no codec "zip"`},
		{"webp", 0, "colour=blue", "!colour"},
	} {
		r, err := Resolve(nil, tt.name, tt.version, tt.options)
		if text := tt.want[1:]; tt.want[0] == '.' && (err != nil || r.Info().Extension != tt.want) || tt.want[0] != '.' &&
			(err == nil || !strings.Contains(err.Error(), text) || errors.Is(err, ErrUnable) != (tt.want[0] == '?')) {
			t.Errorf("%s %d %q: %v, want %s", tt.name, tt.version, tt.options, err, tt.want)
		}
	}
	if _, err := Resolve(All()[:1], "webp", 0, ""); !errors.Is(err, ErrUnable) {
		t.Errorf("a codec that is not in the list: %v", err)
	}
}

func TestLoadTakesTheAssetOfTheHashOnly(t *testing.T) {
	data := []byte("a codebook")
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	asked := 0
	find := CheckedAssets(func(context.Context, string) ([]byte, error) { asked++; return data, nil })
	if got, err := find(t.Context(), hash); err != nil || string(got) != string(data) {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", "../jobs/x/spec.json", strings.ToUpper(hash), hash[:63], hash + "0"} {
		if _, err := find(t.Context(), bad); err == nil {
			t.Errorf("%q is a hash", bad)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times for what is no hash", asked-1)
	}
	if _, err := find(t.Context(), fmt.Sprintf("%064x", 1)); err == nil || !strings.Contains(err.Error(), "the stored bytes have") {
		t.Errorf("another content: %v", err)
	}

	r, err := Resolve(nil, "vq", 0, "codebook=job n=16")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Load(t.Context(), find); err == nil || !strings.Contains(err.Error(), "no stored asset") || r.Want() != (codec.Want{Trained: true}) {
		t.Errorf("options that are to be trained: %v", err)
	}
}
