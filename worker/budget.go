package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// What a process needs besides files and images, the pages of the program among it, and
// what the collector needs to keep garbage from adding up: of the memory that a process
// may take, this much less and then this share is for files and images.
const (
	ownMemory   = 56 << 20
	budgetShare = 0.75
)

// programPages is how much of the program's own file lies in memory while it works, 50 to
// 80 MB as the kernel has its pages at hand: it counts them as the process's, and Go's
// runtime does not.
const programPages = 64 << 20

// MinMemory is the least memory that a process can be given.
const MinMemory = 80 << 20

// RuntimeMemory is what Go's runtime may hold of the memory of a process
// ([runtime/debug.SetMemoryLimit]), so that the whole process stays within it: with little
// memory two fifths, as the collector would have no end with less.
func RuntimeMemory(memory int64) int64 { return max(memory-programPages, memory*2/5) }

// budgetOf is what files and images may take of the memory of a process.
func budgetOf(memory int64) int64 { return int64(float64(memory-ownMemory) * budgetShare) }

// memoryFor is the memory of a process whose files and images may take n.
func memoryFor(n int64) int64 { return int64(float64(n)/budgetShare) + ownMemory }

// budget bounds the bytes of files and images at work. An object takes those of its
// file first and, once it has read the header, those of its image; files have a
// quarter of the budget and images the rest, so that objects that wait for the
// second never keep those from ending that have both. What does not fit into its
// part takes the whole budget before anything is read, in the same order.
type budget struct {
	is             budgetFor
	cards          int
	memory         int64 // of the process
	loans          int64 // set aside of it for loans
	checks         int64 // and for what cores hold of their own while they check what a device has encoded
	sources        int64 // and for sources that a device takes samples from
	files          *semaphore.Weighted
	images         *semaphore.Weighted
	fileMax, total int64

	waiting atomic.Int64 // objects that wait for memory
	given   atomic.Int64 // how often memory was given
}

// checkShare is the part of the budget that is set aside with a device for what cores hold while they check: few images are on
// cores at once, and many wait, which then take no more than they hold.
const checkShare = 16

// budgetFor says for what a budget is.
type budgetFor int

const (
	forCPU     budgetFor = iota
	forDevice            // a part is set aside for loans
	forChecks            // and one for cores that check what the device has encoded
	forSources           // and one for sources that are read while the device is opened
)

// aside is what is set aside where files and images may take total with it, beside so many cards.
func (f budgetFor) aside(total int64, cards int) (loans, checks, sources int64) {
	if f >= forDevice {
		loans = loanMemory(total)
	}
	if f >= forChecks {
		checks = total / checkShare
	}
	if n := min(total/sourceShare, sourceMost*int64(max(1, cards))); f >= forSources && n >= regionBytes {
		sources = n
	}
	return loans, checks, sources
}

// around is the total that leaves n.
func (f budgetFor) around(n int64, cards int) int64 {
	for total := n; ; {
		loans, checks, sources := f.aside(total, cards)
		short := n - (total - loans - checks - sources)
		if short <= 0 {
			return total
		}
		total += short
	}
}

// newBudget makes the budget of a process beside so many cards.
func newBudget(memory int64, is budgetFor, cards int) *budget {
	b := &budget{memory: memory, total: budgetOf(memory), is: is, cards: cards}
	b.loans, b.checks, b.sources = is.aside(b.total, cards)
	b.total -= b.loans + b.checks + b.sources
	b.fileMax = b.total / 4
	b.files = semaphore.NewWeighted(b.fileMax)
	b.images = semaphore.NewWeighted(b.imageMax())
	return b
}

func (b *budget) imageMax() int64 { return b.total - b.fileMax }

// beside is what an image takes that a device encodes: waits are what it holds until a core checks it, and core is what it holds
// then. Where that is more, the difference comes out of what is set aside, if it is enough for all cores at once.
func (b *budget) beside(waits, core int64, cores int) int64 {
	if (core-waits)*int64(cores) <= b.checks {
		return waits
	}
	return core
}

// errWhole says that an object needs the whole budget and has a part of it: it has
// to give that back, and to begin again with the whole.
var errWhole = errors.New("the object needs the whole budget of memory")

// share is what one object has taken. Its owner releases it once.
type share struct {
	b            *budget
	file, images int64 // held
	size         int64 // of the file
	whole        bool
	delivery     *delivery // of the object, see there
	loans        []*loan   // in which images of the object lie
}

// take waits for the bytes of a file; whole also for all the others. The error is
// the end of ctx, or a *fault for a file that can never fit.
func (b *budget) take(ctx context.Context, size int64, whole bool) (*share, error) {
	s := &share{b: b, size: max(size, 1), whole: whole || size > b.fileMax}
	if size > b.total {
		return nil, b.tooLarge(size)
	}
	n := s.size
	if s.whole {
		n = b.fileMax
	}
	if err := b.acquire(ctx, b.files, n); err != nil {
		return nil, err
	}
	s.file = n
	if !s.whole {
		return s, nil
	}
	if err := b.acquire(ctx, b.images, b.imageMax()); err != nil {
		s.release()
		return nil, err
	}
	s.images = b.imageMax()
	return s, nil
}

// acquire waits for n bytes of a part. The error is the cause of the end of ctx.
func (b *budget) acquire(ctx context.Context, part *semaphore.Weighted, n int64) error {
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	if err := part.Acquire(ctx, n); err != nil {
		return context.Cause(ctx)
	}
	b.given.Add(1)
	return nil
}

// image waits for the bytes of the image and of the work on it: read while it is
// read, and at most n then. The error is that of take, or errWhole.
func (s *share) image(ctx context.Context, read, n int64) error {
	switch {
	case s.size+read > s.b.total:
		return s.b.tooLarge(s.size + n)
	case s.whole:
		return nil
	case n > s.b.imageMax():
		return errWhole
	}
	defer s.delivery.waits()()
	if err := s.b.acquire(ctx, s.b.images, n); err != nil {
		return err
	}
	s.images = n
	return nil
}

// shrink says that the work on the image takes n, now that its samples are read: no
// more than what was taken for it is kept. The error is a *fault where it does not fit
// even into the whole.
func (s *share) shrink(n int64) error {
	switch {
	case s.size+n > s.b.total:
		return s.b.tooLarge(s.size + n)
	case !s.whole && n < s.images:
		s.b.images.Release(s.images - n)
		s.images = n
	}
	return nil
}

// release gives everything back. A nil share has nothing.
func (s *share) release() {
	if s == nil {
		return
	}
	if s.file > 0 {
		s.b.files.Release(s.file)
	}
	if s.images > 0 {
		s.b.images.Release(s.images)
	}
	s.file, s.images = 0, 0
	for _, l := range s.loans {
		l.giveBack()
	}
	s.loans = nil
}

// keepSource has nobody else get the memory of the source, which may still be read when the object is done: by a store, where it is stored
// as it is, or by a batch that the object has left.
func (s *share) keepSource() {
	if s != nil {
		s.loans = slices.DeleteFunc(s.loans, func(l *loan) bool { return l.region != nil })
	}
}

// tooLarge is the fault of an object that needs more than there is.
func (b *budget) tooLarge(n int64) error {
	f := faultf(jobs.OutcomeRejected, class.Limit, "%s", TooLarge(memoryFor(b.is.around(n, b.cards)), b.memory))
	f.here = true
	return f
}

// TooLarge is the sentence for an object that needs more memory than a process has.
func TooLarge(needs, memory int64) string {
	return fmt.Sprintf("it needs %s of memory and --memory is %s; raise --memory, or take options of the codec that need less", binarySize(needs), binarySize(memory))
}

// binarySize is a number of bytes as --memory takes it, such as 2.1G, rounded up.
func binarySize(n int64) string {
	if n >= 1<<30 {
		tenths := (10*n + 1<<30 - 1) >> 30
		return fmt.Sprintf("%d.%dG", tenths/10, tenths%10)
	}
	return fmt.Sprintf("%dM", (n+1<<20-1)>>20)
}
