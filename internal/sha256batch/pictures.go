package sha256batch

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/sha256pair"
)

// headBytes is how long what raster.Image.HashHead returns is.
const headBytes = 32

// pictureShare is the share of a lane's memory that pictures may take.
const pictureShare = 1. / 8

// Pictures are images that a lane of a device makes, whose digests are made where they are, as a codec does that knows what a file
// decodes to:
//
//	p, err := sha256batch.NewPictures(lane, heads, sizes)
//	p.At(i)                  // where kernels in the lane's first stream write the samples of image i
//	err = p.Start()          // behind them, in the second stream
//	digests, err := p.End()
//
// They last as long as the batch of the lane.
type Pictures struct {
	lane     *gpu.Lane
	at       []gpu.Ptr // samples of each image, 0 of those that are not taken
	taken    []int     // the others, by their numbers
	messages []deviceMessage
	states   *gpu.Buffer
	crcs     *gpu.Buffer

	// On the device.
	list     *gpu.Buffer // of messages
	pictures *gpu.Buffer // list of devicePicture
}

// NewPictures takes memory for images, of which heads has what raster.Image.HashHead returns and sizes the bytes of the samples. It
// leaves out those that a device does not take as messages, and those that need more than an eighth of the lane's memory together.
func NewPictures(l *gpu.Lane, heads [][]byte, sizes []int) (*Pictures, error) {
	p := &Pictures{lane: l, at: make([]gpu.Ptr, len(sizes))}
	var places, frames gpu.Layout
	var pictures []devicePicture
	var edges [][]byte
	for i, n := range sizes {
		if !takes(n) || float64(places.Size+n) > float64(l.Budget())*pictureShare {
			continue
		}
		edge := frame(heads[i], n)
		size := n + len(edge)
		pictures = append(pictures, devicePicture{
			Message: gpu.Ptr(places.Take(size)), Frame: gpu.Ptr(frames.Take(len(edge))), Bytes: uint64(n), Blocks: uint64(size / sha256.BlockSize),
		})
		edges, p.taken = append(edges, edge), append(p.taken, i)
	}
	if len(pictures) == 0 {
		return p, nil
	}
	memory, err := l.Device(places.Size)
	if err != nil {
		return nil, err
	}
	all := make([]byte, frames.Size)
	for j, edge := range edges {
		copy(all[pictures[j].Frame:], edge)
	}
	framesAt, err := l.Stream(0).Put(all)
	if err != nil {
		return nil, err
	}
	for j, i := range p.taken {
		e := &pictures[j]
		e.Message, e.Frame = e.Message+memory.Ptr, e.Frame+framesAt.Ptr
		p.at[i] = e.Message + headBytes
		p.messages = append(p.messages, deviceMessage{Data: e.Message, Blocks: e.Blocks})
	}
	states := make([][stateWords]uint32, copies*len(pictures))
	for i := range states {
		states[i] = firstState
	}
	if p.crcs, err = l.Device(4 * p.crcBlocks() * len(pictures)); err != nil {
		return nil, err
	}
	for _, put := range []struct {
		to    **gpu.Buffer
		bytes []byte
	}{{&p.states, gpu.Bytes(states)}, {&p.list, gpu.Bytes(p.messages)}, {&p.pictures, gpu.Bytes(pictures)}} {
		if *put.to, err = l.Stream(0).Put(put.bytes); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// firstState is that of a message of which nothing is taken.
var firstState = func() [stateWords]uint32 {
	var s sha256pair.State
	s.Take(sha256.New(), nil)
	return s.Words
}()

// frame is what comes before and behind n bytes of samples in the message that is hashed, with its padding (FIPS 180-4, 5.1.1).
func frame(head []byte, n int) []byte {
	message := headBytes + n
	blocks := (message + 1 + 8 + sha256.BlockSize - 1) / sha256.BlockSize
	f := make([]byte, blocks*sha256.BlockSize-n)
	copy(f, head[:headBytes])
	f[headBytes] = 0x80
	binary.BigEndian.PutUint64(f[len(f)-8:], uint64(message)*8)
	return f
}

// crcBlocks is how many checksums picture_crc makes of parts of each picture.
func (p *Pictures) crcBlocks() int {
	most := 0
	for i := range p.messages {
		most = max(most, p.messages[i].crcThreads())
	}
	return (most + crcThreads - 1) / crcThreads
}

// At is where the samples of image i are, for kernels of the lane's first stream to write them before Start; 0 where it is not taken.
func (p *Pictures) At(i int) gpu.Ptr { return p.at[i] }

// None reports whether no image is taken.
func (p *Pictures) None() bool { return len(p.taken) == 0 }

// Start begins to make the digests as soon as what the lane's first stream holds is done.
func (p *Pictures) Start() error {
	if p.None() {
		return nil
	}
	s := p.lane.Stream(1)
	if err := s.Follow(p.lane.Stream(0)); err != nil {
		return err
	}
	if err := gpu.LaunchFor(&kernels, s, "picture_frame", p.messages, &frameParams{p.pictures.Ptr}); err != nil {
		return err
	}
	if err := gpu.LaunchFor(&kernels, s, "picture_crc", p.messages, &crcParams{p.pictures.Ptr, p.crcs.Ptr}); err != nil {
		return err
	}
	return gpu.LaunchFor(&kernels, s, "sha256", p.messages, &listParams{p.list.Ptr, p.states.Ptr, uint32(len(p.messages))})
}

// End waits for the digests, and returns those of each image; nil where it is not taken, or where the device's two digests differ.
func (p *Pictures) End() ([]*codec.Digests, error) {
	digests := make([]*codec.Digests, len(p.at))
	if p.None() {
		return digests, nil
	}
	s := p.lane.Stream(1)
	states := make([][stateWords]uint32, copies*len(p.taken))
	if err := s.Download(gpu.Bytes(states), p.states, 0); err != nil {
		return nil, err
	}
	blocks := p.crcBlocks()
	crcs := make([]uint32, blocks*len(p.taken))
	if err := s.Download(gpu.Bytes(crcs), p.crcs, 0); err != nil {
		return nil, err
	}
	if err := s.Sync(); err != nil {
		return nil, err
	}
	for j, i := range p.taken {
		digests[i] = digestsOf(states[j], states[len(p.taken)+j], crcs[blocks*j:][:blocks])
	}
	return digests, nil
}

// digestsOf is what a device has found of an image: two states, which are equal, and the checksums of its parts.
func digestsOf(state, copied [stateWords]uint32, crcs []uint32) *codec.Digests {
	if state != copied {
		return nil
	}
	d := new(codec.Digests)
	for k, word := range state {
		binary.BigEndian.PutUint32(d.Image[4*k:], word)
	}
	for _, crc := range crcs {
		d.Samples ^= crc
	}
	return d
}
