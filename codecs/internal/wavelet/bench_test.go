package wavelet

import "testing"

func benchmark[T Sample](b *testing.B, filter *Filter[T], order Order, src Plane[T]) {
	const levels = 5
	bands, back := NewPlane[T](src.Width, src.Height), NewPlane[T](src.Width, src.Height)
	t := New(filter, order)
	t.Forward(bands, src, levels, 0, 0)
	b.Run("forward", func(b *testing.B) {
		b.SetBytes(int64(len(src.Samples)))
		b.ReportAllocs()
		for b.Loop() {
			t.Forward(bands, src, levels, 0, 0)
		}
	})
	b.Run("inverse", func(b *testing.B) {
		b.SetBytes(int64(len(src.Samples)))
		b.ReportAllocs()
		for b.Loop() {
			t.Inverse(back, bands, levels, 0, 0)
		}
	})
}

// BenchmarkTransform counts samples as bytes. One plane stays in the cache, one does not.
func BenchmarkTransform(b *testing.B) {
	for name, side := range map[string]int{"512": 512, "4096": 4096} {
		src := randomPlane(side, side, 8)
		for _, filter := range reversible {
			b.Run(filter.name+"/rows-first/"+name, func(b *testing.B) { benchmark(b, filter, RowsFirst, src) })
		}
		b.Run("5/3/columns-first/"+name, func(b *testing.B) { benchmark(b, LeGall53(), ColumnsFirst, src) })
		b.Run("9/7/columns-first/"+name, func(b *testing.B) { benchmark(b, Daubechies97(), ColumnsFirst, floats(src)) })
	}
}
