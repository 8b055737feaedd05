package vq

import (
	"context"
	"fmt"

	"github.com/pelmill/pelmill/gpu"
)

// maxTrainBlocks keeps the sums of samples of a cell within 32 bits.
const maxTrainBlocks = 1 << 24

// trainingJob is blocks for which a codebook is trained.
type trainingJob struct {
	blocks gpu.Ptr
	m, n   int       // blocks, codewords
	book   *codebook // the result
}

// trainer trains the codebooks of its jobs in the same launches. Its methods but finish
// put launches into the stream and wait for nothing.
type trainer struct {
	*deviceSteps
	shape  shape
	jobs   []*trainingJob
	places []trainPlaces // of each
	most   int           // codewords of the largest job

	list        *gpu.Buffer // entries of the jobs
	searches    searches    // of the jobs
	words, work *gpu.Buffer
	sums        *gpu.Buffer // what is zero before a pass
}

// trainPlaces are where the parts of one training lie in the buffers of a trainer.
type trainPlaces struct {
	words, beyond, beyondCounts, state                         int // in words
	sums, counts, far                                          int // in sums
	keys, last, a, b, gains, directions, limits, others, costs int // in work
	cheap, dear, near                                          int
}

// trainBooks trains the codebooks of jobs, in place of seed or split and lloyd.
func (d *deviceSteps) trainBooks(ctx context.Context, o *Options, jobs []*trainingJob) error {
	if len(jobs) == 0 {
		return nil
	}
	t, err := newTrainer(d, o.block, jobs)
	if err != nil {
		return err
	}
	defer t.free()
	begin := t.seed
	if o.start == startSplit {
		begin = t.split
	}
	if err := begin(ctx); err != nil {
		return err
	}
	if err := t.lloyd(ctx, t.most, o.passes); err != nil {
		return err
	}
	return t.finish()
}

func newTrainer(d *deviceSteps, s shape, jobs []*trainingJob) (*trainer, error) {
	t := &trainer{deviceSteps: d, shape: s, jobs: jobs, places: make([]trainPlaces, len(jobs))}
	k := s.k()
	var words, sums, work gpu.Layout
	for i, p := range jobs {
		if p.m > maxTrainBlocks {
			return nil, fmt.Errorf("vq: %d blocks to train on, a device takes %d: %w", p.m, maxTrainBlocks, gpu.ErrOutOfMemory)
		}
		n := p.n
		t.most = max(t.most, n)
		t.places[i].words = words.Take(n * k)
		t.places[i].sums = sums.Take(4 * n * k)
		t.places[i].counts = sums.Take(4 * n)
		t.places[i].far = sums.Take(8 * n)
	}
	for i, p := range jobs {
		n, x := p.n, &t.places[i]
		// Behind all codewords, which are brought back in one piece.
		x.beyond, x.beyondCounts, x.state = words.Take(4*n*k), words.Take(4*n), words.Take(16)
		x.keys, x.last = work.Take(8*p.m), work.Take(n*k)
		x.a, x.b, x.gains = work.Take(n*k), work.Take(n*k), work.Take(8*n)
		x.directions, x.limits = work.Take(2*n*k), work.Take(4*n)
		x.others, x.costs = work.Take(8*n), work.Take(8*n)
		x.cheap, x.dear = work.Take(2*n), work.Take(2*n)
		x.near = work.Take(4 * min(p.m, n*seedBlocks))
	}
	var err error
	if t.words, err = d.stream.Zeros(words.Size); err != nil {
		return nil, err
	}
	if t.sums, err = d.lane.Device(sums.Size); err != nil {
		return nil, err
	}
	if t.work, err = d.lane.Device(work.Size); err != nil {
		return nil, err
	}
	list, searches := make([]deviceTraining, len(jobs)), make([]deviceSearch, len(jobs))
	for i, p := range jobs {
		x := t.places[i]
		in := func(b *gpu.Buffer, at int) gpu.Ptr { return b.Ptr + gpu.Ptr(at) }
		list[i] = deviceTraining{
			Blocks: p.blocks, Keys: in(t.work, x.keys), Words: in(t.words, x.words), Last: in(t.work, x.last),
			Sums: in(t.sums, x.sums), Counts: in(t.sums, x.counts), Far: in(t.sums, x.far),
			A: in(t.work, x.a), B: in(t.work, x.b), Gains: in(t.work, x.gains), Directions: in(t.work, x.directions), Limits: in(t.work, x.limits),
			Beyond: in(t.words, x.beyond), BeyondCounts: in(t.words, x.beyondCounts),
			Others: in(t.work, x.others), Costs: in(t.work, x.costs), Cheap: in(t.work, x.cheap), Dear: in(t.work, x.dear),
			Near: in(t.work, x.near), State: in(t.words, x.state),
			M: uint32(p.m), N: uint32(p.n), K: uint32(k),
		}
		searches[i] = deviceSearch{
			Keys: list[i].Keys, Blocks: p.blocks, Words: list[i].Words, Rest: list[i].State, M: uint32(p.m), N: uint32(p.n),
		}
	}
	if t.list, err = put(d, list); err != nil {
		return nil, err
	}
	t.searches, err = d.putSearches(searches)
	return t, err
}

func (t *trainer) free() {
	for _, b := range []*gpu.Buffer{t.words, t.sums, t.work, t.list, t.searches.list} {
		if b != nil {
			b.Free()
		}
	}
}

// extents are the sizes of the jobs, of whose codewords at most most take part.
func (t *trainer) extents(most int) []extent {
	list := make([]extent, len(t.jobs))
	for i, p := range t.jobs {
		list[i] = extent{blocks: p.m, drawn: min(p.m, p.n*seedBlocks), words: min(p.n, most), k: t.shape.k()}
	}
	return list
}

// step launches a kernel that takes the first most codewords of each job.
func (t *trainer) step(kernel string, most int) error {
	return launch(t.deviceSteps, kernel, t.extents(most), &mostParams{t.list.Ptr, uint32(most)})
}

// seedAlone is how many codewords a codebook has at most of which a block of threads makes all rounds, in less time than the launches of
// all rounds take.
const seedAlone = 512

// seed is the function seed. The rounds of large codebooks are launched one by one, as many as the largest one takes; the
// others wait.
func (t *trainer) seed(ctx context.Context) error {
	if t.most <= seedAlone {
		return launch(t.deviceSteps, "vq_seed", t.extents(t.most), &listParams{t.list.Ptr})
	}
	for n := 0; n < t.most; n += max(1, min(n/seedRounds, t.most-n)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.draw(); err != nil {
			return err
		}
		if err := t.approach(); err != nil {
			return err
		}
	}
	return nil
}

func (t *trainer) draw() error {
	return launch(t.deviceSteps, "vq_draw", t.extents(t.most), &listParams{t.list.Ptr})
}

func (t *trainer) approach() error {
	return launch(t.deviceSteps, "vq_approach", t.extents(t.most), &listParams{t.list.Ptr})
}

// split is the function split. A codebook that has all its codewords waits for the
// larger ones.
func (t *trainer) split(ctx context.Context) error {
	for now := 1; ; now *= 2 {
		if err := t.resume(false); err != nil {
			return err
		}
		if err := t.cells(now); err != nil {
			return err
		}
		if now < t.most {
			if err := t.halves(now); err != nil {
				return err
			}
			if err := t.order(now, false); err != nil {
				return err
			}
		}
		if err := t.step("vq_grow", now); err != nil {
			return err
		}
		if now >= t.most {
			return t.resume(true)
		}
		if err := t.lloyd(ctx, 2*now, 2); err != nil {
			return err
		}
	}
}

func (t *trainer) resume(all bool) error {
	p := &resumeParams{List: t.list.Ptr, Count: uint32(len(t.jobs))}
	if all {
		p.All = 1
	}
	return launch(t.deviceSteps, "vq_resume", t.extents(t.most), p)
}

// lloyd is the function lloyd, for codebooks of at most most codewords.
func (t *trainer) lloyd(ctx context.Context, most, passes int) error {
	most = min(most, t.most)
	shifted := shiftedPasses(passes)
	for pass := range passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.cells(most); err != nil {
			return err
		}
		bold := 0
		if pass < shifted {
			bold = boldness(pass, shifted)
			if err := t.halves(most); err != nil {
				return err
			}
			if err := t.nearest(most); err != nil {
				return err
			}
			if err := t.order(most, true); err != nil {
				return err
			}
		}
		if err := t.shift(most, bold, shifted); err != nil {
			return err
		}
	}
	return nil
}

// cells is search, gather and centre.
func (t *trainer) cells(most int) error {
	if err := t.search(most); err != nil {
		return err
	}
	if err := t.gather(most); err != nil {
		return err
	}
	return t.centre(most)
}

func (t *trainer) search(most int) error {
	return t.searchAll(t.shape.k(), t.searches, t.extents(most), most)
}

// add launches a kernel that adds blocks to cells.
func (t *trainer) add(kernel string, most int) error {
	sizes, info := t.extents(most), t.lane.Card()
	return launch(t.deviceSteps, kernel, sizes,
		&addParams{t.list.Ptr, uint32(most), uint32(addingGrid(&info, sizes).Shared)})
}

func (t *trainer) gather(most int) error {
	if err := t.stream.Fill(t.sums, 0, t.sums.Size, 0); err != nil {
		return err
	}
	return t.add("vq_gather", most)
}

func (t *trainer) centre(most int) error { return t.step("vq_centre", most) }

func (t *trainer) halves(most int) error {
	if err := t.step("vq_farthest", most); err != nil {
		return err
	}
	sizes := t.extents(most)
	p := &halvesParams{t.list.Ptr, uint32(most), 1}
	if err := launch(t.deviceSteps, "vq_halves", sizes, p); err != nil {
		return err
	}
	p.First = 0
	for range cutPasses {
		if err := t.add("vq_beyond", most); err != nil {
			return err
		}
		if err := launch(t.deviceSteps, "vq_halves", sizes, p); err != nil {
			return err
		}
	}
	return nil
}

func (t *trainer) nearest(most int) error { return t.step("vq_nearest", most) }

func (t *trainer) order(most int, costs bool) error {
	p := &orderParams{List: t.list.Ptr, Most: uint32(most)}
	if costs {
		p.Costs = 1
	}
	return launch(t.deviceSteps, "vq_order", t.extents(most), p)
}

func (t *trainer) shift(most, bold, over int) error {
	return launch(t.deviceSteps, "vq_shift", t.extents(most),
		&shiftParams{List: t.list.Ptr, Most: uint32(most), Bold: uint32(bold), Over: uint32(over)})
}

// finish brings the codewords back.
func (t *trainer) finish() error {
	last := len(t.jobs) - 1
	out, err := t.download(t.words, t.places[last].words+t.jobs[last].n*t.shape.k())
	if err != nil {
		return err
	}
	for i, p := range t.jobs {
		at := t.places[i].words
		p.book = &codebook{shape: t.shape, words: out[at:][:p.n*t.shape.k()]}
	}
	return nil
}
