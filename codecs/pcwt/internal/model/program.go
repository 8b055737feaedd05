package model

import (
	"sync"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
)

// place is a term as the kernels take it: where its cell is from the start of the row
// on, for index 0 of a half row.
type place struct {
	at    int32
	minus bool
}

// program is the taps or features of a band for the columns of one parity.
type program struct {
	sums [][]place
	code []int32 // for the kernel
}

// layout is what tiles of one side have in common.
type layout struct {
	taps      [3][constants.Bands][2]program // by the number of earlier planes
	features  [2][3][constants.Bands][2]program
	low       [2][3][constants.Bands][]bool // features of the low band
	gradients [2][4][][2]int
	textures  [2][]int32 // the same for the kernel
}

var layouts = func() (out [3]func() *layout) {
	for i := range out {
		out[i] = sync.OnceValue(func() *layout { return newLayout(64 << i) })
	}
	return out
}()

func newLayout(side int) *layout {
	l := new(layout)
	w := newWorkspace(side)
	for earlier := range 3 {
		for b := range constants.Bands {
			for p := range 2 {
				l.taps[earlier][b][p] = w.program(taps(b, earlier), p)
				for k, fast := range []bool{false, true} {
					list, low := features(b, earlier, fast)
					l.features[k][earlier][b][p] = w.program(list, p)
					l.low[k][earlier][b] = low
				}
			}
		}
	}
	for p := range 2 {
		for i, list := range gradients {
			for _, d := range list {
				a, b := w.offset(plus(fieldLL, d.x0, d.y0), p), w.offset(plus(fieldLL, d.x1, d.y1), p)
				l.gradients[p][i] = append(l.gradients[p][i], [2]int{a, b})
				l.textures[p] = append(l.textures[p], int32(2*a), int32(2*b))
			}
		}
	}
	return l
}

func (w *workspace) program(list []sum, parity int) program {
	if len(list) > constants.Slots {
		panic("model: more sums than slots")
	}
	out := program{sums: make([][]place, len(list))}
	for i, s := range list {
		if i == acrossSlot && parity == 0 {
			continue
		}
		for _, m := range s {
			out.sums[i] = append(out.sums[i], place{int32(w.offset(m, parity)), m.minus})
		}
	}
	for i := range constants.Slots {
		if i >= len(list) || len(out.sums[i]) == 0 {
			out.code = append(out.code, 0)
			continue
		}
		out.code = append(out.code, out.head(i, list[i][0].field == fieldLL))
		for _, m := range out.sums[i] {
			out.code = append(out.code, 2*m.at)
		}
	}
	return out
}

// head is what the kernel reads before the terms of a slot: how many there are, or how many
// pairs where every second one is subtracted, times 4; 2 for such pairs; 1 for the low band.
func (p *program) head(slot int, low bool) int32 {
	s := p.sums[slot]
	head := int32(4 * len(s))
	for i, m := range s {
		if m.minus {
			head = int32(2*len(s)) | 2
			if i%2 == 0 || len(s)%2 != 0 {
				panic("model: terms do not alternate")
			}
		} else if s[len(s)-1].minus && i%2 != 0 {
			panic("model: terms do not alternate")
		}
	}
	if low {
		head |= 1
	}
	return head
}
