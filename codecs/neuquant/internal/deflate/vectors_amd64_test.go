package deflate

// setVector chooses between the kernel and its twin, and returns what chooses as before.
func setVector(on bool) func() {
	before := vector
	vector = on
	return func() { vector = before }
}
