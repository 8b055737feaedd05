package wavelet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

var reversible = []*Filter[int32]{LeGall53(), TwoTap(), Wavelet137T()}

var orders = map[string]Order{"columns first": ColumnsFirst, "rows first": RowsFirst}

// sizes are those where the extension is most of a signal, and around vectors.
var sizes = []int{1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 18, 31, 32, 33, 47, 66}

func randomPlane(width, height, bits int) Plane[int32] {
	random := rand.New(rand.NewPCG(uint64(width), uint64(height)))
	p := NewPlane[int32](width, height)
	for i := range p.Samples {
		p.Samples[i] = int32(random.IntN(1<<bits)) - 1<<(bits-1)
	}
	return p
}

func floats(p Plane[int32]) Plane[float32] {
	q := NewPlane[float32](p.Width, p.Height)
	for i, v := range p.Samples {
		q.Samples[i] = float32(v)
	}
	return q
}

// forEachShape calls f for many sizes, parities and orders.
func forEachShape(t *testing.T, f func(t *testing.T, width, height, x0, y0 int, order Order)) {
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			for _, width := range sizes {
				for _, height := range sizes {
					for origin := range 4 {
						f(t, width, height, origin&1, origin>>1, order)
					}
				}
			}
		})
	}
}

// TestAgainstTheFormulas compares bands with those of the reference, and the inverse with the image.
func TestAgainstTheFormulas(t *testing.T) {
	for _, filter := range reversible {
		t.Run(filter.name, func(t *testing.T) {
			forEachShape(t, func(t *testing.T, width, height, x0, y0 int, order Order) {
				p := randomPlane(width, height, 17)
				want := referenceFilters[filter.name].levels(p, 1, x0, y0, order)
				got, back := NewPlane[int32](width, height), NewPlane[int32](width, height)
				tr := New(filter, order)
				tr.Forward(got, p, 1, x0, y0)
				if !slices.Equal(got.Samples, want.Samples) {
					t.Fatalf("%dx%d at (%d, %d): bands differ from the reference", width, height, x0, y0)
				}
				tr.Inverse(back, got, 1, x0, y0)
				if !slices.Equal(back.Samples, p.Samples) {
					t.Fatalf("%dx%d at (%d, %d): the inverse is not the image", width, height, x0, y0)
				}
			})
		})
	}
}

// TestInverseOfAnyBands decodes bands that no image has, as a damaged file does.
func TestInverseOfAnyBands(t *testing.T) {
	for _, filter := range reversible {
		forEachShape(t, func(t *testing.T, width, height, x0, y0 int, order Order) {
			bands := randomPlane(width, height, 17)
			want := separate(bands, x0, y0, false)
			referenceFilters[filter.name].transform(want, x0, y0, false, order)
			got := NewPlane[int32](width, height)
			New(filter, order).Inverse(got, bands, 1, x0, y0)
			if !slices.Equal(got.Samples, want.Samples) {
				t.Fatalf("%v, %dx%d at (%d, %d): differs from the reference", filter, width, height, x0, y0)
			}
		})
	}
}

// TestIrreversible compares bits, not values within a tolerance.
func TestIrreversible(t *testing.T) {
	forEachShape(t, func(t *testing.T, width, height, x0, y0 int, order Order) {
		p := floats(randomPlane(width, height, 12))
		want := reference97.levels(p, 1, x0, y0, order)
		got, back := NewPlane[float32](width, height), NewPlane[float32](width, height)
		tr := New(Daubechies97(), order)
		tr.Forward(got, p, 1, x0, y0)
		if !slices.Equal(got.Samples, want.Samples) {
			t.Fatalf("%dx%d at (%d, %d): bands differ from the reference", width, height, x0, y0)
		}
		joined := separate(got, x0, y0, false)
		reference97.transform(joined, x0, y0, false, order)
		tr.Inverse(back, got, 1, x0, y0)
		if !slices.Equal(back.Samples, joined.Samples) {
			t.Fatalf("%dx%d at (%d, %d): the inverse differs from the reference", width, height, x0, y0)
		}
		const tolerance = 0.01 // of samples below 2048, after some ten roundings to 24 bits
		for i := range p.Samples {
			if d := back.Samples[i] - p.Samples[i]; d > tolerance || d < -tolerance {
				t.Fatalf("%dx%d at (%d, %d): sample %d is %v, was %v", width, height, x0, y0, i, back.Samples[i], p.Samples[i])
			}
		}
	})
}

// TestGains is the normalisation of ISO/IEC 15444-1: a constant keeps its value, and a signal of the
// highest frequency is doubled.
func TestGains(t *testing.T) {
	p := NewPlane[float32](64, 1)
	for i := range p.Samples {
		p.Samples[i] = 100 + 50*float32(1-i%2*2)
	}
	got := NewPlane[float32](64, 1)
	New(Daubechies97(), ColumnsFirst).Forward(got, p, 1, 0, 0)
	if low, high := got.Samples[16], got.Samples[48]; low < 99.99 || low > 100.01 || high < -100.01 || high > -99.99 {
		t.Errorf("low-pass %v and high-pass %v, want 100 and -100", low, high)
	}
}

func TestLevels(t *testing.T) {
	for _, filter := range reversible {
		for _, order := range orders {
			for _, c := range []struct{ width, height, levels, x0, y0 int }{
				{1, 1, 3, 0, 0}, {1, 1, 3, 5, 7}, {5, 3, 5, 0, 0}, {70, 45, 0, 0, 0}, {70, 45, 1, 3, 2}, {70, 45, 3, 9, 11},
				{33, 129, 5, 0, 0}, {33, 129, 6, 37, 1}, {64, 64, 32, 0, 0},
			} {
				name := fmt.Sprintf("%v, %+v", filter, c)
				p := randomPlane(c.width, c.height, 16)
				want := referenceFilters[filter.name].levels(p, c.levels, c.x0, c.y0, order)
				got, back := NewPlane[int32](c.width, c.height), NewPlane[int32](c.width, c.height)
				tr := New(filter, order)
				tr.Forward(got, p, c.levels, c.x0, c.y0)
				if !slices.Equal(got.Samples, want.Samples) {
					t.Fatalf("%s: bands differ from the reference", name)
				}
				tr.Inverse(back, got, c.levels, c.x0, c.y0)
				if !slices.Equal(back.Samples, p.Samples) {
					t.Fatalf("%s: the inverse is not the image", name)
				}
			}
		}
	}
}

// TestPartsOfALevel splits the rows among transforms, as goroutines do.
func TestPartsOfALevel(t *testing.T) {
	for _, filter := range reversible {
		for _, order := range orders {
			for parity := range 2 {
				const width, height = 21, 40
				p := randomPlane(width, height, 12)
				whole, parts := NewPlane[int32](width, height), NewPlane[int32](width, height)
				New(filter, order).ForwardLevel(Quarter(whole, 0, parity), p, 0, parity)
				back := NewPlane[int32](width, height)
				cuts := []int{0, 1, 2, 5, 12, 13, 30, 39, 40}
				for i := range len(cuts) - 1 {
					New(filter, order).ForwardRows(Quarter(parts, 0, parity), p, 0, parity, cuts[i], cuts[i+1])
				}
				if !slices.Equal(parts.Samples, whole.Samples) {
					t.Fatalf("%v: the parts are not the whole", filter)
				}
				for i := range len(cuts) - 1 {
					New(filter, order).InverseRows(back, Quarter(whole, 0, parity), 0, parity, cuts[i], cuts[i+1])
				}
				if !slices.Equal(back.Samples, p.Samples) {
					t.Fatalf("%v: the inverse in parts is not the image", filter)
				}
			}
		}
	}
}

// TestWorkedExample is a signal that was transformed by hand.
func TestWorkedExample(t *testing.T) {
	p := Plane[int32]{Samples: []int32{10, 12, 20, 8, 6, 1}, Width: 6, Height: 1, Stride: 6}
	got := NewPlane[int32](6, 1)
	New(LeGall53(), ColumnsFirst).Forward(got, p, 1, 0, 0)
	// high: 12-floor(30/2), 8-floor(26/2), 1-6; low: 10+floor(-4/4), 20+floor(-6/4), 6+floor(-8/4)
	if want := []int32{9, 18, 4, -3, -5, -5}; !slices.Equal(got.Samples, want) {
		t.Errorf("got %v, want %v", got.Samples, want)
	}
}

func FuzzTransform(f *testing.F) {
	f.Add(uint8(7), uint8(9), uint8(0), uint8(3), []byte("samples"))
	f.Add(uint8(40), uint8(1), uint8(7), uint8(1), []byte{})
	f.Fuzz(func(t *testing.T, width, height, kind, levels uint8, samples []byte) {
		if width == 0 || height == 0 {
			return
		}
		p := NewPlane[int32](int(width), int(height))
		for i := range p.Samples {
			if len(samples) > 0 {
				p.Samples[i] = int32(samples[i%len(samples)])<<(kind>>4) - int32(i&1)
			}
		}
		filter, order := reversible[kind%3], Order(kind>>2&1)
		x0, y0, n := int(kind>>3&1), int(kind>>4&1), int(levels%9)
		got, back := NewPlane[int32](p.Width, p.Height), NewPlane[int32](p.Width, p.Height)
		tr := New(filter, order)
		tr.Forward(got, p, n, x0, y0)
		if want := referenceFilters[filter.name].levels(p, n, x0, y0, order); !slices.Equal(got.Samples, want.Samples) {
			t.Fatal("bands differ from the reference")
		}
		tr.Inverse(back, got, n, x0, y0)
		if !slices.Equal(back.Samples, p.Samples) {
			t.Fatal("the inverse is not the image")
		}
	})
}

// TestNarrow compares the filters on 16 bits with those on 32 for samples of 9 bits, several levels deep, and looks that
// wrong coefficients, whose sums wrap around, come back.
func TestNarrow(t *testing.T) {
	for _, filters := range []struct {
		wide   *Filter[int32]
		narrow *Filter[int16]
	}{{LeGall53(), LeGall53Narrow()}, {TwoTap(), TwoTapNarrow()}} {
		t.Run(filters.wide.name, func(t *testing.T) {
			forEachShape(t, func(t *testing.T, width, height, x0, y0 int, order Order) {
				p := randomPlane(width, height, 9)
				want := NewPlane[int32](width, height)
				New(filters.wide, order).Forward(want, p, 3, x0, y0)
				in, got, back := NewPlane[int16](width, height), NewPlane[int16](width, height), NewPlane[int16](width, height)
				for i, v := range p.Samples {
					in.Samples[i] = int16(v)
				}
				tr := New(filters.narrow, order)
				tr.Forward(got, in, 3, x0, y0)
				for i, v := range want.Samples {
					if int32(got.Samples[i]) != v {
						t.Fatalf("%dx%d at (%d, %d): coefficient %d is %d, on 32 bits %d", width, height, x0, y0, i, got.Samples[i], v)
					}
				}
				tr.Inverse(back, got, 3, x0, y0)
				if !slices.Equal(back.Samples, in.Samples) {
					t.Fatalf("%dx%d at (%d, %d): the inverse gives other samples", width, height, x0, y0)
				}
				if x0 != 0 || y0 != 0 {
					return // a single sample at an odd coordinate is doubled
				}
				for i := range in.Samples {
					in.Samples[i] = int16(uint16(i*i*40503 + 12345))
				}
				tr.Inverse(got, in, 1, 0, 0)
				tr.Forward(back, got, 1, 0, 0)
				if !slices.Equal(back.Samples, in.Samples) {
					t.Fatalf("%dx%d: sums that wrap around are not inverted", width, height)
				}
			})
		})
	}
}
