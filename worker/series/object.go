package series

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/pelmill/pelmill/raster"
)

const (
	magic       = "pelmill series 1"
	trailerSize = 8 + 8 + len(magic)
)

// Bounds of an object.
const (
	maxContent = 1 << 30  // of the zstd frame
	maxRatio   = 100_000  // of its content to its length
	maxIndex   = 32 << 20 // of the index, bytes
	maxFiles   = 10_000   // and images
)

// Object makes the object of the codestreams of all images, in their order.
func (p *Plan) Object(codestreams [][]byte) ([]byte, error) {
	index := Index{Images: []int64{}, Files: make([]File, len(p.files))}
	var out, shells []byte
	for _, c := range codestreams {
		index.Images = append(index.Images, int64(len(c)))
		out = append(out, c...)
	}
	for i, stack := range p.images {
		at := 0
		for _, s := range stack {
			index.Files[s.file].Pixels = &Pixels{Image: i, Slice: at, Frames: s.raster.Depth, layout: s.layout}
			at += s.raster.Depth
		}
	}
	for i := range p.files {
		f, sum := &index.Files[i], sha256.Sum256(p.files[i].Data)
		f.Key, f.ModTime, f.Size, f.SHA256 = p.files[i].Key, p.files[i].ModTime, int64(len(p.files[i].Data)), hex.EncodeToString(sum[:])
		prefix, suffix := p.files[i].Data, []byte(nil)
		if s := p.slices[i]; s != nil {
			prefix, suffix = s.prefix, s.suffix
		}
		f.Prefix, f.Suffix = int64(len(prefix)), int64(len(suffix))
		shells = append(append(shells, prefix...), suffix...)
	}
	text, err := json.Marshal(&index)
	if err != nil {
		return nil, err
	}
	if len(text) > maxIndex || len(p.files) > maxFiles {
		return nil, fmt.Errorf("series: %d files with an index of %d bytes are more than an object takes", len(p.files), len(text))
	}
	content := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	content = append(append(content, text...), shells...)
	if len(content) > maxContent {
		return nil, fmt.Errorf("series: headers and files that are kept whole take %d bytes, and at most %d are packed", len(content), maxContent)
	}
	// One encoder makes the same bytes for the same content.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	frame := z.EncodeAll(content, nil)
	out = append(out, frame...)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(frame)))
	out = binary.LittleEndian.AppendUint64(out, uint64(len(content)))
	return append(out, magic...), nil
}

// Object is an object that was opened.
type Object struct {
	Index
	Codestreams [][]byte // they share the object's bytes
	shells      []byte
	starts      []int64 // of the files' shells
}

// Is reports whether data end like an object of this package.
func Is(data []byte) bool {
	return len(data) > trailerSize && bytes.HasSuffix(data, []byte(magic))
}

// Memory is what Open takes for an object, and Restore for a file without its pixels,
// in bytes.
func Memory(data []byte) int64 {
	_, content, err := trailer(data)
	if err != nil {
		return 0
	}
	return 2*content + 16<<20
}

func trailer(data []byte) (frame, content int64, err error) {
	if !Is(data) {
		return 0, 0, fmt.Errorf("series: it is no series")
	}
	t := data[len(data)-trailerSize:]
	frame, content = int64(binary.LittleEndian.Uint64(t)), int64(binary.LittleEndian.Uint64(t[8:]))
	if frame < 0 || frame > int64(len(data)-trailerSize) || content < 8 || content > maxContent || content/maxRatio > frame {
		return 0, 0, fmt.Errorf("series: its trailer is malformed")
	}
	return frame, content, nil
}

// Open reads the index and the shells of an object.
func Open(data []byte) (*Object, error) {
	frame, size, err := trailer(data)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(size)+8<<20), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	end := int64(len(data) - trailerSize)
	content, err := z.DecodeAll(data[end-frame:end], nil)
	if err != nil || int64(len(content)) != size {
		return nil, fmt.Errorf("series: its shells do not unpack")
	}
	n := binary.LittleEndian.Uint64(content)
	if n > uint64(len(content)-8) || n > maxIndex {
		return nil, fmt.Errorf("series: its index is longer than it is, or than an index may be")
	}
	o := &Object{shells: content[8+n:]}
	if o.Index, err = readIndex(content[8 : 8+n]); err != nil {
		return nil, fmt.Errorf("series: its index is malformed")
	}
	return o, o.lay(data[:end-frame])
}

// lay finds codestreams and shells, and refuses an index that does not fit them.
func (o *Object) lay(codestreams []byte) error {
	for _, n := range o.Images {
		if n < 1 || n > int64(len(codestreams)) {
			return fmt.Errorf("series: its codestreams are cut short")
		}
		o.Codestreams = append(o.Codestreams, codestreams[:n:n])
		codestreams = codestreams[n:]
	}
	at, all := int64(0), int64(len(o.shells))
	for i := range o.Files {
		f := &o.Files[i]
		if f.Prefix < 0 || f.Prefix > all-at || f.Suffix < 0 || f.Suffix > all-at-f.Prefix {
			return fmt.Errorf("series: its shells are cut short")
		}
		o.starts = append(o.starts, at)
		at += f.Prefix + f.Suffix
	}
	if at != all || len(codestreams) != 0 {
		return fmt.Errorf("series: it has bytes that belong to no file")
	}
	return o.claims()
}

// claims refuses files that claim one slice twice: all files together would be larger than
// images and shells.
func (o *Object) claims() error {
	var all []*Pixels
	for i := range o.Files {
		p := o.Files[i].Pixels
		if p == nil {
			continue
		}
		if p.Image < 0 || p.Image >= len(o.Images) || p.Slice < 0 || p.Frames < 1 || p.Frames > math.MaxInt32 || p.Slice > math.MaxInt32 {
			return fmt.Errorf("series: file %d has frames that there are not", i+1)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Pixels) int { return cmp.Or(cmp.Compare(a.Image, b.Image), cmp.Compare(a.Slice, b.Slice)) })
	for i, p := range all {
		if i > 0 && all[i-1].Image == p.Image && all[i-1].Slice+all[i-1].Frames > p.Slice {
			return fmt.Errorf("series: two files have the same frame")
		}
	}
	return nil
}

// Restore makes file i of the images of all codestreams, and proves it by its SHA-256.
func (o *Object) Restore(i int, images []*raster.Image) ([]byte, error) {
	f := &o.Files[i]
	shell := o.shells[o.starts[i]:][:f.Prefix+f.Suffix]
	file := append(make([]byte, 0, len(shell)), shell[:f.Prefix]...)
	if p := f.Pixels; p != nil {
		m := images[p.Image]
		if p.Slice > m.Depth || p.Frames > m.Depth-p.Slice {
			return nil, fmt.Errorf("series: file %d has frames that there are not", i+1)
		}
		part := *m
		n := len(m.Pix) / m.Depth
		part.Depth, part.Pix = p.Frames, m.Pix[p.Slice*n:(p.Slice+p.Frames)*n]
		pixels, err := p.bytes(&part)
		if err != nil {
			return nil, fmt.Errorf("series: file %d: %w", i+1, err)
		}
		file = append(file, pixels...)
	}
	file = append(file, shell[f.Prefix:]...)
	if sum := sha256.Sum256(file); int64(len(file)) != f.Size || hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, fmt.Errorf("series: file %d does not come back as it was", i+1)
	}
	return file, nil
}
