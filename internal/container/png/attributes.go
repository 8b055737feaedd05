package png

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/pelmill/pelmill/internal/container"
)

// profile reads an iCCP chunk (PNG specification, 11.3.2.3): a name, a zero, the
// method, a zlib stream. What cannot be read is no part of the image and is passed
// over, as other readers do.
func profile(body []byte) (container.Attribute, bool) {
	name, rest, ok := bytes.Cut(body, []byte{0})
	if !ok || len(rest) < 1 || rest[0] != 0 {
		return container.Attribute{}, false
	}
	return container.Attribute{Kind: container.ICC, Key: keyword(name), Data: rest[1:], Zipped: true}, true
}

// density reads a pHYs chunk (PNG specification, 11.3.4.3): samples per unit along
// x and y, and the unit, 1 for the metre.
func density(body []byte) (container.Attribute, bool) {
	if len(body) != 9 || body[8] > 1 {
		return container.Attribute{}, false
	}
	be := binary.BigEndian
	a := container.Attribute{Kind: container.Density}
	a.Resolution.X = container.Rational{Numerator: be.Uint32(body), Denominator: 1}
	a.Resolution.Y = container.Rational{Numerator: be.Uint32(body[4:]), Denominator: 1}
	if body[8] == 1 {
		a.Resolution.Per = container.Metre
	}
	return a, true
}

// xmpKeyword is the keyword of the iTXt chunk with the XMP packet (XMP
// specification, part 3, 1.1.5).
const xmpKeyword = "XML:com.adobe.xmp"

// text reads a tEXt, zTXt or iTXt chunk. Raw profiles are no texts.
func text(c *Chunk) (container.Attribute, bool) {
	key, body, zipped, ok := splitText(c)
	if _, raw := rawProfileName(key); !ok || raw {
		return container.Attribute{}, false
	}
	kind := container.Text
	if c.Kind == "iTXt" && key == xmpKeyword {
		kind = container.XMP
	}
	return container.Attribute{Kind: kind, Key: key, Data: body, Zipped: zipped}, true
}

// splitText divides a chunk of text (PNG specification, 11.3.3) in its keyword and
// its text, which is a zlib stream where zipped.
//
//	tEXt  keyword 0 text
//	zTXt  keyword 0 method stream
//	iTXt  keyword 0 zipped method language 0 translated keyword 0 text or stream
func splitText(c *Chunk) (key string, body []byte, zipped, ok bool) {
	name, rest, ok := bytes.Cut(c.Body(), []byte{0})
	if !ok {
		return "", nil, false, false
	}
	switch c.Kind {
	case "zTXt":
		if len(rest) < 1 || rest[0] != 0 {
			return "", nil, false, false
		}
		zipped, rest = true, rest[1:]
	case "iTXt":
		if len(rest) < 2 || rest[1] != 0 {
			return "", nil, false, false
		}
		zipped = rest[0] == 1
		_, rest, _ = bytes.Cut(rest[2:], []byte{0})
		_, rest, _ = bytes.Cut(rest, []byte{0})
	}
	return keyword(name), rest, zipped, true
}

// keyword cuts a keyword at the length that the specification allows (11.3.3.2).
func keyword(name []byte) string {
	const longest = 79
	return string(name[:min(len(name), longest)])
}

// rawProfileName returns the name of a raw profile by the keyword of its text.
func rawProfileName(key string) (string, bool) {
	return strings.CutPrefix(strings.ToLower(key), "raw profile type ")
}
