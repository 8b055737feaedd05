package codectest

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// RunSources runs as subtests of t what package codec promises for a [codec.SourceCodec].
// Sources are some that the codec takes; there are at least two.
func RunSources(t *testing.T, c codec.SourceCodec, sources [][]byte) {
	s := &sourceSuite{codec: c, suite: suite{codec: c, info: c.Info(), sets: [][]string{nil}}, sources: append([][]byte{c.SourceSample()}, sources...)}
	t.Run("Info", s.testInfo)
	t.Run("Options", s.testOptions)
	t.Run("SourcesComeBack", s.testComeBack)
	t.Run("Batch", s.testBatch)
	t.Run("SameBytes", s.testSameBytes)
	t.Run("Cancelled", s.testCancelled)
	t.Run("DamagedFiles", s.testDamagedFiles)
	t.Run("DamagedSources", s.testDamagedSources)
	t.Run("Memory", s.testSourceMemory)
}

type sourceSuite struct {
	suite
	codec   codec.SourceCodec
	sources [][]byte
}

func (s *sourceSuite) items(sources ...[]byte) []codec.Item {
	items := make([]codec.Item, len(sources))
	for i, data := range sources {
		items[i].Source = codec.Source{Format: s.codec.SourceFormat(), Data: data}
	}
	return items
}

func (s *sourceSuite) file(t *testing.T, source []byte) []byte {
	t.Helper()
	e := s.codec.Encode(context.Background(), codec.Run{}, s.items(source), nil)
	if len(e) != 1 || e[0].Err != nil {
		t.Fatalf("encode a source of %d bytes: %v", len(source), answerErr(e))
	}
	return e[0].Data
}

func (s *sourceSuite) testComeBack(t *testing.T) {
	for i, source := range s.sources {
		before := bytes.Clone(source)
		file := s.file(t, source)
		kept := bytes.Clone(file)
		back := s.codec.Restore(context.Background(), codec.Run{}, [][]byte{file})
		if len(back) != 1 || back[0].Err != nil || !bytes.Equal(back[0].Data, source) {
			t.Errorf("source %d: other bytes come back (%v)", i, answerErr(back))
		}
		m, err := s.decode(file, nil)
		if err != nil {
			t.Errorf("source %d: its samples: %v", i, err)
			continue
		}
		h, err := s.codec.Header(file)
		if err != nil || len(h.Fields) == 0 || h.Resolutions < 1 || !h.Same(m.Shape) {
			t.Errorf("source %d: the header says %s of %s (%v)", i, h.Shape, m.Shape, err)
		}
		if !bytes.Equal(source, before) || !bytes.Equal(file, kept) {
			t.Errorf("source %d: the codec changed it or its file", i)
		}
	}
}

// testBatch puts what the codec does not take between sources that it takes.
func (s *sourceSuite) testBatch(t *testing.T) {
	ctx := context.Background()
	if got := s.codec.Encode(ctx, codec.Run{}, nil, nil); len(got) != 0 {
		t.Errorf("empty batch: %d answers", len(got))
	}
	items := s.items(s.sources...)
	items = append(items, codec.Items(raster.New(4, 4, 1, 3, 8))...)
	items = append(items, codec.Item{Source: codec.Source{Format: "other", Data: s.sources[0]}})
	items = append(items, s.items(s.sources[0])...)
	for i, e := range s.codec.Encode(ctx, codec.Run{}, items, nil) {
		var unsupported *codec.UnsupportedError
		switch source := items[i].Source; {
		case source.Format == s.codec.SourceFormat():
			if want := s.file(t, source.Data); !bytes.Equal(e.Data, want) {
				t.Errorf("item %d: other bytes in a batch than alone (%v)", i, e.Err)
			}
		case !errors.As(e.Err, &unsupported):
			t.Errorf("item %d: want an UnsupportedError, got %v", i, e.Err)
		}
	}
}

func (s *sourceSuite) testSameBytes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want [][]byte
	for _, procs := range []int{1, 8} {
		runtime.GOMAXPROCS(procs)
		for i, source := range s.sources {
			file := s.file(t, source)
			if len(want) <= i {
				want = append(want, file)
			}
			if !bytes.Equal(file, want[i]) {
				t.Errorf("source %d: other bytes with %d goroutines", i, procs)
			}
			if back := s.codec.Restore(context.Background(), codec.Run{}, [][]byte{file}); !bytes.Equal(back[0].Data, source) {
				t.Errorf("source %d: other bytes come back with %d goroutines (%v)", i, procs, back[0].Err)
			}
		}
	}
}

func (s *sourceSuite) testCancelled(t *testing.T) {
	file := s.file(t, s.sources[0])
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, answers := range [][]codec.Encoded{
		s.codec.Encode(ctx, codec.Run{}, s.items(s.sources[0]), nil),
		s.codec.Restore(ctx, codec.Run{}, [][]byte{file}),
	} {
		if err := answerErr(answers); !errors.Is(err, context.Canceled) && (len(answers) != 1 || !errors.Is(answers[0].Err, context.Canceled)) {
			t.Errorf("want the context's error, got %v", err)
		}
	}
}

// testDamagedFiles cuts files and flips bits in them.
func (s *sourceSuite) testDamagedFiles(t *testing.T) {
	for _, source := range s.sources[:1] {
		s.damage(t, s.file(t, source))
	}
	for _, junk := range [][]byte{nil, {}, []byte("x"), bytes.Repeat([]byte{0xff}, 4096), make([]byte, 4096)} {
		if err := s.try(junk, true); err != nil {
			t.Errorf("junk of %d bytes: %v", len(junk), err)
		}
	}
}

// testDamagedSources cuts sources and flips bits in them: the answer is a file, whatever
// comes back from it, or one of the two errors. What is sound in most places comes back.
func (s *sourceSuite) testDamagedSources(t *testing.T) {
	every := 1
	if testing.Short() {
		every = 7
	}
	for _, source := range s.sources[:1] {
		var damaged [][]byte
		for i := 0; i < 100; i += every {
			at := i * len(source) / 100
			bad := bytes.Clone(source)
			bad[at] ^= 1 << (i % 8)
			damaged = append(damaged, source[:at:at], bad, append(bytes.Clone(source), source[:at]...))
		}
		same := 0
		for i, e := range s.codec.Encode(context.Background(), codec.Run{}, s.items(damaged...), nil) {
			var malformed *codec.FormatError
			var unsupported *codec.UnsupportedError
			switch {
			case e.Err != nil && !errors.As(e.Err, &malformed) && !errors.As(e.Err, &unsupported):
				t.Errorf("damage %d: %T: %v", i, e.Err, e.Err)
			case e.Err == nil:
				if back := s.codec.Restore(context.Background(), codec.Run{}, [][]byte{e.Data}); bytes.Equal(back[0].Data, damaged[i]) {
					same++
				}
			}
		}
		if same < len(damaged)/10 {
			t.Errorf("%d of %d damaged sources come back", same, len(damaged))
		}
	}
}

// testSourceMemory holds what the codec says of memory against what it takes.
func (s *sourceSuite) testSourceMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // so that little garbage is counted
	for i, source := range s.sources {
		file := s.file(t, source)
		h, err := s.codec.Header(file)
		if err != nil {
			t.Fatal(err)
		}
		says := s.codec.Memory(h.Shape, nil, nil)
		allowed := max(says.Encode, says.Decode) + says.File
		took := peak(allowed, func() { s.file(t, source) })
		if took > allowed || int64(len(file)) > says.File {
			t.Errorf("source %d: encoding took %d bytes for a file of %d, and the codec says %+v", i, took, len(file), says)
		}
		took = peak(h.Memory, func() { s.decode(file, nil) })
		if took > h.Memory {
			t.Errorf("source %d: decoding took %d bytes, and the header says %d", i, took, h.Memory)
		}
	}
}
