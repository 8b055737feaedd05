package vq_test

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/vq"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

func TestConformance(t *testing.T) { conform(t, nil) }

func TestConformanceOnCard(t *testing.T) { conform(t, gputest.Device(t, nil)) }

func conform(t *testing.T, dev *gpu.Device) {
	codectest.Run(t, vq.Codec{}, &codectest.Options{
		Sets: [][]string{
			{"index=raw"},
			{"block=2x2", "n=16"},
			{"block=4x2", "chroma=444"},
			{"block=8x8", "n=2", "chroma-n=2"},
			{"n=4096", "train=split", "passes=3"},
		},
		Shared:      []string{"codebook=job", "n=64"},
		MinPSNR:     18, // with two codewords for the whole picture
		Checksummed: true,
		Device:      dev,
	})
}
