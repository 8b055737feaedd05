package jpeg2000

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// The tests of this file hold us against OpenHTJ2K, whose library comes with the package
// blosc2-htj2k of PyPI; "make services" installs it into .tools.

// openHTJ2KScript decodes files and writes their samples as int32, component after component.
// It calls methods of the class openhtj2k_decoder by their names in the library; vectors are
// three pointers each, those of bool five words.
const openHTJ2KScript = `
import ctypes, json, sys
for line in sys.stdin:
    job = json.loads(line)
    print(job["In"], file=sys.stderr, flush=True)
    library = ctypes.CDLL(job["Library"])
    method = lambda name: getattr(library, "_ZN10open_htj2k17openhtj2k_decoder" + name)
    data = open(job["In"], "rb").read()
    decoder = ctypes.create_string_buffer(1024)
    method("C1EPKhmhj")(decoder, ctypes.c_char_p(data), ctypes.c_size_t(len(data)), ctypes.c_uint8(0), ctypes.c_uint32(1))
    method("5parseEv")(decoder)
    planes, widths, heights, depths, signs = [(ctypes.c_void_p * 5)() for _ in range(5)]
    method("6invokeERSt6vectorIPiSaIS2_EERS1_IjSaIjEES8_RS1_IhSaIhEERS1_IbSaIbEE")(decoder, planes, widths, heights, depths, signs)
    count = (widths[1] - widths[0]) // 4
    u32 = ctypes.POINTER(ctypes.c_uint32)
    w, h = ctypes.cast(widths[0], u32), ctypes.cast(heights[0], u32)
    p = ctypes.cast(planes[0], ctypes.POINTER(ctypes.c_void_p))
    with open(job["Out"], "wb") as out:
        for c in range(count):
            out.write(ctypes.string_at(p[c], 4 * w[c] * h[c]))
`

// openHTJ2KJob is a job for openHTJ2KScript.
type openHTJ2KJob struct{ Library, In, Out string }

// OpenHTJ2K finds in our HT files what we find, with loss but for the rounding of a sample. It
// ends where subbands have no sample, so that images and tiles are not small.
func TestOpenHTJ2KReadsOurFiles(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(tools, "imagecodecs", "lib", "python3*", "site-packages", "blosc2_htj2k", "plugins", "htj2k", "openhtj2k", "libopen_htj2k_R.so"))
	if err != nil || len(names) == 0 {
		missing(t, "OpenHTJ2K is not installed; run make services")
	}
	var jobs []openHTJ2KJob
	var want []*raster.Image
	lossy := map[int]bool{}
	dir := t.TempDir()
	for _, s := range []raster.Shape{shape(200, 133, 3, 8, false), shape(131, 97, 1, 16, false), shape(70, 290, 4, 12, true)} {
		for _, pairs := range []string{"", "effort=best", "block=16x32 tile=70x50 progression=CPRL", "precincts=64x64 style=causal", "psnr=40", "bpp=3 progression=RPCL"} {
			file := encoded(t, pattern(s), append(strings.Fields(pairs), "mode=ht", "container=j2c")...)
			back, err := decodeOne(t, file, codec.View{})
			if err != nil {
				t.Fatal(err)
			}
			in := filepath.Join(dir, strings.ReplaceAll(s.String()+pairs, "/", "-")+".j2c")
			if err := os.WriteFile(in, file, 0o666); err != nil {
				t.Fatal(err)
			}
			lossy[len(jobs)] = strings.Contains(pairs, "psnr=") || strings.Contains(pairs, "bpp=")
			jobs, want = append(jobs, openHTJ2KJob{names[0], in, in + ".samples"}), append(want, back)
		}
	}
	python(t, openHTJ2KScript, jobs)
	for i, m := range want {
		data, err := os.ReadFile(jobs[i].Out)
		if err != nil || len(data) != 4*m.Samples() {
			t.Fatalf("%s: %d bytes for %s: %v", jobs[i].In, len(data), m.Shape, err)
		}
		off := 0
		if lossy[i] {
			off = 1 << max(0, m.Bits-10) // its 9/7 has fewer bits than float32
		}
		for k := range m.Samples() {
			at := k/m.Pixels() + k%m.Pixels()*m.Channels
			v := int(int32(binary.LittleEndian.Uint32(data[4*k:])))
			if d := v - m.Sample(at); d > off || d < -off {
				t.Fatalf("%s: sample %d of component %d is %d, and %d here", jobs[i].In, k%m.Pixels(), k/m.Pixels(), v, m.Sample(at))
			}
		}
	}
}
