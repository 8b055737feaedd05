package modular

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/pool"
)

// planes are channels of several sizes with smooth and noisy samples.
func planes(seed uint64) []*Channel {
	r := rand.New(rand.NewPCG(seed, 2))
	var list []*Channel
	for i := range 3 {
		c := NewChannel(1+r.IntN(20), 1+r.IntN(20))
		if i == 2 && seed%2 == 0 {
			c = NewChannel(list[0].Width, list[0].Height)
		}
		if seed%7 == 3 && i == 1 {
			c = NewChannel(0, 4)
		}
		for j := range c.Samples {
			c.Samples[j] = int32(j*3%(c.Width+1)) + r.Int32N(1<<r.IntN(11)) - 512
		}
		list = append(list, c)
	}
	return list
}

// tree has a leaf for every predictor, and decisions on all properties.
func tree(seed uint64) Tree {
	r := rand.New(rand.NewPCG(seed, 3))
	var list []*Decision
	for p := range predictors {
		list = append(list, &Decision{Predictor: p})
	}
	for len(list) > 1 {
		list = append(list[2:], &Decision{Property: len(list) * 7 % 24, Split: r.Int32N(40) - 20, Above: list[0], Below: list[1]})
	}
	return list[0].Tree()
}

func TestChannelsComeBack(t *testing.T) {
	for seed := range uint64(40) {
		channels := planes(seed)
		for name, tree := range map[string]Tree{
			"zero":     (&Decision{}).Tree(),
			"weighted": splits(PropertyWeighted, []int32{-100, -20, -3, 0, 3, 20, 100}, PredictWeighted).Tree(),
			"fixed":    Fixed(pool.Of(2), [][]*Channel{channels, planes(seed + 1)}).Tree(),
			"learned":  Learn(pool.Of(2), [][]*Channel{channels, planes(seed + 1)}).Tree(),
			"searched": Search(pool.Of(2), [][]*Channel{channels, planes(seed + 1)}).Tree(),
			"all":      tree(seed),
		} {
			if tree.check() != nil {
				continue // it decides twice
			}
			w := &bits.Writer{}
			Write(w, tree, channels)
			var got []*Channel
			for _, c := range channels {
				got = append(got, NewChannel(c.Width, c.Height))
			}
			if err := Read(bits.NewReader(w.Bytes()), nil, 0, got); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, name, err)
			}
			for i := range got {
				if !slices.Equal(got[i].Samples, channels[i].Samples) {
					t.Fatalf("seed %d: %s: channel %d differs", seed, name, i)
				}
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for seed := range uint64(6) {
		w := &bits.Writer{}
		Write(w, tree(seed), planes(seed))
		f.Add(w.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		Read(bits.NewReader(data), nil, 1, []*Channel{NewChannel(13, 7), NewChannel(13, 7), NewChannel(5, 9)})
	})
}

// TestWeightedRows holds the fast way through a channel against the one sample for sample.
func TestWeightedRows(t *testing.T) {
	weighted := splits(PropertyWeighted, []int32{-100, -20, -3, 0, 3, 20, 100}, PredictWeighted).Tree()
	for seed := range uint64(60) {
		channels := planes(seed)
		for i, c := range channels {
			if len(c.Samples) == 0 {
				continue
			}
			compareWays(t, weighted, channels, i)
			compareWays(t, rowTree(seed), channels, i)
		}
	}
}

// rowTree decides on all properties and has all predictors that the fast way knows.
func rowTree(seed uint64) Tree {
	r := rand.New(rand.NewPCG(seed, 4))
	var list []*Decision
	for p := range 13 {
		if p != 9 {
			list = append(list, &Decision{Predictor: p})
		}
	}
	properties := []int{2, 3, 4, 5, 6, 7, 9, 10, 11, 12, PropertyWeighted, 19, 23}
	for len(list) > 1 {
		list = append(list[2:], &Decision{Property: properties[r.IntN(len(properties))], Split: r.Int32N(60) - 30, Above: list[0], Below: list[1]})
	}
	return list[0].Tree()
}

func compareWays(t *testing.T, tree Tree, channels []*Channel, i int) {
	slow := newPredictor(tree, &standardWeights, channels, i)
	if slow.weighted == nil {
		slow.weighted = newWeightedState(&standardWeights, channels[i].Width)
	}
	fast := newPredictor(tree, &standardWeights, channels, i)
	if !fast.rows {
		t.Fatal("the tree has no fast way")
	}
	c := channels[i]
	for y := range c.Height {
		slow.row(y)
		row := c.Samples[y*c.Width : (y+1)*c.Width]
		fast.weightedRow(y, func(x int, leaf *Node, guess int32) int32 {
			want, wanted := slow.predict(x)
			if leaf != want && *leaf != *want || int64(guess) != wanted {
				t.Fatalf("%d, %d: leaf %+v predicts %d, want %+v and %d", x, y, *leaf, guess, *want, wanted)
			}
			slow.update(x, row[x])
			return row[x]
		})
	}
}

// TestLearnedTree: the tree is the same with any number of goroutines, takes fewer bits than
// one leaf where there is something to learn, and has channels of any size.
func TestLearnedTree(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {7, 15}, {9, 16}, {300, 17}, {200, 101}, {700, 331}} {
		channels := []*Channel{NewChannel(size[0], size[1]), NewChannel((size[0]+1)/2, (size[1]+1)/2), NewChannel(size[0], size[1])}
		r := rand.New(rand.NewPCG(uint64(size[0]), 5))
		for i, c := range channels {
			for j := range c.Samples {
				c.Samples[j] = int32(j%c.Width*i) + r.Int32N(1+int32(40*(j%c.Width)/c.Width))
			}
		}
		length := func(tree Tree) int {
			w := &bits.Writer{}
			Write(w, tree, channels)
			return w.Len()
		}
		plain := length((&Decision{Predictor: PredictWeighted}).Tree())
		for name, make := range map[string]func(*pool.Pool, [][]*Channel) *Decision{"Learn": Learn, "Search": Search} {
			if name == "Search" && size[0] > 300 {
				continue // it takes long
			}
			tree := make(pool.Of(1), [][]*Channel{channels}).Tree()
			if other := make(pool.Of(3), [][]*Channel{channels}).Tree(); !slices.Equal(tree, other) {
				t.Errorf("%s, %v: another tree with three goroutines", name, size)
			}
			if length(tree) > plain+128 || size[1] > 300 && length(tree) > plain*9/10 || size[1] > 100 && length(tree) > plain*19/20 {
				t.Errorf("%s, %v: %d bits, without learning %d", name, size, length(tree), plain)
			}
			if err := tree.check(); err != nil {
				t.Errorf("%s, %v: %v", name, size, err)
			}
		}
	}
}
