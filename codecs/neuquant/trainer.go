package neuquant

// trainer is who trains the networks of a batch. The entries are the same.
type trainer int

const (
	trainWhereFaster trainer = iota
	trainOnDevice
	trainOnHost
)

// What one sample of a training takes, in nanoseconds, with 256 entries (benchmark
// BenchmarkCardShares on an H200 and a core of its host, an Intel Xeon at 2 GHz). On a
// device it is the same for one problem and for all of a batch at the same time, since
// each is a chain of samples in a warp of its own.
const (
	coreSample   = 90
	deviceSample = 310
)

// chooseTrainer decides for the batch: a few problems are trained sooner by the cores.
func (b *batch) chooseTrainer() trainer {
	if b.trainer != trainWhereFaster {
		return b.trainer
	}
	var all, longest int
	for i := range b.entry {
		n := int(b.entry[i].Cycles)
		all, longest = all+n, max(longest, n)
	}
	workers := min(b.pool.Size(), len(b.entry))
	if max(all/workers, longest)*coreSample < longest*deviceSample {
		return trainOnHost
	}
	return trainOnDevice
}
