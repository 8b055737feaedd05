package model

import "github.com/pelmill/pelmill/codecs/pcwt/internal/constants"

func adds(a, b int16) int16 { return saturate(int32(a) + int32(b)) }
func subs(a, b int16) int16 { return saturate(int32(a) - int32(b)) }

func abs(a int16) int16 { return saturate(max(int32(a), -int32(a))) }

// difference is of two cells of the low band.
type difference struct{ x0, y0, x1, y1 int }

// gradients are the differences whose absolute values add up to gh, gv, d1 and d2.
var gradients = func() (g [4][]difference) {
	for d := -1; d <= 1; d++ {
		for s := 0; s <= 1; s++ {
			g[0] = append(g[0], difference{d + 1, s, d, s})
			g[1] = append(g[1], difference{s, d + 1, s, d})
		}
	}
	for _, p := range [][2]int{{0, 0}, {-1, -1}, {1, 1}, {1, -1}, {-1, 1}} {
		x, y := p[0], p[1]
		g[2] = append(g[2], difference{x + 1, y + 1, x, y})
		g[3] = append(g[3], difference{x + 1, y, x, y + 1})
	}
	return g
}()

// textureOf is the texture class for gradients gh, gv, d1 and d2.
func textureOf(h, v, d, e int16, thresholds *[constants.Activities - 1]int16) uint8 {
	twice := func(a int16) int16 { return adds(a, a) }
	thrice := func(a int16) int16 { return adds(adds(a, a), a) }
	direction := 2
	switch {
	case h > thrice(v):
		direction = 0
	case twice(h) > thrice(v):
		direction = 1
	case v > thrice(h):
		direction = 4
	case twice(v) > thrice(h):
		direction = 3
	}
	diagonal := 1
	switch {
	case twice(d) > thrice(e):
		diagonal = 0
	case twice(e) > thrice(d):
		diagonal = 2
	}
	activity := 0
	for _, t := range thresholds {
		if adds(h, v) >= t {
			activity++
		}
	}
	return uint8((direction*constants.Diagonals+diagonal)*constants.Activities + activity)
}

// textureRow computes the textures and directions of the columns of one parity of row y.
func (t *Tile) textureRow(y, parity int) {
	half := t.w.side / 2
	at := y*t.w.side + parity*half
	if hasAVX2 {
		limits := uint64(uint16(t.set.Thresholds[0])) | uint64(uint16(t.set.Thresholds[1]))<<16
		texturesAVX2(&t.texture[at], &t.direction[at], &t.w.cells[t.w.row(y)], &t.layout.textures[parity][0], limits, uint64(half/16))
		return
	}
	t.textureRowGo(t.texture[at:at+half], t.direction[at:at+half], y, parity)
}

func (t *Tile) textureRowGo(textures, directions []uint8, y, parity int) {
	base := t.w.row(y)
	for j := range textures {
		var g [4]int16
		for i, list := range t.gradients[parity] {
			for _, d := range list {
				g[i] = adds(g[i], abs(subs(t.w.cells[base+d[0]+j], t.w.cells[base+d[1]+j])))
			}
		}
		textures[j] = textureOf(g[0], g[1], g[2], g[3], &t.set.Thresholds)
		directions[j] = textures[j] / (constants.Diagonals * constants.Activities)
	}
}
