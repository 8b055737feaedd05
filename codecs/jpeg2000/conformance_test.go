package jpeg2000

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"image"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/pool"
)

// conformance are the files of the standard's conformance streams (15444-4), by their name
// in the archive; nil where they are absent.
var conformance = sync.OnceValues(func() (map[string][]byte, error) {
	const archive = "../../../shared/data/jpeg2000/conformance.tar"
	out, err := os.ReadFile(archive) // unpacked for a machine without xz, by "make gpu-bundle"
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(archive + ".xz"); err != nil {
			return nil, errAbsent
		}
		if out, err = exec.Command("xz", "-dc", archive+".xz").Output(); err != nil {
			return nil, fmt.Errorf("xz: %w", err)
		}
	} else if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(out)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg {
			if files[path.Clean(h.Name)], err = io.ReadAll(r); err != nil {
				return nil, err
			}
		}
	}
})

var errAbsent = errors.New("../shared/data/jpeg2000, which is no part of the project, is absent")

func conformanceFiles(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := conformance()
	if errors.Is(err, errAbsent) {
		t.Skip("NOT TESTED: " + err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// limit is how far a component may be from its reference: the peak and the mean square of
// the differences.
type limit struct {
	component int
	reference string
	peak      int
	mse       float64
}

// stream is a codestream with the limits of its components.
type stream struct {
	name   string
	reduce int
	limits []limit
}

// withoutRows are streams that the table of limits leaves out and that have references: they
// are exact. Of the 257 components of p0_13 four have one.
var withoutRows = []stream{
	{"part1/p0_13.j2k", 0, exact(13, 4)},
	{"ht/ds0_ht_13_b11.j2k", 0, exact(13, 4)},
	{"ht/ds0_ht_02_b12.j2k", 0, exact(2, 1)},
}

func exact(n, components int) []limit {
	var list []limit
	for c := range components {
		list = append(list, limit{component: c, reference: fmt.Sprintf("references/c1p0_%02d-%d.pgx", n, c)})
	}
	return list
}

// streams returns the streams of a folder of the archive that have limits.
func streams(t testing.TB, folder string) []stream {
	t.Helper()
	files := conformanceFiles(t)
	f, err := os.Open("../../../shared/data/jpeg2000/limits.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*stream{}
	for _, row := range rows[1:] {
		if files[folder+"/"+row[0]] == nil {
			continue // among the largest streams, which the archive leaves out
		}
		s := byName[row[0]]
		if s == nil {
			s = &stream{name: folder + "/" + row[0], reduce: number(t, row[1])}
			byName[row[0]] = s
		}
		mse, err := strconv.ParseFloat(row[5], 64)
		if err != nil {
			t.Fatal(err)
		}
		s.limits = append(s.limits, limit{number(t, row[2]), "references/" + row[3], number(t, row[4]), mse})
	}
	for _, s := range withoutRows {
		if path.Dir(s.name) == folder {
			byName[s.name] = &s
		}
	}
	var list []stream
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, *byName[name])
	}
	return list
}

func number(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// plane are the samples of a component.
type plane struct {
	width, height int
	samples       []int32
}

// readPGX reads a component in the format of the references.
func readPGX(t testing.TB, data []byte) plane {
	t.Helper()
	head, body, _ := bytes.Cut(data, []byte("\n"))
	fields := strings.Fields(strings.NewReplacer("+", " + ", "-", " - ").Replace(string(head)))
	if len(fields) < 5 || fields[0] != "PG" || fields[1] != "ML" && fields[1] != "LM" {
		t.Fatalf("PGX header %q", head)
	}
	signed := fields[2] == "-"
	if signed || fields[2] == "+" {
		fields = slices.Delete(fields, 2, 3)
	}
	bits, p := number(t, fields[2]), plane{width: number(t, fields[3]), height: number(t, fields[4])}
	for i := range p.width * p.height {
		var v int
		switch {
		case bits <= 8 && signed:
			v = int(int8(body[i]))
		case bits <= 8:
			v = int(body[i])
		case fields[1] == "ML":
			v = int(body[2*i])<<8 | int(body[2*i+1])
		default:
			v = int(body[2*i+1])<<8 | int(body[2*i])
		}
		if bits > 8 && signed {
			v = int(int16(v))
		}
		p.samples = append(p.samples, int32(v))
	}
	return p
}

// components decodes a codestream to its components.
func components(data []byte, reduce int, p *pool.Pool) ([]plane, error) {
	s, err := codestream.Parse(data)
	if err != nil {
		return nil, err
	}
	return windows(s, reduce, p, whole(s, reduce))
}

// whole are the components as they are.
func whole(s *codestream.Stream, reduce int) []image.Rectangle {
	list := make([]image.Rectangle, len(s.Size.Components))
	for c := range list {
		list[c] = codestream.Reduce(s.Size.ComponentBounds(s.Size.Image, c), reduce)
	}
	return list
}

// windows decodes parts of the components.
func windows(s *codestream.Stream, reduce int, p *pool.Pool, parts []image.Rectangle) ([]plane, error) {
	planes := make([]plane, len(parts))
	for c, w := range parts {
		planes[c] = plane{w.Dx(), w.Dy(), make([]int32, w.Dx()*w.Dy())}
	}
	err := newDecoder(context.Background(), p, s, reduce, parts, func(c, x, y int, samples []int32) {
		copy(planes[c].samples[(y-parts[c].Min.Y)*planes[c].width+x-parts[c].Min.X:], samples)
	}).decode()
	return planes, err
}

// Every stream of the standard decodes to within its limits (15444-4, class 1 for Part 1).
func TestConformance(t *testing.T) {
	for _, folder := range []string{"part1", "ht"} {
		for _, s := range streams(t, folder) {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				files := conformanceFiles(t)
				got, err := components(files[s.name], s.reduce, pool.Of(1))
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range s.limits {
					want := readPGX(t, files[l.reference])
					g := got[l.component]
					if g.width != want.width || g.height != want.height {
						t.Errorf("component %d: %d x %d, want %d x %d", l.component, g.width, g.height, want.width, want.height)
						continue
					}
					peak, sum := 0, 0.0
					for i, v := range g.samples {
						d := int(v - want.samples[i])
						peak = max(peak, d, -d)
						sum += float64(d * d)
					}
					if mse := sum / float64(len(g.samples)); peak > l.peak || mse > l.mse {
						t.Errorf("component %d: peak %d and mean square %.4f, allowed are %d and %g", l.component, peak, mse, l.peak, l.mse)
					}
				}
			})
		}
	}
}

// A part of a stream at any resolution is that part of the whole.
func TestWindowsOfConformanceStreams(t *testing.T) {
	for _, folder := range []string{"part1", "ht"} {
		for _, s := range streams(t, folder) {
			data := conformanceFiles(t)[s.name]
			if len(data) > 40000 {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(1, uint64(len(data))))
				parsed, err := codestream.Parse(data)
				if err != nil {
					t.Fatal(err)
				}
				for reduce := range 3 {
					all, err := components(data, reduce, pool.Of(1))
					var unsupported *codec.UnsupportedError
					if errors.As(err, &unsupported) && reduce > 0 {
						continue // not so many levels
					}
					if err != nil {
						t.Fatal(err)
					}
					for range 3 {
						checkWindow(t, parsed, reduce, all, r)
					}
				}
			})
		}
	}
}

// checkWindow compares a random window, the same in components of equal size.
func checkWindow(t *testing.T, s *codestream.Stream, reduce int, all []plane, r *rand.Rand) {
	t.Helper()
	parts, bounds := whole(s, reduce), whole(s, reduce)
	for c, b := range bounds {
		if c > 0 && b == bounds[c-1] {
			parts[c] = parts[c-1]
			continue
		}
		if b.Empty() {
			continue
		}
		lo := image.Pt(b.Min.X+r.IntN(b.Dx()), b.Min.Y+r.IntN(b.Dy()))
		parts[c] = image.Rectangle{Min: lo, Max: lo.Add(image.Pt(1+r.IntN(b.Max.X-lo.X), 1+r.IntN(b.Max.Y-lo.Y)))}
	}
	got, err := windows(s, reduce, pool.Of(1), parts)
	if err != nil {
		t.Fatal(err)
	}
	for c, w := range parts {
		for y := w.Min.Y; y < w.Max.Y; y++ {
			from := (y-bounds[c].Min.Y)*all[c].width + w.Min.X - bounds[c].Min.X
			if !slices.Equal(got[c].samples[(y-w.Min.Y)*w.Dx():][:w.Dx()], all[c].samples[from:][:w.Dx()]) {
				t.Fatalf("1/%d: row %d of %v of component %d differs from the whole", 1<<reduce, y, w, c)
			}
		}
	}
}
