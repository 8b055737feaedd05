package imageio

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"github.com/klauspost/compress/zlib"
)

// EXIF blocks lie in PNG files in two ways: in an eXIf chunk (PNG specification,
// third edition, 11.3.4.5), or, by the older custom of ImageMagick and ExifTool,
// as a "raw profile", a text chunk with hexadecimal digits. Both may precede or
// follow the samples. The eXIf chunk counts where a file has both.

const (
	// rawProfileMost bounds a raw profile in bytes; an APP1 segment, from which most
	// of them come, has no more than 64 KiB.
	rawProfileMost = 1 << 20
	// rawProfiles bounds how many raw profiles of a file are looked into.
	rawProfiles = 4
)

// pngEXIF collects the EXIF blocks of a file.
type pngEXIF struct {
	own    []byte // of the first eXIf chunk
	raw    []byte // of the first raw profile with an EXIF block
	looked int    // how many raw profiles were tried
}

// block returns the EXIF block that counts, nil where there is none.
func (e *pngEXIF) block() []byte {
	if e.own != nil {
		return e.own
	}
	return e.raw
}

var exifPrefix = []byte("Exif\x00\x00")

func (e *pngEXIF) chunk(body []byte) {
	// Some programs put the prefix of an APP1 segment into the chunk.
	if body = bytes.TrimPrefix(body, exifPrefix); e.own == nil && len(body) > 0 {
		e.own = body
	}
}

// text looks for a raw profile in a tEXt, zTXt or iTXt chunk. One that cannot be
// read is no part of the image and is passed over.
func (e *pngEXIF) text(kind string, body []byte) {
	keyword, rest, ok := bytes.Cut(body, []byte{0})
	name, isProfile := strings.CutPrefix(strings.ToLower(string(keyword[:min(len(keyword), 79)])), "raw profile type ")
	if !ok || !isProfile || name != "exif" && name != "app1" || e.raw != nil || e.looked == rawProfiles {
		return
	}
	e.looked++
	zipped := kind == "zTXt"
	switch kind {
	case "zTXt":
		if len(rest) < 1 || rest[0] != 0 {
			return
		}
		rest = rest[1:]
	case "iTXt": // flag, method, language, 0, translated keyword, 0
		if len(rest) < 2 || rest[1] != 0 {
			return
		}
		zipped = rest[0] == 1
		_, rest, _ = bytes.Cut(rest[2:], []byte{0})
		_, rest, _ = bytes.Cut(rest, []byte{0})
	}
	profile := rawProfile(rest, zipped)
	block, prefixed := bytes.CutPrefix(profile, exifPrefix)
	if _, isEXIF := byteOrder(block); isEXIF && (prefixed || name == "exif") {
		e.raw = block
	}
}

// rawProfile reads the text of a raw profile: a line with its name, a line with
// its length in bytes, and hexadecimal digits in lines.
func rawProfile(text []byte, zipped bool) []byte {
	var src io.Reader = bytes.NewReader(text)
	most := len(text) / 2
	if zipped {
		z, err := zlib.NewReader(src)
		if err != nil {
			return nil
		}
		defer z.Close()
		const deflateMost = 1032 // how many times Deflate may shrink
		src, most = z, deflateMost*len(text)/2
	}
	r := bufio.NewReader(io.LimitReader(src, 4*rawProfileMost))
	if _, err := rawToken(r); err != nil {
		return nil
	}
	length, err := rawToken(r)
	if err != nil {
		return nil
	}
	s := pnmScanner{data: []byte(length + " ")}
	n, err := s.number()
	if err != nil || n > min(most, rawProfileMost) {
		return nil
	}
	profile := make([]byte, n)
	for i := range 2 * n {
		digit, err := rawDigit(r)
		if err != nil {
			return nil
		}
		profile[i/2] = profile[i/2]<<4 | digit
	}
	return profile
}

// rawToken skips white space and returns the characters up to the next.
func rawToken(r *bufio.Reader) (string, error) {
	const longest = 32
	var token []byte
	for len(token) < longest {
		c, err := r.ReadByte()
		switch {
		case err != nil:
			return "", err
		case !pnmSpace(c):
			token = append(token, c)
		case len(token) > 0:
			return string(token), nil
		}
	}
	return "", io.ErrUnexpectedEOF
}

func rawDigit(r *bufio.Reader) (byte, error) {
	for {
		c, err := r.ReadByte()
		switch {
		case err != nil:
			return 0, err
		case c >= '0' && c <= '9':
			return c - '0', nil
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			return c | 0x20 - 'a' + 10, nil
		case !pnmSpace(c):
			return 0, io.ErrUnexpectedEOF
		}
	}
}
