package neuquant

// maxEntries is the most that a palette holds, and the number of neurons there is
// room for.
const maxEntries = 256

// network is the neurons in training. A frequency and its bias are one number:
// bias + frequency*2^10 stays what it was at the start, since a frequency that falls by
// f adds f*2^10 to its bias, and the winner's 64 take 2^16 from it. So the bias that a
// distance is reduced by, bias>>12, is (start - frequency)>>2. Frequencies are from 256,
// where nothing falls any more, to 2^16, so that one less than them fits 16 bits, and
//
//	distance - (start - frequency)>>2 = distance + (one less - start%4)>>2 + constant
//
// is less than 2^15 without the constant, which no comparison needs.
type network struct {
	c    [4][maxEntries]int16 // R, G, B, A in 1/16
	freq [maxEntries]uint16   // one less than the frequency
	mask [maxEntries]int16    // -1 for neurons, 0 behind the last

	// weight[64+d] is that of a neuron at distance d from the one that moves, in 2^-18;
	// 0 at the radius and beyond.
	weight [2 * 64]int32

	n    int
	rest int32 // start%4
	rad  int32 // neurons nearer than this move, and the winner
}

// rates are how fast a network learns, and how long it keeps that.
type rates struct {
	alpha, decay  int32
	radius, rad   int32
	cycle, cycles int // samples of a cycle; all samples
	stride        int // pixels from sample to sample
}

// newRates is the plan of a training with n colours for entries neurons.
func newRates(n, entries, sample int) *rates {
	if 3*n < dekkerLeast {
		sample = 1
	}
	r := &rates{
		alpha: oneAlpha, decay: int32(30 + (sample-1)/3),
		radius: int32(entries>>3) << radiusBits,
		cycles: max(1, n/sample), stride: 1,
	}
	r.cycle = max(1, r.cycles/cycles)
	r.setRad()
	if 3*n >= dekkerLeast {
		for _, r.stride = range strides {
			if 3*n%r.stride != 0 {
				break
			}
		}
	}
	return r
}

func (r *rates) setRad() {
	if r.rad = r.radius >> radiusBits; r.rad <= 1 {
		r.rad = 0
	}
}

// fall is what happens at the end of a cycle.
func (r *rates) fall() {
	r.alpha -= r.alpha / r.decay
	r.radius -= r.radius / radiusDecr
	r.setRad()
}

// newNetwork returns neurons on the diagonal from black to white. Behind the last are
// some that are too far from everything to win: their distances reach the largest
// number of 16 bits, where sums end.
func newNetwork(entries int, opaque bool) *network {
	w := &network{n: entries, rest: int32(65536 / entries % 4)}
	for i := range maxEntries {
		if i >= entries {
			w.c[0][i], w.c[1][i] = 32767, 20000
			continue
		}
		v := int16(i << 12 / entries)
		w.c[0][i], w.c[1][i], w.c[2][i], w.c[3][i] = v, v, v, v
		if opaque {
			w.c[3][i] = 255 << neuronBits
		}
		w.freq[i] = uint16(65536/entries - 1)
		w.mask[i] = -1
	}
	return w
}

// set makes the weights of a cycle.
func (w *network) set(r *rates) {
	w.weight = [2 * 64]int32{}
	w.rad = r.rad
	w.weight[64] = r.alpha << weightBits
	for d := int32(1); d < r.rad; d++ {
		v := r.alpha * ((r.rad*r.rad - d*d) << weightBits / (r.rad * r.rad))
		w.weight[64-d], w.weight[64+d] = v, v
	}
}

// train answers a problem with as many entries as it asks for, the neurons in their
// order. sample is the option.
func train(p *problem, sample int) []uint32 {
	n := p.n()
	r := newRates(n, p.entries, sample)
	w := newNetwork(p.entries, p.opaque)
	w.set(r)
	var list [512]uint32
	at := 0
	for done := 0; done < r.cycles; {
		// As far as the end of the list, of the cycle, and of all.
		m := min(len(list), r.cycle-done%r.cycle, r.cycles-done)
		for i := range m {
			list[i] = p.at(at)
			if at += r.stride; at >= n {
				at %= n
			}
		}
		w.learn(list[:m], p.opaque)
		if done += m; done%r.cycle == 0 {
			r.fall()
			w.set(r)
		}
	}
	return w.entries(p.opaque)
}

// entries rounds the neurons to colours.
func (w *network) entries(opaque bool) []uint32 {
	out := make([]uint32, w.n)
	for i := range out {
		for t := range w.c {
			v := (int32(w.c[t][i]) + 1<<(neuronBits-1)) >> neuronBits
			out[i] |= uint32(min(255, max(0, v))) << (8 * t)
		}
		if opaque {
			out[i] |= opaqueAlpha
		}
	}
	return out
}

// learnGo shows samples to the network.
func (w *network) learnGo(list []uint32) {
	n := w.n
	c0, c1, c2, c3 := w.c[0][:n], w.c[1][:n], w.c[2][:n], w.c[3][:n]
	freq := w.freq[:n]
	for _, s := range list {
		v0, v1, v2, v3 := int32(s&255)<<neuronBits, int32(s>>8&255)<<neuronBits, int32(s>>16&255)<<neuronBits, int32(s>>24)<<neuronBits
		nearest, least := int32(1<<30), int32(1<<30)
		w1, w2 := 0, 0
		for i := range freq {
			d := abs(int32(c0[i])-v0) + abs(int32(c1[i])-v1) + abs(int32(c2[i])-v2) + abs(int32(c3[i])-v3)
			if d < nearest {
				nearest, w1 = d, i
			}
			f := int32(freq[i])
			if e := d + (f-w.rest)>>2; e < least {
				least, w2 = e, i
			}
			freq[i] = uint16(f - (f+1)>>betaBits)
		}
		freq[w1] += winnerGain
		reach := max(1, int(w.rad)) - 1
		for i := max(0, w2-reach); i <= min(n-1, w2+reach); i++ {
			a := w.weight[64+i-w2]
			c0[i] -= int16(a * (int32(c0[i]) - v0) / (1 << shiftBits))
			c1[i] -= int16(a * (int32(c1[i]) - v1) / (1 << shiftBits))
			c2[i] -= int16(a * (int32(c2[i]) - v2) / (1 << shiftBits))
			c3[i] -= int16(a * (int32(c3[i]) - v3) / (1 << shiftBits))
		}
	}
}

func abs(v int32) int32 { return max(v, -v) }
