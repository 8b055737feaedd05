// Profile 1: what a coefficient knows (README, "What a coefficient knows"). A coefficient's prediction and scale are sums
// over terms. Those of the low band, of the parents and of earlier planes are known for a whole level at once; those of the
// own tile follow one after the other in decoding. In encoding all are known.
//
// x and y count from the tile's corner, px and py in the band.
#pragma once

#include "../../gpu/include/base.cuh"
#include "shared.cuh"

// Most planes have no sample and no coefficient of more than most_small: then no sum of taps or features leaves 16 bits, and
// the limits, which are a third of the instructions, are left out. Templates are told so by small. The largest sum has
// six differences of two of LL.
DEVICE bool is_wide(int32_t v) { return (uint32_t)(v + most_small) > 2 * (uint32_t)most_small; }

// v, limited to 16 bits. As instructions: the compiler would make a saturating addition of 16 bits, which takes longer.
DEVICE int32_t sat(int32_t v)
{
	int32_t r;
	asm("{\n\t.reg .s32 t;\n\tmax.s32 t, %1, -32768;\n\tmin.s32 %0, t, 32767;\n\t}" : "=r"(r) : "r"(v));
	return r;
}

// The magnitude of v, at most limit.
DEVICE int32_t limited(int32_t v, int32_t limit)
{
	int32_t r;
	asm("{\n\t.reg .s32 t;\n\tabs.s32 t, %1;\n\tmin.s32 %0, t, %2;\n\t}" : "=r"(r) : "r"(v), "r"(limit));
	return r;
}

template <bool small> DEVICE int32_t sat(int32_t v) { return small ? v : sat(v); }
template <bool small> DEVICE int32_t plus(int32_t a, int32_t b) { return sat<small>(a + b); }
template <bool small> DEVICE int32_t minus(int32_t a, int32_t b) { return sat<small>(a - b); }
template <bool small> DEVICE int32_t absolute(int32_t v) { return small ? __builtin_abs(v) : limited(v, 32767); }
DEVICE int32_t magnitude_of(int16_t e) { return limited(e, most_magnitude); }
template <bool small> DEVICE int32_t magnitude_of(int16_t e) { return small ? __builtin_abs((int32_t)e) : magnitude_of(e); }

DEVICE uint32_t nearest(int32_t v, uint32_t n) { return v < 0 ? 0 : (uint32_t)v < n ? (uint32_t)v : n - 1; }

// The low band around a position: q(i, j) for i and j from -2 to 3, where a term looks.
template <bool small> struct Low {
	int32_t s[6][6];

	// From LL in shared memory, where the position is.
	__device__ Low(const int16_t *at, int32_t stride)
	{
#pragma unroll
		for (int32_t j = -2; j <= 3; j++)
#pragma unroll
			for (int32_t i = -2; i <= 3; i++)
				s[j + 2][i + 2] = at[j * stride + i];
	}

	// Neighbouring columns of inner positions are loaded from one address.
	__device__ Low(const Model &m, uint32_t px, uint32_t py)
	{
		bool inner = px >= 2 && px + 3 < m.width;
#pragma unroll
		for (int32_t j = -2; j <= 3; j++) {
			const int32_t *row = m.low + (uint64_t)nearest((int32_t)py + j, m.height) * m.width;
			if (inner)
				load<true>(row + px, m, px, j);
			else
				load<false>(row, m, px, j);
		}
	}

	template <bool inner> __device__ void load(const int32_t *row, const Model &m, uint32_t px, int32_t j)
	{
#pragma unroll
		for (int32_t i = -2; i <= 3; i++) {
			// Corners are nobody's terms.
			if ((i < -1 || i > 2) && (j < -1 || j > 2))
				continue;
			s[j + 2][i + 2] = sat<small>(inner ? row[i] : row[nearest((int32_t)px + i, m.width)]);
		}
	}

	// q(i, j), or q(j, i) where rows and columns are exchanged.
	template <bool exchanged> __device__ int32_t at(int32_t i, int32_t j) const { return exchanged ? s[i + 2][j + 2] : s[j + 2][i + 2]; }

	template <bool t> __device__ int32_t near(int32_t j, int32_t sum = 0) const
	{
		return minus<small>(plus<small>(minus<small>(plus<small>(sum, at<t>(-1, j)), at<t>(0, j)), at<t>(2, j)), at<t>(1, j));
	}
	template <bool t> __device__ int32_t far(int32_t j, int32_t sum = 0) const
	{
		return minus<small>(plus<small>(minus<small>(plus<small>(sum, at<t>(-2, j)), at<t>(0, j)), at<t>(3, j)), at<t>(1, j));
	}
	template <bool t> __device__ int32_t bend() const
	{
		int32_t v = minus<small>(at<t>(0, -1), at<t>(0, 0));
		v = minus<small>(plus<small>(v, at<t>(1, -1)), at<t>(1, 0));
		v = minus<small>(plus<small>(v, at<t>(0, 1)), at<t>(0, 0));
		return minus<small>(plus<small>(v, at<t>(1, 1)), at<t>(1, 0));
	}
	__device__ int32_t ring() const
	{
		int32_t v = minus<small>(at<false>(-1, -1), at<false>(0, 0));
		v = minus<small>(plus<small>(v, at<false>(2, -1)), at<false>(1, 0));
		v = minus<small>(plus<small>(v, at<false>(-1, 2)), at<false>(0, 1));
		return minus<small>(plus<small>(v, at<false>(2, 2)), at<false>(1, 1));
	}

	__device__ int32_t difference(int32_t i, int32_t j, int32_t k, int32_t l) const
	{
		return absolute<small>(minus<small>(at<false>(i, j), at<false>(k, l)));
	}

	// The texture of the position.
	__device__ uint32_t texture(const Set *set) const
	{
		int32_t gh = 0, gv = 0, d1 = 0, d2 = 0;
#pragma unroll
		for (int32_t i = -1; i <= 1; i++)
#pragma unroll
			for (int32_t j = 0; j <= 1; j++) {
				gh = plus<small>(gh, difference(i + 1, j, i, j));
				gv = plus<small>(gv, difference(j, i + 1, j, i));
			}
		diagonals<0, 0>(d1, d2);
		diagonals<-1, -1>(d1, d2);
		diagonals<1, 1>(d1, d2);
		diagonals<1, -1>(d1, d2);
		diagonals<-1, 1>(d1, d2);
		uint32_t direction = gh > sat(3 * gv) ? 0 : sat(2 * gh) > sat(3 * gv) ? 1 : gv > sat(3 * gh) ? 4 : sat(2 * gv) > sat(3 * gh) ? 3 : 2;
		uint32_t diagonal = sat(2 * d1) > sat(3 * d2) ? 0 : sat(2 * d2) > sat(3 * d1) ? 2 : 1;
		int32_t both = plus<small>(gh, gv);
		uint32_t activity = (both >= set->thresholds[0]) + (both >= set->thresholds[1]);
		return (direction * 3 + diagonal) * 3 + activity;
	}

	template <int32_t i, int32_t j> __device__ void diagonals(int32_t &d1, int32_t &d2) const
	{
		d1 = plus<small>(d1, difference(i + 1, j + 1, i, j));
		d2 = plus<small>(d2, difference(i + 1, j, i, j + 1));
	}
};

struct alignas(8) TwoWords {
	uint32_t low, high;
};

struct alignas(16) FourWords {
	int32_t x, y, z, w;
};

// The weights of a coefficient: 16 of int16_t. Sums of products need 32 bits.
struct Weights {
	int32_t w[8];

	__device__ Weights(const int16_t *row)
	{
		const FourWords *p = (const FourWords *)row;
		FourWords a = p[0], b = p[1];
		w[0] = a.x, w[1] = a.y, w[2] = a.z, w[3] = a.w, w[4] = b.x, w[5] = b.y, w[6] = b.z, w[7] = b.w;
	}

	// Of the first eight only, or of 0 to 3 and 12.
	__device__ Weights(const FourWords &a) : w{a.x, a.y, a.z, a.w} {}
	__device__ Weights(int32_t first, int32_t second, int32_t seventh) : w{first, second, 0, 0, 0, 0, seventh, 0} {}

	__device__ int32_t of(int32_t i) const { return i % 2 ? w[i / 2] >> 16 : (int16_t)w[i / 2]; }
	// Of i or else of j, so that both are known when this is compiled.
	__device__ int32_t of(bool first, int32_t i, int32_t j) const { return first ? of(i) : of(j); }
};

// A running sum of weighted features, and whether one of them is not 0.
struct Features {
	int32_t sum;
	int32_t any;

	__device__ void add(int32_t weight, int32_t feature)
	{
		sum += weight * feature;
		any |= feature;
	}
	__device__ void add(const Weights &w, int32_t i, int32_t feature) { add(w.of(i), feature); }
	// Of a sum over the low band.
	template <bool small> __device__ void add_low(int32_t weight, int32_t v, uint32_t qmin) { add(weight, absolute<small>(v) >> qmin); }
};

DEVICE const int16_t *predict_weights(const Model &m, uint32_t b, uint32_t x, uint32_t y, uint32_t texture)
{
	uint32_t row = y == 0 ? 0 : 1 + (y & 1);
	return m.set->predict + 16 * (((((m.level_class * 3 + b) * 3 + row) * 2 + (x & 1))) * textures + texture);
}

DEVICE uint32_t scale_key(const Model &m, uint32_t b, uint32_t x, uint32_t y, uint32_t direction)
{
	return ((((m.level_class * 3 + b) * 2 + (y > 0)) * 2 + (x & 1))) * directions + direction;
}

// The parents of a coefficient and the coefficients of earlier planes, as taps and as features. Parents are loaded when this is
// made: a position does so for its three bands before it stores anything, and so waits once.
template <int b, bool small, bool with_taps, bool with_features> struct Known {
	const ModelBand &f;
	bool inside;
	uint32_t at; // place in the band, which has less than 2^30
	int32_t c, ch, cv, e, around;

	// px and py may lie outside of the band.
	__device__ Known(const ModelBand &f, uint32_t px, uint32_t py)
		: f(f), inside(px < f.width && py < f.height), at(py * f.width + px), c(0), ch(0), cv(0), e(0), around(0)
	{
		if (!inside || !f.parent_c)
			return;
		uint32_t x0 = nearest((int32_t)(px >> 1), f.parent_width), x1 = nearest((int32_t)(px >> 1) + (px & 1 ? 1 : -1), f.parent_width);
		uint32_t y0 = nearest((int32_t)(py >> 1), f.parent_height), y1 = nearest((int32_t)(py >> 1) + (py & 1 ? 1 : -1), f.parent_height);
		uint32_t p = y0 * f.parent_width + x0, ph = y0 * f.parent_width + x1, pv = y1 * f.parent_width + x0, pd = y1 * f.parent_width + x1;
		if (with_taps)
			c = sat<small>(f.parent_c[p]), ch = sat<small>(f.parent_c[ph]), cv = sat<small>(f.parent_c[pv]);
		if (with_features) {
			e = magnitude_of<small>(f.parent_e[p]);
			around = magnitude_of<small>(f.parent_e[ph]) + magnitude_of<small>(f.parent_e[pv]) + magnitude_of<small>(f.parent_e[pd]);
		}
	}

	__device__ int32_t taps(const Weights &w, uint32_t variant) const
	{
		int32_t sum = w.of(4) * c;
		sum += b == 2 ? w.of(5) * plus<small>(ch, cv) : w.of(5) * ch + w.of(6) * cv;
		if (variant > 0)
			sum += w.of(13) * sat<small>(f.before_c[at]) + w.of(14) * f.before_e[at];
		if (variant > 1)
			sum += w.of(15) * sat<small>(f.second_c[at]);
		return sum;
	}

	// The weight of feature i of the planes before.
	__device__ int32_t weight(const Weights &w, bool fast, int32_t i) const { return w.of(fast, 8 + 2 * b + i, (b == 0 ? 12 : 13) + i); }

	__device__ void features(Features &s, const Weights &w, uint32_t variant, bool fast, uint32_t px, uint32_t py) const
	{
		s.add(w, 4, e);
		s.add(w, 5, around);
		if (variant > 0) {
			uint32_t row = py * f.width;
			const int16_t *e = f.before_e;
			s.add(weight(w, fast, 0), magnitude_of<small>(e[at]));
			int32_t cross = magnitude_of<small>(e[row + nearest((int32_t)px - 1, f.width)]);
			cross += magnitude_of<small>(e[row + nearest((int32_t)px + 1, f.width)]);
			cross += magnitude_of<small>(e[nearest((int32_t)py - 1, f.height) * f.width + px]);
			cross += magnitude_of<small>(e[nearest((int32_t)py + 1, f.height) * f.width + px]);
			s.add(weight(w, fast, 1), cross < 32767 ? cross : 32767);
		}
		if (variant > 1)
			s.add(weight(w, fast, 2), magnitude_of<small>(f.second_e[at]));
	}
};

// Taps of the low band.
template <int b, bool small> DEVICE int32_t low_taps(const Low<small> &q, const Weights &w)
{
	if (b == 2)
		return w.of(6) * q.template near<false>(1, q.template near<false>(0)) + w.of(7) * q.template near<true>(1, q.template near<true>(0)) + w.of(8) * q.ring();
	constexpr bool t = b == 1;
	int32_t sum = w.of(7) * q.template near<t>(0) + w.of(8) * q.template far<t>(0) + w.of(9) * q.template near<t>(1, q.template near<t>(-1)) +
		w.of(10) * q.template bend<t>();
	return b == 0 ? sum + w.of(11) * q.template far<t>(1, q.template far<t>(-1)) : sum;
}

// Features of the low band. Which weights are theirs depends on whether there are earlier planes.
template <int b, bool small> DEVICE void low_features(Features &s, const Low<small> &q, const Weights &w, bool later, uint32_t qmin)
{
	auto weight = [&](int32_t i) { return w.of(later, (b == 2 ? 6 : b == 1 ? 7 : 8) + i, 8 + i); };
	if (b == 2) {
		int32_t a = q.template at<false>(0, 0), c = q.template at<false>(1, 0), d = q.template at<false>(1, 1), e = q.template at<false>(0, 1);
		s.add_low<small>(weight(0), minus<small>(plus<small>(minus<small>(a, c), d), e), qmin);
		s.add_low<small>(weight(1), minus<small>(plus<small>(minus<small>(c, a), d), e), qmin);
		s.add_low<small>(weight(2), minus<small>(plus<small>(minus<small>(e, a), d), c), qmin);
		if (!later)
			s.add_low<small>(w.of(11), q.template near<false>(1, q.template near<false>(0)), qmin);
		return;
	}
	constexpr bool t = b == 1;
	s.add_low<small>(weight(0), minus<small>(q.template at<t>(1, 0), q.template at<t>(0, 0)), qmin);
	s.add_low<small>(weight(1), q.template near<t>(0), qmin);
	s.add_low<small>(weight(2), minus<small>(q.template at<t>(0, 0), q.template at<t>(-1, 0)), qmin);
	s.add_low<small>(weight(3), minus<small>(q.template at<t>(2, 0), q.template at<t>(1, 0)), qmin);
}

// The column that stands for x in a part of less than four, the last of which is end.
static __device__ __attribute__((noinline, const)) uint32_t narrow_column(int32_t x, int32_t end)
{
	if (end == 0)
		return 0;
	while (x < 0 || x > end)
		x = x < 0 ? -x : 2 * end - x;
	return (uint32_t)x;
}

// The part of a band that lies in a tile. narrow says that it may have less than four columns.
template <bool narrow> struct Part {
	const ModelBand &f;
	uint32_t x0, y0; // of the tile's corner in the band
	uint32_t width, height;

	__device__ Part(const ModelBand &f, uint32_t side, uint32_t tx, uint32_t ty) : f(f), x0(tx * side), y0(ty * side)
	{
		width = x0 < f.width ? (f.width - x0 < side ? f.width - x0 : side) : 0;
		height = y0 < f.height ? (f.height - y0 < side ? f.height - y0 : side) : 0;
	}

	// The column that stands for x, at most three outside.
	__device__ uint32_t column(int32_t x) const
	{
		int32_t end = (int32_t)width - 1, d = end - (x < 0 ? -x : x);
		int32_t c = end - (d < 0 ? -d : d);
		return narrow && c < 0 ? narrow_column(x, end) : (uint32_t)c;
	}

	__device__ uint32_t row(uint32_t y) const { return (y0 + y) * f.width + x0; } // a band has less than 2^30 positions

	// Of a band coded before, at a row that may be outside.
	__device__ uint32_t earlier_row(int32_t y) const { return row(nearest(y, height)); }
	__device__ bool empty() const { return width == 0 || height == 0; }
};

// Whether a part of one of the bands at a position has less than four columns: that of LL has one more at most.
DEVICE bool is_narrow(const Model &m, uint32_t tx) { return m.width - tx * m.side < 5; }

// A row of a part: coefficients, and magnitudes of residuals.
template <bool narrow> struct CoefficientRow {
	static constexpr bool is_small = false;
	const Part<narrow> &p;
	const int32_t *s;

	__device__ int32_t operator()(int32_t x) const { return sat(s[p.column(x)]); }
};

template <bool narrow> struct MagnitudeRow {
	const Part<narrow> &p;
	const int16_t *s;

	__device__ int32_t operator()(int32_t x) const { return magnitude_of(s[p.column(x)]); }
};

// A part around row y.
template <bool narrow> struct Coefficients {
	using Row = CoefficientRow<narrow>;
	const Part<narrow> &p;
	int32_t y;

	__device__ bool empty() const { return p.empty(); }
	__device__ Row row(int32_t below) const { return {p, p.f.c + p.earlier_row(y + below)}; }
};

template <bool narrow> struct Magnitudes {
	using Row = MagnitudeRow<narrow>;
	const Part<narrow> &p;
	int32_t y;

	__device__ bool empty() const { return p.empty(); }
	__device__ Row row(int32_t below) const { return {p, p.f.e + p.earlier_row(y + below)}; }
};

// Taps of the band itself in the tile. n and nn are the rows above, own is the coefficient's. y is not looked at but for 0.
template <int b, class Row> DEVICE int32_t own_taps(const Row &nn, const Row &n, const Row &own, const Weights &w, int32_t x, uint32_t y)
{
	constexpr bool small = Row::is_small;
	int32_t sum = 0;
	if (y > 0) {
		sum = w.of(0) * n(x) + w.of(1) * plus<small>(n(x - 1), n(x + 1)) + w.of(2) * nn(x);
		if (b == 0)
			sum += w.of(12) * plus<small>(n(x - 2), n(x + 2));
	}
	if (x & 1)
		sum += w.of(3) * plus<small>(own(x - 1), own(x + 1));
	return sum;
}

// Taps of the bands before in the tile.
template <int b, class Rows> DEVICE int32_t earlier_taps(const Rows &h, const Rows &v, const Weights &w, int32_t x)
{
	using Row = typename Rows::Row;
	constexpr bool small = Row::is_small;
	int32_t sum = 0;
	if (b > 0 && !h.empty()) {
		Row n = h.row(-1), own = h.row(0), s = h.row(1), ss = h.row(2);
		if (b == 1) {
			int32_t near = plus<small>(plus<small>(plus<small>(own(x - 1), own(x)), s(x - 1)), s(x));
			int32_t far = plus<small>(plus<small>(plus<small>(n(x - 1), n(x)), ss(x - 1)), ss(x));
			sum = w.of(11) * near + w.of(12) * far;
		} else {
			sum = w.of(9) * plus<small>(own(x), s(x)) + w.of(10) * plus<small>(n(x), ss(x));
		}
	}
	if (b == 2 && !v.empty()) {
		Row own = v.row(0);
		sum += w.of(11) * plus<small>(own(x), own(x + 1)) + w.of(12) * plus<small>(own(x - 1), own(x + 2));
	}
	return sum;
}

// Features of the band itself.
template <int b, class Row>
DEVICE void own_features(Features &s, const Row &nn, const Row &n, const Row &own, const Weights &w, bool fast, bool later, int32_t x, uint32_t y)
{
	if (y > 0) {
		s.add(w, 0, n(x));
		s.add(w, 1, n(x - 1) + n(x + 1));
		s.add(w, 2, nn(x));
		if (fast || b < 2 || !later)
			s.add(w, 6, n(x - 2) + n(x + 2));
		if (fast || b == 0 || !later)
			s.add(w, 7, nn(x - 1) + nn(x + 1));
	}
	if (x & 1)
		s.add(w, 3, own(x - 1) + own(x + 1));
}

// Features of a band before, with two weights.
template <class Rows> DEVICE void cross_features(Features &s, const Rows &p, int32_t weight, int32_t of_cross, int32_t x)
{
	if (p.empty())
		return;
	typename Rows::Row n = p.row(-1), own = p.row(0), below = p.row(1);
	s.add(weight, own(x));
	s.add(of_cross, own(x - 1) + own(x + 1) + n(x) + below(x)); // at most 32764
}

// Features of the bands before in the tile.
template <int b, class Rows>
DEVICE void earlier_features(Features &s, const Rows &h, const Rows &v, const Weights &w, bool fast, bool later, int32_t x)
{
	auto weight = [&](int32_t i) { return fast ? w.of(8 + i) : w.of(later, (b == 1 ? 11 : 9) + i, 12 + i); };
	if (b > 0)
		cross_features(s, h, weight(0), weight(1), x);
	if (b == 2)
		cross_features(s, v, weight(2), weight(3), x);
}

// A prediction and which way it lies from an integer.
struct Prediction {
	int32_t r;
	int32_t f; // in 1/4096

	__device__ Prediction(int32_t sum, uint32_t qmin)
	{
		int32_t v = (sum + (2048 << qmin)) >> (12 + qmin);
		r = v < -16383 ? -16383 : v > 16383 ? 16383 : v;
		f = (sum >> qmin) - v * 4096; // of what is not limited
	}
	__device__ uint32_t fraction() const
	{
		int32_t m = (f < 0 ? -f : f) >> 9;
		return m < 3 ? (uint32_t)m : 3;
	}
};

// The step of the scale before the offset of its band, or scale_zero.
DEVICE uint32_t scale_step(const Features &s)
{
	if (s.any == 0)
		return scale_zero;
	int32_t m = s.sum >> 4;
	uint32_t v = (uint32_t)(m > 13 ? m : 13);
	uint32_t l = 31 - (uint32_t)__builtin_clz(v);
	uint32_t q = 4 * l + (v << 2 >> l & 3) - 14; // 0 at least, for 13
	return q > 1 ? q : 1;
}

// The context with the offset: 0 to 99.
DEVICE uint32_t context(uint32_t step, int32_t offset)
{
	if (step == scale_zero)
		return 0;
	int32_t q = (int32_t)step + offset;
	return q < 1 ? 1 : q > 99 ? 99 : (uint32_t)q;
}
