package modular

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
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
			"weighted": Splits(PropertyWeighted, []int32{-100, -20, -3, 0, 3, 20, 100}, PredictWeighted).Tree(),
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
	for seed := range uint64(40) {
		for _, c := range planes(seed) {
			if len(c.Samples) == 0 {
				continue
			}
			tree := Splits(PropertyWeighted, []int32{-100, -20, -3, 0, 3, 20, 100}, PredictWeighted).Tree()
			slow := newPredictor(tree, &standardWeights, []*Channel{c}, 0)
			fast := newPredictor(tree, &standardWeights, []*Channel{c}, 0)
			if !fast.rows {
				t.Fatal("the tree has no fast way")
			}
			for y := range c.Height {
				slow.row(y)
				row := c.Samples[y*c.Width : (y+1)*c.Width]
				fast.weightedRow(y, func(x int, leaf *Node, guess int32) int32 {
					want, wanted := slow.predict(x)
					if leaf != want && *leaf != *want || int64(guess) != wanted {
						t.Fatalf("seed %d: %d, %d: leaf %+v predicts %d, want %+v and %d", seed, x, y, *leaf, guess, *want, wanted)
					}
					slow.update(x, row[x])
					return row[x]
				})
			}
		}
	}
}
