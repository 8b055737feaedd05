package png

import (
	"bufio"
	"bytes"
	"io"
	"strconv"

	"github.com/klauspost/compress/zlib"

	"github.com/pelmill/pelmill/internal/container/exif"
	"github.com/pelmill/pelmill/internal/container/tiff"
)

// EXIF blocks lie in PNG files in two ways: in an eXIf chunk (PNG specification,
// 11.3.4.5), or, by the older custom of ImageMagick and ExifTool, as a "raw
// profile", a text chunk with hexadecimal digits. Both may precede or follow the
// samples. The eXIf chunk counts where a file has both.

const (
	// rawProfileMost bounds a raw profile in bytes; an APP1 segment, from which most
	// of them come, has no more than 64 KiB.
	rawProfileMost = 1 << 20
	// rawProfiles bounds how many raw profiles of a file are looked into.
	rawProfiles = 4
)

// exifBlocks collects the EXIF blocks of a file.
type exifBlocks struct {
	own    []byte // of the first eXIf chunk
	raw    []byte // of the first raw profile with an EXIF block
	looked int    // how many raw profiles were tried
}

// block returns the EXIF block that counts, nil where there is none.
func (e *exifBlocks) block() []byte {
	if e.own != nil {
		return e.own
	}
	return e.raw
}

func (e *exifBlocks) chunk(body []byte) {
	// Some programs put the prefix of an APP1 segment into the chunk.
	if body = exif.Trim(body); e.own == nil && len(body) > 0 {
		e.own = body
	}
}

// text looks for a raw profile in a chunk of text. One that cannot be read is no
// part of the image and is passed over.
func (e *exifBlocks) text(c *Chunk) {
	key, body, zipped, _ := splitText(c)
	name, isProfile := rawProfileName(key)
	if !isProfile || name != "exif" && name != "app1" || e.raw != nil || e.looked == rawProfiles {
		return
	}
	e.looked++
	block, prefixed := bytes.CutPrefix(rawProfile(body, zipped), []byte(exif.Prefix))
	if _, ok := tiff.Open(block); ok && (prefixed || name == "exif") {
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
	if _, err := token(r); err != nil {
		return nil
	}
	length, err := token(r)
	if err != nil {
		return nil
	}
	n, err := strconv.ParseUint(length, 10, 31)
	if err != nil || int(n) > min(most, rawProfileMost) {
		return nil
	}
	// The length is a claim: memory grows with the digits that are there.
	profile := make([]byte, 0, min(int(n), len(text)))
	for range n {
		high, err := hexDigit(r)
		if err != nil {
			return nil
		}
		low, err := hexDigit(r)
		if err != nil {
			return nil
		}
		profile = append(profile, high<<4|low)
	}
	return profile
}

func space(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// token skips white space and returns the characters up to the next.
func token(r *bufio.Reader) (string, error) {
	const longest = 32
	var token []byte
	for len(token) < longest {
		c, err := r.ReadByte()
		switch {
		case err != nil:
			return "", err
		case !space(c):
			token = append(token, c)
		case len(token) > 0:
			return string(token), nil
		}
	}
	return "", io.ErrUnexpectedEOF
}

// hexDigit skips white space and returns the value of the next hexadecimal digit.
func hexDigit(r *bufio.Reader) (byte, error) {
	for {
		c, err := r.ReadByte()
		switch {
		case err != nil:
			return 0, err
		case c >= '0' && c <= '9':
			return c - '0', nil
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			return c | 0x20 - 'a' + 10, nil
		case !space(c):
			return 0, io.ErrUnexpectedEOF
		}
	}
}
