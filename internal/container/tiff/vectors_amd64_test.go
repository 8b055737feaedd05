package tiff

// setVector chooses between the kernels and their twins, and returns what chooses as before.
func setVector(on bool) func() {
	before := vector
	vector = on
	return func() { vector = before }
}
