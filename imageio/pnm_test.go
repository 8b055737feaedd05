package imageio

import (
	"strings"
	"testing"
)

func TestPNM(t *testing.T) {
	for _, c := range []struct {
		name, data string
		w, h, ch   int
		bits       int
		want       []int
	}{
		{"P1 with and without spaces", "P1 # c\n3 2\n1 0 1\n010", 3, 2, 1, 8, []int{0, 255, 0, 255, 0, 255}},
		{"P1 with a comment among the bits", "P1 2 1 1 # 0 0\n0", 2, 1, 1, 8, []int{0, 255}},
		{"P2 native depth", "P2\n2 1\n# depth\n15\n7 15", 2, 1, 1, 4, []int{7, 15}},
		{"P2 16 bit", "P2 2 1 65535 0 65535 ", 2, 1, 1, 16, []int{0, 65535}},
		{"P3", "P3 1 2 255 1 2 3\n4 5 6\n", 1, 2, 3, 8, []int{1, 2, 3, 4, 5, 6}},
		{"P4 with padding bits", "P4 9 1\n\x80\xff", 9, 1, 1, 8, []int{0, 255, 255, 255, 255, 255, 255, 255, 0}},
		{"P5 whose first sample is white space", "P5 2 1 255\n\n ", 2, 1, 1, 8, []int{10, 32}},
		{"P5 10 bit", "P5 2 1 1023\n\x03\xff\x00\x01", 2, 1, 1, 10, []int{1023, 1}},
		{"P5 comment before maxval", "P5\n2 1\n#x\n255\nAB", 2, 1, 1, 8, []int{65, 66}},
		{"P6 16 bit", "P6 1 1 65535\n\x01\x02\x03\x04\x05\x06", 1, 1, 3, 16, []int{0x102, 0x304, 0x506}},
		{"P7", "P7\n# c\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\nabcd", 1, 1, 4, 8, []int{97, 98, 99, 100}},
		{"P5 comment behind maxval", "P5 2 1 255# 0 0\nAB", 2, 1, 1, 8, []int{65, 66}},
		{"P7 of one sample with a name of its own", "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nTUPLTYPE HEIGHTS\nENDHDR\na", 1, 1, 1, 8, []int{97}},
		{"P7 black and white", "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 1\nMAXVAL 1\nTUPLTYPE BLACKANDWHITE\nENDHDR\n\x00\x01", 2, 1, 1, 1, []int{0, 1}},
		{"P7 without a type", "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nENDHDR\nab", 1, 1, 2, 8, []int{97, 98}},
		{"maxval 100 stays as it is", "P5 1 1 100\n\x64", 1, 1, 1, 7, []int{100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Decode([]byte(c.data), nil)
			if err != nil {
				t.Fatal(err)
			}
			if m.Width != c.w || m.Height != c.h || m.Channels != c.ch || m.Bits != c.bits {
				t.Fatalf("got %s", m.Shape)
			}
			for i, want := range c.want {
				if got := m.Sample(i); got != want {
					t.Errorf("sample %d is %d, want %d", i, got, want)
				}
			}
		})
	}
}

func TestPNMErrors(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"no size", "P5\n", "ends in the middle"},
		{"empty side", "P5 0 3 255\n", "0 x 3"},
		{"maxval 0", "P5 1 1 0\nx", "maxval of 0"},
		{"maxval 65536", "P5 1 1 65536\nx", "maxval of 65536"},
		{"sample above maxval", "P5 1 1 100\n\x65", "above the maxval"},
		{"text sample above maxval", "P2 1 1 100 101 ", "above the maxval"},
		{"letters", "P2 1 1 100 abc", "where a number belongs"},
		{"bit 2", "P1 1 1 2", "where a bit belongs"},
		{"huge number", "P5 99999999999999999999 1 255\n", "too large"},
		{"tail", "P5 1 1 255\nxtail", "4 bytes follow"},
		{"two shapes", "P5 1 1 255\nxP5 2 1 255\nxx", "differs in shape"},
		{"five channels", "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 5\nMAXVAL 255\nENDHDR\nabcde", "5 channels"},
		{"CMYK", "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE CMYK\nENDHDR\nabcd", "4 channels of the type"},
		{"RGB and something", "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\nabcd", "4 channels of the type"},
		{"thumbnail of xv", "P7 332\n#END_OF_COMMENTS\n1 1 255\nx", "a thumbnail of xv"},
		{"endless line", "P7\n" + strings.Repeat("x", 9000), "line without end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode([]byte(c.data), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// The samples of a binary file of 8 bits are not copied.
func TestPNMSharesTheFile(t *testing.T) {
	data := []byte("P6 3 2 255\n123456789abcdefghi")
	m, err := Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if at := len(data) - len(m.Pix); &m.Pix[0] != &data[at] || cap(m.Pix) != len(m.Pix) {
		t.Errorf("%d samples of capacity %d are not the file's last %d bytes", len(m.Pix), cap(m.Pix), len(data)-at)
	}
}
