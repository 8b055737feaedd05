package neuquant

// Constants of the network (Dekker, "Kohonen neural networks for optimal colour
// quantization", 1994, and his program NEUQUANT).
const (
	neuronBits = 4       // of the fraction of a neuron's component
	oneAlpha   = 1 << 10 // the learning rate at the start
	radiusBits = 6       // of the fraction of the radius
	radiusDecr = 30      // the radius falls by a thirtieth in a cycle
	cycles     = 100     // of a training; the rates fall after each
	betaBits   = 10      // a frequency falls by 1/1024 for a sample
	winnerGain = 64      // 1/1024 of 2^16, by which the winner's frequency rises
	biasBits   = 12      // what a bias is divided by to be a distance
	weightBits = 8       // of a neighbour's weight beside the learning rate
	shiftBits  = 10 + weightBits

	// dekkerLeast is the least length of an image, in samples of three a pixel, of which
	// Dekker's program skips some.
	dekkerLeast = 1509
)

// strides are the numbers of pixels from one sample to the next: the first that does
// not divide the image's length, else the last.
var strides = [4]int{499, 491, 487, 503}

// bayer is the ordered matrix of 8 x 8 (Bayer, 1973): entry y*8+x is the place, 0 to
// 63, in the order in which the pixels of a tile light up. From that of 2 x 2,
// 0 2 / 3 1, each matrix of twice the size has 4 times the former and 0, 2, 3, 1 in
// its quarters.
var bayer = func() (m [64]int32) {
	quarter := [4]int32{0, 2, 3, 1}
	for y := range 8 {
		for x := range 8 {
			for b := range 3 {
				m[y*8+x] |= quarter[y>>b&1*2+x>>b&1] << (2 * (2 - b))
			}
		}
	}
	return m
}()
