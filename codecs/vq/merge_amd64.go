package vq

//go:noescape
func mergeAVX2(rgb, luma, co, cg *byte, sixteens, shift int)

// mergeRow is mergeRowGo.
func mergeRow(rgb, luma, co, cg []byte, shift int) {
	n := len(luma) &^ 15
	if bestKernel == kernelGo || n == 0 {
		n = 0
	} else {
		mergeAVX2(&rgb[0], &luma[0], &co[0], &cg[0], n/16, shift)
	}
	mergeRowGo(rgb[3*n:], luma[n:], co[n>>shift:], cg[n>>shift:], shift)
}
