package neuquant

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/neuquant/internal/deflate"
)

// parseStreams are rows of all kinds, around every size where the parse changes.
func parseStreams(rng *rand.Rand) (list [][]byte) {
	sizes := []int{1, 2, 3, 6, 7, 8, 9, 31, 32, 33, 39, 40, 63, 64, 65, 257, 258, 259, 265, 266, 511, 512, 1023, 1024, 1025, 1031, 1032, 1033, 2049, 5000}
	for _, n := range sizes {
		for kind := range 5 {
			list = append(list, stream(rng, kind, n))
		}
	}
	for kind := range 9 {
		list = append(list, stream(rng, kind, 40000+rng.IntN(9000)), stream(rng, kind, 32768+kind))
	}
	// Strings at the far edge of the window and one beyond, good matches behind it, and those of 65,536 before.
	for _, distance := range []int{8191, 8192, 8193, 32767, 32768, 32769, 65535, 65536, 65537} {
		for _, length := range []int{3, 6, 8, 63, 64, 257, 258, 259, 600} {
			data := stream(rng, 0, distance+length+50)
			copy(data[distance:], data[:length])
			list = append(list, data)
		}
	}
	return list
}

func stream(rng *rand.Rand, kind, n int) []byte {
	data := make([]byte, n)
	period := 1 + rng.IntN(400)
	for i := range data {
		switch kind {
		case 0: // noise
			data[i] = byte(rng.Uint32())
		case 1: // flat
			data[i] = 7
		case 2: // periodic, with faults
			if data[i] = byte(rng.IntN(3)); i >= period {
				data[i] = data[i-period]
			}
			if rng.IntN(150) == 0 {
				data[i] ^= 1
			}
		case 3: // of few values
			data[i] = byte(rng.IntN(2))
		case 4: // as of a photograph
			if data[i] = byte(rng.IntN(5) * rng.IntN(5)); i > 100 && rng.IntN(4) > 0 {
				data[i] = data[i-100+rng.IntN(2)]
			}
		case 5: // runs
			if i > 0 && rng.IntN(20) > 0 {
				data[i] = data[i-1]
			} else {
				data[i] = byte(rng.IntN(4))
			}
		case 6: // long runs and noise
			if i/3000%2 == 0 {
				data[i] = byte(i / 6000)
			} else {
				data[i] = byte(rng.IntN(40))
			}
		case 7: // words of a few lists
			data[i] = byte(i % 11 * (i / 11 % 7) * (rng.IntN(9) / 8))
		default: // skewed
			data[i] = byte(rng.IntN(1 + rng.IntN(256)))
		}
	}
	return data
}

// streamOfPhotograph is the rows of a photograph's file.
func streamOfPhotograph(t testing.TB) (rows []byte) {
	_, m := readImage(t, kodakFiles(t)[0])
	made := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), nil)[0]
	if made.Err != nil {
		t.Fatal(made.Err)
	}
	back, err := png.Decode(bytes.NewReader(made.Data))
	if err != nil {
		t.Fatal(err)
	}
	p := back.(*image.Paletted)
	for y := range m.Height {
		rows = append(append(rows, 0), p.Pix[y*p.Stride:][:m.Width]...)
	}
	return rows
}

// compiled compiles the kernels of deflate for the CPU and returns the name of the program that runs them.
func compiled(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "parse")
	source := filepath.Join("testdata", "emulated")
	text, err := exec.Command("g++", "-O2", "-std=c++17", "-w", "-U_FORTIFY_SOURCE", "-I", source, "-o", program, filepath.Join(source, "parse.cpp")).CombinedOutput()
	if err != nil {
		if os.Getenv("PELMILL_TEST") == "require" {
			t.Fatalf("%v\n%s", err, text)
		}
		t.Skipf("NOT TESTED: the kernels do not compile for the CPU: %v\n%s", err, text)
	}
	return program
}

// emulated returns a function that parses with the kernels.
func emulated(t *testing.T) func(steps uint32, list [][]byte) []deflate.Parsed {
	program := compiled(t)
	return func(steps uint32, list [][]byte) []deflate.Parsed {
		t.Helper()
		var in []byte
		for _, data := range list {
			for _, v := range []uint32{uint32(len(data)), uint32(deflate.SegmentsOf(len(data))), steps} {
				in = binary.LittleEndian.AppendUint32(in, v)
			}
			in = append(in, data...)
		}
		cmd := exec.Command(program)
		cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		r := bytes.NewReader(out)
		parsed := make([]deflate.Parsed, len(list))
		for i := range parsed {
			var counts [2]uint32
			err := binary.Read(r, binary.LittleEndian, &counts)
			p := &parsed[i]
			p.Tokens, p.Segments = make([]uint32, counts[0]), make([]deflate.Segment, counts[1])
			for _, v := range []any{p.Tokens, p.Segments} {
				if err == nil {
					err = binary.Read(r, binary.LittleEndian, v)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return parsed
	}
}

// sameParse compares what the kernels parsed with what Go parses, and the stream with Go's.
func sameParse(data []byte, got *deflate.Parsed) error {
	e := new(deflate.Encoder)
	want := e.Parse(data)
	for i := range want.Tokens {
		if i >= len(got.Tokens) || got.Tokens[i] != want.Tokens[i] {
			return fmt.Errorf("%d bytes: token %d of %d (%d) differs", len(data), i, len(want.Tokens), len(got.Tokens))
		}
	}
	if len(got.Segments) != len(want.Segments) {
		return fmt.Errorf("%d bytes: %d segments, want %d", len(data), len(got.Segments), len(want.Segments))
	}
	for i := range want.Segments {
		if got.Segments[i] != want.Segments[i] {
			return fmt.Errorf("%d bytes: segment %d differs: %v, want %v", len(data), i, got.Segments[i], want.Segments[i])
		}
	}
	stream, ok := e.AppendParsed(nil, data, got)
	if !ok || !bytes.Equal(stream, e.Append(nil, data)) {
		return fmt.Errorf("%d bytes: another stream (%v)", len(data), ok)
	}
	return nil
}

// The kernels, compiled for the CPU, parse as Go does.
func TestKernelsParseAsGo(t *testing.T) {
	run := emulated(t)
	list := parseStreams(rand.New(rand.NewPCG(31, 32)))
	for i, p := range run(1<<31, list) {
		if err := sameParse(list[i], &p); err != nil {
			t.Errorf("stream %d: %v", i, err)
		}
	}
}

// So they do with the rows of a photograph.
func TestKernelsParsePhotographAsGo(t *testing.T) {
	rows := streamOfPhotograph(t)
	p := emulated(t)(uint32(len(rows)+freeSteps), [][]byte{rows})[0]
	if err := sameParse(rows, &p); err != nil {
		t.Error(err)
	}
}

// Where the steps do not suffice, the kernels say so.
func TestKernelsStopWhereStepsEnd(t *testing.T) {
	run := emulated(t)
	data := stream(rand.New(rand.NewPCG(33, 34)), 5, 30000)
	copy(data[20000:], data[5000:10000])
	if p := run(10, [][]byte{data})[0]; p.Tokens != nil && len(p.Tokens) != 0 || len(p.Segments) != 0 {
		t.Errorf("%d tokens, %d segments", len(p.Tokens), len(p.Segments))
	}
}

// The kernel that packs tokens, compiled for the CPU, writes the streams of Go.
func TestKernelPacksAsGo(t *testing.T) {
	program := compiled(t)
	rng := rand.New(rand.NewPCG(39, 40))
	list := append(parseStreams(rng), stream(rng, 8, 300000))
	var in []byte
	var streams [][]byte
	var laid deflate.Laid // of one stream after the other: what is left of one shows in no other
	for _, data := range list {
		e := new(deflate.Encoder)
		p := e.Parse(data)
		if !e.Lay(&laid, data, p.Segments) {
			t.Fatalf("%d bytes: not laid", len(data))
		}
		streams = append(streams, bytes.Clone(laid.Stream))
		for _, v := range []uint32{uint32(len(laid.Blocks)), uint32(len(p.Tokens)), uint32(len(laid.Stream)+3) / 4} {
			in = binary.LittleEndian.AppendUint32(in, v)
		}
		for _, v := range p.Tokens {
			in = binary.LittleEndian.AppendUint32(in, v)
		}
		in, _ = binary.Append(in, binary.LittleEndian, laid.Blocks)
	}
	cmd := exec.Command(program, "pack")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	packed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range list {
		n := len(streams[i])
		subtle.XORBytes(streams[i], streams[i], packed[:n])
		packed = packed[(n+3)&^3:]
		if want := new(deflate.Encoder).Append(nil, data); !bytes.Equal(streams[i], want) {
			t.Errorf("stream %d of %d bytes: other bytes", i, len(data))
		}
	}
	if len(packed) != 0 {
		t.Errorf("%d bytes are left", len(packed))
	}
}
