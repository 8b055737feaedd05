package ht

// DeviceCodes are the code tables as kernels read them: by context, pattern and known
// exponents for the encoder, and by context and bits for the decoder, each for the first
// row of quads and then for the others.
func DeviceCodes() (encode, decode []uint16) {
	return append(vlcEncode[0][:], vlcEncode[1][:]...), append(vlcDecode[0][:], vlcDecode[1][:]...)
}

// MaxSegment bounds the bytes of a cleanup segment of width x height samples whose
// magnitudes have at most the given number of bits: its MagSgn stream with one bit more for
// each sample, MEL, VLC, and a gap in every byte behind one of ones.
func MaxSegment(width, height, planes int) int {
	quads := (width + 1) / 2 * ((height + 1) / 2)
	bits := 4*quads*(planes+1) + 18*quads
	return bits/8*17/16 + 64
}
