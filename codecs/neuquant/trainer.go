package neuquant

// trainer is who trains the networks of a batch. The entries are the same.
type trainer int

const (
	trainWhereFaster trainer = iota
	trainOnDevice
	trainOnHost
)

// What one sample of a training takes, in nanoseconds, with 256 entries: on a core of the
// host of an H200 ("train-1" of BenchmarkSteps), and on a device for a lone problem
// ("training" of BenchmarkCardSteps on an H100). Problems of a batch train at the same
// time, since each is a chain of samples in a warp of its own: 512 of them take twice as
// long as one, which is far from where the cores are faster.
const (
	coreSample   = 90
	deviceSample = 226
)

// coresShared is how many times the cores' time for many images counts where they could do what
// a device does: they have others to read and to check meanwhile.
const coresShared = 4

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
	if max(coresShared*all/workers, longest)*coreSample < longest*deviceSample {
		return trainOnHost
	}
	return trainOnDevice
}
