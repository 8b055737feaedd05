//go:build !nos3

package storage

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"net/http"
	"strings"
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	nvme       = crc64.MakeTable(0x9a6c9329ac4bc9b5)
)

// checksumsS3 are those that S3 keeps with objects and gives with what is read, each by the end of its header field's name,
// the fastest first.
var checksumsS3 = []struct {
	name string
	sum  func() hash.Hash
}{
	{"Crc32c", func() hash.Hash { return crc32.New(castagnoli) }},
	{"Crc32", func() hash.Hash { return crc32.NewIEEE() }},
	{"Crc64nvme", func() hash.Hash { return crc64.New(nvme) }},
	{"Sha256", sha256.New},
	{"Sha1", sha1.New},
}

// summed is the body of an answer, whose end is an error where it does not have the checksum that the answer tells. That of
// an object in parts is the checksum of theirs, which says nothing of the whole.
func summed(resp *http.Response) io.ReadCloser {
	for _, c := range checksumsS3 {
		if want := resp.Header.Get("X-Amz-Checksum-" + c.name); want != "" && !strings.Contains(want, "-") {
			return &summedBody{ReadCloser: resp.Body, hash: c.sum(), name: c.name, want: want}
		}
	}
	return resp.Body
}

type summedBody struct {
	io.ReadCloser
	hash       hash.Hash
	name, want string
}

func (b *summedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.hash.Write(p[:n])
	if err == io.EOF {
		if got := base64.StdEncoding.EncodeToString(b.hash.Sum(nil)); got != b.want {
			err = fmt.Errorf("%s %s, store lists %s: %w", strings.ToUpper(b.name), got, b.want, errMismatch)
		}
	}
	return n, err
}
