// Package modular codes planes of integers as JPEG XL does (ISO/IEC 18181-1, annex H):
// a decision tree over what is around a sample chooses its predictor and the context of
// its residual. VarDCT frames hold their DC coefficients, the tables of quantisation and
// what belongs to blocks in such streams.
//
// Streams with transforms (H.6) are refused: frames made from JPEG files have none.
package modular

import (
	"fmt"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/entropy"
)

// Channel is one plane of samples.
type Channel struct {
	Width, Height int
	Samples       []int32 // rows of Width; nil, where a stream is written whose tree predicts nothing: zeros
}

// NewChannel returns a plane of zeros.
func NewChannel(width, height int) *Channel {
	return &Channel{width, height, make([]int32, width*height)}
}

// Node is a decision or a leaf of a tree.
type Node struct {
	Property int   // of a decision; -1: a leaf
	Split    int32 // the first child is for values above
	Child    int   // of a decision: the first child; the second follows it

	Context    int // of a leaf
	Predictor  int
	Offset     int32
	Multiplier int32
}

// Tree is a decision tree, breadth first from the root.
type Tree []Node

// Contexts is the number of leaves.
func (t Tree) Contexts() int { return (len(t) + 1) / 2 }

// The predictors (H.5.2) and properties (H.4.1) that the encoder uses.
const (
	PredictZero     = 0
	PredictLeft     = 1
	PredictTop      = 2
	PredictAverage  = 3
	PredictSelect   = 4
	PredictGradient = 5
	PredictWeighted = 6
	predictors      = 14

	PropertyChannel  = 0
	PropertyStream   = 1
	PropertyRow      = 2
	PropertyColumn   = 3
	PropertyWeighted = 15
	ownProperties    = 16
	perChannel       = 4 // properties of each earlier channel of the same size
)

// The contexts of a tree's own code.
const (
	contextSplit = iota
	contextProperty
	contextPredictor
	contextOffset
	contextMultiplierLog
	contextMultiplierBits
	treeContexts
)

// Code is a tree with the distributions of its leaves.
type Code struct {
	Tree    Tree
	Entropy *entropy.Code
}

// ReadCode reads a tree of at most limit nodes and the distributions.
func ReadCode(r *bits.Reader, limit int) (*Code, error) {
	t, err := readTree(r, limit)
	if err != nil {
		return nil, err
	}
	e, err := entropy.ReadCode(r, t.Contexts())
	if err != nil {
		return nil, err
	}
	return &Code{t, e}, nil
}

func readTree(r *bits.Reader, limit int) (Tree, error) {
	code, err := entropy.ReadCode(r, treeContexts)
	if err != nil {
		return nil, err
	}
	d := code.Decoder(r, 0)
	var t Tree
	leaves := 0
	for left := 1; left > 0; left-- {
		if len(t) >= limit {
			return nil, fmt.Errorf("modular: a tree of more than %d nodes", limit)
		}
		property := int(d.Read(contextProperty)) - 1
		if property > 255 {
			return nil, fmt.Errorf("modular: property %d", property)
		}
		n := Node{Property: property}
		if property >= 0 {
			n.Split = bits.Signed(d.Read(contextSplit))
			n.Child = len(t) + left
			left += 2
		} else {
			n.Predictor = int(d.Read(contextPredictor))
			n.Offset = bits.Signed(d.Read(contextOffset))
			log, low := d.Read(contextMultiplierLog), d.Read(contextMultiplierBits)
			if n.Predictor >= predictors || log > 30 || uint64(low)+1 > 1<<(31-log)-1 {
				return nil, fmt.Errorf("modular: a leaf with predictor %d and multiplier (%d + 1) << %d", n.Predictor, low, log)
			}
			n.Multiplier = int32((low + 1) << log)
			n.Context = leaves
			leaves++
		}
		t = append(t, n)
		if err := r.Err(); err != nil {
			return nil, err
		}
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return t, t.check()
}

// check refuses decisions that one above them has made already, so that no path is longer
// than the values of its properties.
func (t Tree) check() error {
	type span struct {
		node, property, depth int
		low, high             int64
		before                *span
	}
	stack := []*span{{node: 0, property: -1}}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := t[s.node]
		if n.Property < 0 {
			continue
		}
		if s.depth > 2000 {
			return fmt.Errorf("modular: a tree of more than %d levels", s.depth)
		}
		low, high := int64(-1<<31), int64(1<<31-1)
		for b := s; b != nil; b = b.before {
			if b.property == n.Property {
				low, high = b.low, b.high
				break
			}
		}
		if low > int64(n.Split) || high <= int64(n.Split) {
			return fmt.Errorf("modular: a tree decides twice")
		}
		stack = append(stack,
			&span{n.Child, n.Property, s.depth + 1, int64(n.Split) + 1, high, s},
			&span{n.Child + 1, n.Property, s.depth + 1, low, int64(n.Split), s})
	}
	return nil
}

// static returns the tree as it is for one channel of one stream: without decisions on
// either.
func (t Tree) static(channel, stream int) Tree {
	out := Tree{}
	from := []int{0}
	for i := 0; i < len(from); i++ {
		at := from[i]
		for t[at].Property == PropertyChannel || t[at].Property == PropertyStream {
			v := channel
			if t[at].Property == PropertyStream {
				v = stream
			}
			if int64(v) > int64(t[at].Split) {
				at = t[at].Child
			} else {
				at = t[at].Child + 1
			}
		}
		n := t[at]
		if n.Property >= 0 {
			from = append(from, n.Child, n.Child+1)
			n.Child = len(from) - 2
		}
		out = append(out, n)
	}
	return out
}

// uses says which of what costs time a tree needs.
func (t Tree) uses() (weighted bool, earlier int) {
	for _, n := range t {
		if n.Property == PropertyWeighted || n.Property < 0 && n.Predictor == PredictWeighted {
			weighted = true
		}
		if n.Property >= ownProperties {
			earlier = max(earlier, (n.Property-ownProperties)/perChannel+1)
		}
	}
	return weighted, earlier
}

// maxTree bounds the nodes of a stream's own tree by its samples.
func maxTree(channels []*Channel) int {
	n := 1024
	for _, c := range channels {
		n += len(c.Samples) / 16
	}
	return min(n, 1<<20)
}

// Read reads a stream into channels of known sizes. The global code may be nil.
func Read(r *bits.Reader, global *Code, stream int, channels []*Channel) error {
	h, own, err := readHeader(r)
	if err != nil {
		return err
	}
	code := global
	if own {
		if code, err = ReadCode(r, maxTree(channels)); err != nil {
			return err
		}
	} else if code == nil {
		return fmt.Errorf("modular: a stream uses a tree that is not there")
	}
	width := 0
	for _, c := range channels {
		width = max(width, c.Width)
	}
	d := code.Entropy.Decoder(r, width)
	for i, c := range channels {
		if len(c.Samples) == 0 {
			continue
		}
		readChannel(d, code, &h, stream, channels, i)
		if err := r.Err(); err != nil {
			return err
		}
	}
	return d.End()
}

// readHeader reads what stands before a stream; own says that its tree follows.
func readHeader(r *bits.Reader) (h weights, own bool, err error) {
	own = !r.Bool()
	h = standardWeights
	if !r.Bool() {
		for i := range h.p {
			h.p[i] = int64(r.Read(5))
		}
		for i := range h.w {
			h.w[i] = r.Read(4)
		}
	}
	if n := r.U32(&bits.Count); n > 0 {
		return h, own, fmt.Errorf("modular: %d transforms, which frames made from JPEG files do not have", n)
	}
	return h, own, r.Err()
}

func readChannel(d *entropy.Decoder, code *Code, h *weights, stream int, channels []*Channel, index int) {
	c := channels[index]
	tree := code.Tree.static(index, stream)
	clusters := code.Entropy.Clusters()
	if tree[0].Property < 0 && tree[0].Predictor == PredictZero {
		leaf := &tree[0]
		k := int(clusters[leaf.Context])
		if v, ok := d.Constant(k); ok {
			v := leaf.Offset + leaf.Multiplier*bits.Signed(v)
			for i := range c.Samples {
				c.Samples[i] = v
			}
			return
		}
		for i := range c.Samples {
			c.Samples[i] = leaf.Offset + leaf.Multiplier*bits.Signed(d.ReadCluster(k))
		}
		return
	}
	p := newPredictor(tree, h, channels, index)
	for y := range c.Height {
		if p.rows {
			p.weightedRow(y, func(x int, leaf *Node, guess int32) int32 {
				return guess + leaf.Offset + leaf.Multiplier*bits.Signed(d.ReadCluster(int(clusters[leaf.Context])))
			})
			continue
		}
		p.row(y)
		row := c.Samples[y*c.Width : (y+1)*c.Width]
		for x := range row {
			leaf, guess := p.predict(x)
			v := int32(guess) + leaf.Offset + leaf.Multiplier*bits.Signed(d.ReadCluster(int(clusters[leaf.Context])))
			row[x] = v
			p.update(x, v)
		}
	}
}
