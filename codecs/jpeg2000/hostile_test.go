package jpeg2000

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/allocated"
)

// Files are cut at each marker and at each byte of their headers, and each byte there takes
// other values: the answer is an error of package codec or some image, after no more memory
// than the headers say.
func TestHostileHeaders(t *testing.T) {
	names, err := filepath.Glob("testdata/*.j*")
	if err != nil || len(names) == 0 {
		t.Fatal("no golden files", err)
	}
	for i, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(name) == ".got" || testing.Short() && i%7 != 0 {
			continue
		}
		data := bytes.Index(file, []byte{0xff, 0x93}) + 2 // behind SOD
		for at := range file {
			if at < data || file[at] == 0xff && at+1 < len(file) && file[at+1] > 0x8f {
				checkHostile(t, name, at, file[:at:at])
			}
		}
		for at := range data {
			for _, v := range []byte{0, 0xff, file[at] ^ 0x11} {
				bad := bytes.Clone(file)
				bad[at] = v
				checkHostile(t, name, at, bad)
			}
		}
	}
}

// The most that reading headers takes for any file of the test, and decoding what the headers
// say is little; and how much more than that garbage may be.
const (
	hostileHeader  = 48 << 20
	hostileDecode  = 16 << 20
	hostileGarbage = 4
)

// checkHostile reads and decodes a file whose byte at a place was changed, or that ends there.
func checkHostile(t *testing.T, name string, at int, file []byte) {
	t.Helper()
	var h codec.Header
	var err error
	if took, more := allocated.MoreThan(hostileHeader, func() { h, err = Codec{}.Header(file) }); more {
		t.Errorf("%s, byte %d: headers take %d bytes", name, at, took)
	}
	if err == nil && h.Memory <= hostileDecode {
		if took, more := allocated.MoreThan(uint64(hostileGarbage*h.Memory), func() { _, err = decodeOne(t, file, codec.View{}) }); more {
			t.Errorf("%s, byte %d: decoding takes %d bytes, and the header says %d", name, at, took, h.Memory)
		}
	}
	var malformed *codec.FormatError
	var unsupported *codec.UnsupportedError
	if err != nil && !errors.As(err, &malformed) && !errors.As(err, &unsupported) {
		t.Errorf("%s, byte %d: %T: %v", name, at, err, err)
	}
}
