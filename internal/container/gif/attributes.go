package gif

import (
	"iter"

	"github.com/pelmill/pelmill/internal/container"
)

// Attributes yields the attributes of a file: comments (GIF89a specification, 24),
// the ICC profile (ICC.1, B.6) and the XMP packet (XMP specification, part 3,
// 1.1.2). It ends at the first damage.
func Attributes(data []byte) iter.Seq[container.Attribute] {
	return func(yield func(container.Attribute) bool) {
		for b, err := range Blocks(data) {
			if err != nil {
				return
			}
			if a, ok := b.attribute(); ok && !yield(a) {
				return
			}
		}
	}
}

func (b *Block) attribute() (container.Attribute, bool) {
	if b.Kind != kindExtension {
		return container.Attribute{}, false
	}
	if b.label() == labelComment {
		return container.Attribute{Kind: container.Text, Key: "Comment", Data: b.Data, Parted: true}, true
	}
	if blocks, ok := b.application("ICCRGBG1012"); ok {
		return container.Attribute{Kind: container.ICC, Data: blocks, Parted: true}, true
	}
	if blocks, ok := b.application("XMP DataXMP"); ok {
		packet, ok := xmp(blocks)
		return container.Attribute{Kind: container.XMP, Data: packet}, ok
	}
	return container.Attribute{}, false
}

// xmp returns the packet of an application extension. The packet is not divided in
// sub-blocks: its own bytes are read as lengths of them, and wherever that leads, a
// trailer of 258 bytes, 1, 255, 254 and so on to 0 and 0, leads to the end.
func xmp(blocks []byte) ([]byte, bool) {
	const trailer = 258
	n := len(blocks) - trailer
	if n < 0 || blocks[n] != 1 {
		return nil, false
	}
	for i, v := range blocks[n+1 : n+trailer-1] {
		if v != byte(255-i) {
			return nil, false
		}
	}
	return blocks[:n:n], true
}
