package codectest_test

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/raster"
)

// deep is the smallest codec that does everything the seam asks for: images and volumes
// of 9 to 16 bits, signed too, with all attributes. A file is
//
//	"deep" | SHA-256 of the rest | bytes of the head, uint32 | head, JSON | samples, deflated
//
// where a sample is the difference to the one before it in the same channel.
type deep struct{}

const deepStart = 4 + sha256.Size + 4

type deepHead struct {
	raster.Shape
	Meta raster.Meta
}

type deepOptions struct{}

func (deepOptions) String() string { return "" }

func (deep) Info() codec.Info {
	return codec.Info{
		Name: "deep", Title: "differences, deflated", Extension: ".deep", MediaType: "application/x-deep", Version: 1, Lossless: true,
		Accepts: codec.Accepts{Channels: []int{1, 2, 3, 4}, MinBits: 9, MaxBits: 16, Signed: true, Slices: true},
		Keeps: []string{raster.AttributeICC, raster.AttributeEXIF, raster.AttributeXMP, raster.AttributeDensity,
			raster.AttributeText, raster.AttributeSpacing, raster.AttributeGeometry},
	}
}

func (deep) Options(pairs []string) (codec.Options, error) {
	if len(pairs) > 0 {
		return nil, fmt.Errorf("deep: option %q: there are none", pairs[0])
	}
	return deepOptions{}, nil
}

func (c deep) Encode(ctx context.Context, run codec.Run, items []codec.Item, _ codec.Options) []codec.Encoded {
	out := make([]codec.Encoded, len(items))
	run.Cores().Each(len(items), func(i int) {
		m := items[i].Image
		if out[i].Err = ctx.Err(); out[i].Err == nil {
			out[i].Err = c.Info().Check(m.Shape)
		}
		if out[i].Err == nil {
			out[i].Data, out[i].Err = encodeDeep(m)
		}
	})
	return out
}

func encodeDeep(m *raster.Image) ([]byte, error) {
	head, err := json.Marshal(deepHead{m.Shape, m.Meta})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Write(append(make([]byte, deepStart), head...))
	z, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	samples, before := m.Uint16(), make([]uint16, m.Channels)
	for i, v := range samples {
		last := &before[i%m.Channels]
		if err := binary.Write(z, binary.LittleEndian, v-*last); err != nil {
			return nil, err
		}
		*last = v
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	file := b.Bytes()
	binary.LittleEndian.PutUint32(file[deepStart-4:], uint32(len(head)))
	sum := sha256.Sum256(file[deepStart-4:])
	copy(file[copy(file, "deep"):], sum[:])
	return file, nil
}

func (c deep) Decode(ctx context.Context, run codec.Run, files [][]byte, _ codec.Assets) []codec.Decoded {
	out := make([]codec.Decoded, len(files))
	run.Cores().Each(len(files), func(i int) {
		if out[i].Err = ctx.Err(); out[i].Err == nil {
			out[i].Image, out[i].Err = decodeDeep(files[i])
		}
	})
	return out
}

// openDeep returns the head of a file and its deflated samples.
func openDeep(file []byte) (head deepHead, stream []byte, err error) {
	if len(file) < deepStart || string(file[:4]) != "deep" || sha256.Sum256(file[deepStart-4:]) != [32]byte(file[4:]) {
		return head, nil, codec.Malformedf("deep: not a whole file")
	}
	n := int(binary.LittleEndian.Uint32(file[deepStart-4:]))
	if err := json.Unmarshal(file[deepStart:deepStart+n], &head); err != nil {
		return head, nil, codec.Malformedf("deep: head: %v", err)
	}
	return head, file[deepStart+n:], nil
}

func decodeDeep(file []byte) (*raster.Image, error) {
	head, stream, err := openDeep(file)
	if err != nil {
		return nil, err
	}
	samples := make([]uint16, head.Samples())
	if err := binary.Read(flate.NewReader(bytes.NewReader(stream)), binary.LittleEndian, samples); err != nil && err != io.EOF {
		return nil, codec.Malformedf("deep: samples: %v", err)
	}
	for i := head.Channels; i < len(samples); i++ {
		samples[i] += samples[i-head.Channels]
	}
	m := raster.FromUint16(head.Shape, samples)
	m.Meta = head.Meta
	return m, nil
}

func (deep) Header(file []byte) (codec.Header, error) {
	head, _, err := openDeep(file)
	size := int64(head.Size())
	return codec.Header{Shape: head.Shape, Memory: 2*size + 1<<20, Resolutions: 1,
		Fields: []codec.Field{{Name: "format", Value: "deep"}}}, err
}

func (deep) Memory(s raster.Shape, m *raster.Image, _ codec.Options) codec.Memory {
	n := int64(s.Size())
	return codec.Memory{Encode: 6*n + 2<<20, Decode: 2*n + 1<<20, File: 2*n + 4<<10}
}

func TestDeep(t *testing.T) { codectest.Run(t, deep{}, &codectest.Options{Checksummed: true}) }
