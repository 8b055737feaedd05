package jpeg2000

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/pool"
)

// The error of a file is that of its first malformed code-block, also where another goroutine is at a later one before.
func TestTheFirstErrorCounts(t *testing.T) {
	defer func(s storeBlock[int32]) { storeIndices = s }(storeIndices)
	o, err := Codec{}.Options([]string{"mode=ht", "container=j2c"})
	if err != nil {
		t.Fatal(err)
	}
	file := Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(pattern(shape(700, 500, 1, 8, false))), o)[0].Data
	decode := func(block func(at int) error) error {
		storeIndices.whole = func(_ []int32, _ int, b *codestream.Block) error {
			at, ok := offsetIn(file, b.Segments[0].Data)
			if !ok {
				t.Error("a code-block is not in the file")
			}
			return block(at)
		}
		return Codec{}.Decode(t.Context(), codec.Run{Pool: pool.Of(4)}, [][]byte{file}, nil)[0].Err
	}
	var mu sync.Mutex
	var blocks []int // by where they lie in the file, which is their order
	if err := decode(func(at int) error {
		mu.Lock()
		defer mu.Unlock()
		blocks = append(blocks, at)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(blocks)
	if len(blocks) < 4*blocksAtOnce {
		t.Fatal(len(blocks), "code-blocks")
	}
	later := make(chan struct{})
	once := sync.OnceFunc(func() { close(later) })
	errFirst, errLater := errors.New("the first"), errors.New("a later one")
	got := decode(func(at int) error {
		switch i := slices.Index(blocks, at); {
		case i == 0:
			<-later
			return nil
		case i == 1:
			return errFirst
		case i < blocksAtOnce:
			return nil
		}
		once()
		return errLater
	})
	if got != errFirst {
		t.Errorf("the error is %v", got)
	}
}

// However many tiles and trials an image has, no more pieces of memory for the bytes of code-blocks are left with room in them
// than there are goroutines.
func TestChunksServeTheWholeImage(t *testing.T) {
	m := pattern(shape(360, 270, 3, 8, false))
	for _, pairs := range [][]string{{"tile=100x60", "block=4x16"}, {"effort=best"}, {"mode=ht", "tile=120x90"}} {
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{1, 4} {
			e := &encoder{ctx: t.Context(), workers: pool.Of(workers), image: m, options: o.(*Options)}
			if _, err := e.chosen(); err != nil {
				t.Fatal(err)
			}
			// Of several goroutines none may have anything left: that depends on which one encodes which blocks.
			if n := len(e.chunks.list); n > workers || workers == 1 && n != 1 {
				t.Errorf("%q: %d pieces of memory are left for %d goroutines", pairs, n, workers)
			}
		}
	}
}
