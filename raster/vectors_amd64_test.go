package raster

// setVector chooses between the kernels and their twins, and returns what chooses as before.
func setVector(on bool) func() {
	before := vector
	vector = on
	return func() { vector = before }
}

// setVector512 chooses whether kernels with AVX-512 are, and returns what chooses as before, and whether this
// machine has what they need.
func setVector512(on bool) (restore func(), has bool) {
	before := vector512
	vector512 = on && before
	return func() { vector512 = before }, before
}
