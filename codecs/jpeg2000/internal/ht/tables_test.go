package ht

import (
	"math/bits"
	"testing"
)

// Each entry of the encoder's table is that of the last of the rows that fit and tell most exponents, as a search of all
// rows for it finds.
func TestVLCEncodeIsTheBestRow(t *testing.T) {
	for table, rows := range cxtVLC {
		for index, got := range vlcEncode[table] {
			context, rho, eps := uint8(index>>8), uint8(index>>4&15), uint8(index&15)
			most, want := -1, uint16(0)
			for _, r := range rows {
				fits := r.context == context && r.rho == rho && r.offset == min(eps, 1) && eps&r.ek == r.e1
				if n := bits.OnesCount8(r.ek); fits && n >= most {
					most, want = n, uint16(r.ek)<<12|uint16(r.codeword)<<4|uint16(r.length)
				}
			}
			if got != want {
				t.Fatalf("table %d, context %d, rho %04b, eps %04b: %#04x, want %#04x", table, context, rho, eps, got, want)
			}
		}
	}
}
