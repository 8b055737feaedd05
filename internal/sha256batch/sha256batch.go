// Package sha256batch computes many SHA-256 digests at once on a device.
//
// Messages are in the memory of the host, see [Sums], or are images that the device makes itself, see [Pictures].
//
// Two threads take a message there, some 58 MB a second on an H100, and a device has room for thousands of messages: a batch takes
// about as long as its longest one, in which cores do something else. Package sha256pair is for one core.
//
// Nothing that comes from a device is believed. It makes every digest twice, by threads that share nothing but what they read,
// and the host makes one of each batch as well. An image that the host does not have is proved by whoever gets to have it.
package sha256batch

import (
	"cmp"
	"context"
	"crypto/fips140"
	"crypto/sha256"
	"fmt"
	"hash"
	"math/rand/v2"
	"slices"
	"time"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/sha256pair"
)

const (
	// mostMessage bounds a message, in bytes: it takes less than a tenth of a second.
	mostMessage = 4 << 20

	// batchBytes of messages bound a batch.
	batchBytes = 256 << 20
)

// Message is the bytes that a digest is of: Data behind Head. Where the data of one is a part of another's it goes to the device
// once.
type Message struct{ Head, Data []byte }

// Takes reports whether a device takes a message. A core has done a very short one as soon as it has given it to the device.
func Takes(m Message) bool { return takes(len(m.Data)) }

// takes is Takes of a message with so many bytes of data.
func takes(n int) bool {
	return n >= 2*sha256.BlockSize && n <= mostMessage && !fips140.Enabled() // then digests are those of a validated module
}

// Sums returns the digests of messages, and which of them are done. Those that a device does not take or lacks the memory for, and
// all of them without a device, are left to the caller. The error is one of the device, or says that its digests are wrong; none is
// done then that may be wrong.
func Sums(ctx context.Context, run codec.Run, messages []Message) (sums [][sha256.Size]byte, done []bool, err error) {
	sums, done = make([][sha256.Size]byte, len(messages)), make([]bool, len(messages))
	var items []int
	for i, m := range messages {
		if Takes(m) {
			items = append(items, i)
		}
	}
	if len(items) == 0 || run.Device == nil {
		return sums, done, nil
	}
	batches := gpu.Batching{Most: batchBytes}.Divide(items, func(i int) int { return len(messages[i].Data) })
	failures := make(chan error, len(batches))
	run.Device.Run(ctx, batches, gpu.Work{
		Light: true, // two threads take a message
		Device: func(l *gpu.Lane, items []int) error {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			b := &batch{lane: l, staging: gpu.Staging{Lane: l, Spans: run.Cores().Spans}, messages: make([]message, len(items))}
			for j, i := range items {
				b.messages[j].begin(messages[i])
			}
			if err := b.start(); err != nil {
				return err
			}
			j := rand.IntN(len(items))
			want := messages[items[j]].Sum() // while the device is at work
			if err := b.end(); err != nil {
				return err
			}
			if err := b.messages[j].prove(want); err != nil {
				return err
			}
			for j, i := range items {
				sums[i], done[i] = b.messages[j].sum, b.messages[j].done
			}
			return nil
		},
		CPU:    func([]int) {}, // the caller does these
		Failed: func(_ []int, err error) { failures <- err },
	})
	select {
	case err = <-failures:
	default:
	}
	return sums, done, err
}

// Sum is the digest, made by this processor.
func (m Message) Sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(m.Head)
	h.Write(m.Data)
	h.Sum(sum[:0])
	return sum
}

// message is one of a batch. The host takes the head and as much of the data as completes a block, and what is left behind whole
// blocks; the device takes these.
type message struct {
	data  []byte
	hash  hash.Hash
	state sha256pair.State
	first int // place of the first of the blocks in the data
	bytes int // of all of them

	done bool
	sum  [sha256.Size]byte
}

// begin takes what comes before the blocks.
func (m *message) begin(of Message) {
	m.data, m.hash = of.Data, sha256.New()
	m.hash.Write(of.Head)
	rest, ok := m.state.Take(m.hash, m.data)
	m.first = len(m.data) - len(rest)
	if ok {
		m.bytes = len(rest) / sha256.BlockSize * sha256.BlockSize
	}
}

// end takes what comes behind the blocks, after which the device has two states.
func (m *message) end(state, copied [stateWords]uint32) {
	if m.done = m.bytes > 0 && state == copied; !m.done {
		return
	}
	m.state.Words = state
	m.state.Put(m.hash, m.bytes)
	m.hash.Write(m.data[m.first+m.bytes:])
	m.hash.Sum(m.sum[:0])
}

// prove compares the digest with that of the host.
func (m *message) prove(want [sha256.Size]byte) error {
	if !m.done || m.sum != want {
		return fmt.Errorf("sha256batch: the device's digest of a message of %d bytes is wrong", len(m.data))
	}
	return nil
}

// batch is messages that a lane takes together.
type batch struct {
	lane     *gpu.Lane
	staging  gpu.Staging
	messages []message
	states   *gpu.Buffer

	timed func(took time.Duration) // for benchmarks; nil: nobody asks
}

// start lets the device begin.
func (b *batch) start() error {
	s := b.lane.Stream(0)
	entries, err := b.upload()
	if err != nil {
		return err
	}
	words := make([][stateWords]uint32, copies*len(b.messages))
	for i := range words {
		words[i] = b.messages[i%len(b.messages)].state.Words
	}
	if b.states, err = s.Put(gpu.Bytes(words)); err != nil {
		return err
	}
	list, err := s.Put(gpu.Bytes(entries))
	if err != nil {
		return err
	}
	launch := func() error {
		return gpu.LaunchFor(&kernels, s, "sha256", entries, &listParams{list.Ptr, b.states.Ptr, uint32(len(entries))})
	}
	if b.timed == nil {
		return launch()
	}
	took, err := s.Time(launch)
	b.timed(took)
	return err
}

// end waits for the device and finishes the digests.
func (b *batch) end() error {
	words := make([][stateWords]uint32, copies*len(b.messages))
	s := b.lane.Stream(0)
	if err := s.Download(gpu.Bytes(words), b.states, 0); err != nil {
		return err
	}
	if err := b.lane.Sync(); err != nil {
		return err
	}
	for i := range b.messages {
		b.messages[i].end(words[i], words[len(b.messages)+i])
	}
	return nil
}

// upload brings the data to the device, what is in pinned memory without a copy on the way.
func (b *batch) upload() ([]deviceMessage, error) {
	stretches, within := stretchesOf(b.messages)
	var places gpu.Layout
	at := make([]int, len(stretches))
	var staged, pinned []gpu.Part
	stagedBytes := 0
	for _, want := range []bool{false, true} {
		for i, data := range stretches {
			if b.lane.Pinned(data) != want {
				continue
			}
			at[i] = places.Take(len(data))
			if part := (gpu.Part{At: at[i], Bytes: data}); want {
				pinned = append(pinned, part)
			} else {
				staged, stagedBytes = append(staged, part), places.Size
			}
		}
	}
	data, err := b.lane.Device(places.Size)
	if err != nil {
		return nil, err
	}
	s := b.lane.Stream(0)
	// Words are read whole.
	if err := s.Fill(data, 0, data.Size, 0); err != nil {
		return nil, err
	}
	if err := b.staging.Upload(data, stagedBytes, staged); err != nil {
		return nil, err
	}
	if err := s.UploadParts(data, pinned); err != nil {
		return nil, err
	}
	entries := make([]deviceMessage, len(b.messages))
	for i := range b.messages {
		m, w := &b.messages[i], within[i]
		entries[i] = deviceMessage{Data: data.Ptr + gpu.Ptr(at[w.stretch]+w.at+m.first), Blocks: uint64(m.bytes / sha256.BlockSize)}
	}
	return entries, nil
}

// place is where the data of a message lies in one of the stretches of memory of a batch.
type place struct{ stretch, at int }

// stretchesOf returns the data of the messages, but that which is a part of another's, by its address; and where that of each
// message lies.
func stretchesOf(messages []message) (stretches [][]byte, within []place) {
	address := func(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }
	order := make([]int, len(messages))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := messages[i].data, messages[j].data
		return cmp.Or(cmp.Compare(address(a), address(b)), cmp.Compare(len(b), len(a)))
	})
	within = make([]place, len(messages))
	for _, i := range order {
		data, last := messages[i].data, len(stretches)-1
		if last >= 0 {
			if at := int(address(data) - address(stretches[last])); at+len(data) <= len(stretches[last]) {
				within[i] = place{last, at}
				continue
			}
		}
		within[i] = place{len(stretches), 0}
		stretches = append(stretches, data)
	}
	return stretches, within
}
