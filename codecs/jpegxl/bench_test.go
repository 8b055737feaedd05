package jpegxl

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/vardct"
	"github.com/pelmill/pelmill/codecs/pool"
)

// photos are the JPEG files that the codec takes of the folder PELMILL_JPEG, or else of the
// tree's, by their names.
func photos(b testing.TB) map[string][]byte {
	dir := os.Getenv("PELMILL_JPEG")
	if dir == "" {
		dir = "../../testdata/images"
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*.jpg"))
	files := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := pack(pool.Of(1), data, vardct.Default); err == nil {
			files[strings.TrimSuffix(filepath.Base(name), ".jpg")] = data
		}
	}
	return files
}

// proved encodes a source, with the effort that PELMILL_EFFORT names, and gives its file if
// the source comes back from it.
func proved(run codec.Run, source []byte) []codec.Encoded {
	var opts codec.Options
	if effort := os.Getenv("PELMILL_EFFORT"); effort != "" {
		var err error
		if opts, err = (Codec{}).Options([]string{"effort=" + effort}); err != nil {
			return []codec.Encoded{{Err: err}}
		}
	}
	out := Codec{}.Encode(context.Background(), run, []codec.Item{{Source: codec.Source{Format: "jpeg", Data: source}}}, opts)
	if out[0].Err != nil {
		return out
	}
	if back := (Codec{}).Restore(context.Background(), run, [][]byte{out[0].Data}); !bytes.Equal(back[0].Data, source) {
		return []codec.Encoded{{Err: fmt.Errorf("other bytes come back (%w)", back[0].Err)}}
	}
	return out
}

// BenchmarkEncode is encoding with its proof on one core, BenchmarkDecode giving the JPEG
// file back; both in bytes of JPEG.
func BenchmarkEncode(b *testing.B) {
	run := codec.Run{Pool: pool.Of(1)}
	for name, source := range photos(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			b.ReportAllocs()
			var e []codec.Encoded
			for b.Loop() {
				e = proved(run, source)
			}
			b.ReportMetric(float64(len(e[0].Data)), "bytes")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	run := codec.Run{Pool: pool.Of(1)}
	for name, source := range photos(b) {
		file, err := pack(pool.Of(1), source, vardct.Default)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			b.ReportAllocs()
			for b.Loop() {
				Codec{}.Restore(context.Background(), run, [][]byte{file})
			}
		})
	}
}

// child is what a test binary started by BenchmarkPeers does: it encodes a file with the
// proof, or decodes one, a number of times.
const child = "PELMILL_JPEGXL_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(child) == "" {
		os.Exit(m.Run())
	}
	runtime.GOMAXPROCS(1)
	run := codec.Run{Pool: pool.Of(1)}
	data, err := os.ReadFile(os.Args[1])
	var out []codec.Encoded
	if os.Getenv(child) == "encode" {
		out = proved(run, data)
	} else {
		out = Codec{}.Restore(context.Background(), run, [][]byte{data})
	}
	if err == nil && out[0].Err == nil {
		err = os.WriteFile(os.Args[2], out[0].Data, 0o600)
	}
	if err != nil || out[0].Err != nil {
		fmt.Fprintln(os.Stderr, err, out[0].Err)
		os.Exit(1)
	}
}

// BenchmarkPeers compares us with cjxl and djxl on one core, each as a process of its own
// for one file, by their time on the processor, which other work on the machine changes
// least. It prints megabytes of JPEG a second over all files, of the best of three runs.
func BenchmarkPeers(b *testing.B) {
	need(b, "djxl", "libjxl-tools")
	need(b, "cjxl", "libjxl-tools")
	dir := b.TempDir()
	in, ours, theirs, back := filepath.Join(dir, "in.jpg"), filepath.Join(dir, "ours.jxl"), filepath.Join(dir, "theirs.jxl"), filepath.Join(dir, "back.jpg")
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	const rounds = 3
	programs := []struct {
		name string
		args []string
		env  string
	}{
		{"encode", []string{self, in, ours}, child + "=encode"},
		{"cjxl-e7", []string{"cjxl", in, theirs, "-e", "7", "--num_threads=0"}, ""},
		{"decode", []string{self, ours, back}, child + "=decode"},
		{"djxl", []string{"djxl", ours, back, "--num_threads=0"}, ""},
	}
	for b.Loop() {
		var seconds [4]float64
		bytesIn, sizes := 0, [2]int64{}
		for name, source := range photos(b) {
			os.WriteFile(in, source, 0o600)
			var line string
			for i, p := range programs {
				best := time.Duration(1 << 62)
				for range rounds {
					cmd := exec.Command(p.args[0], p.args[1:]...)
					cmd.Env = append(os.Environ(), p.env)
					if out, err := cmd.CombinedOutput(); err != nil {
						b.Fatalf("%s: %v %s", p.name, err, out)
					}
					best = min(best, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
				}
				seconds[i] += best.Seconds()
				line += fmt.Sprintf(" %s %.2f", p.name, float64(len(source))/1e6/best.Seconds())
				if i >= 2 {
					if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, source) {
						b.Fatalf("%s gives other bytes", p.name)
					}
				}
			}
			for i, file := range []string{ours, theirs} {
				if info, err := os.Stat(file); err == nil {
					sizes[i] += info.Size()
				}
			}
			b.Logf("%s: MB/s%s", name, line)
			bytesIn += len(source)
		}
		for i, p := range programs {
			b.ReportMetric(float64(bytesIn)/1e6/seconds[i], p.name+"-MB/s")
		}
		b.ReportMetric(float64(sizes[0]), "bytes")
		b.ReportMetric(float64(sizes[1]), "cjxl-bytes")
	}
}
