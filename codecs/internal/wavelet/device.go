package wavelet

// Steps97 are the parameters of the lifting steps of [Daubechies97], in the order of the forward
// transform, and the factors of low- and high-pass samples behind them, for kernels.
func Steps97() (steps [4]float32, low, high float32) {
	f := Daubechies97()
	return [4]float32{alpha97, beta97, gamma97, delta97}, f.low, f.high
}
