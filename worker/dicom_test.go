package worker

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/codecs/pcwt"
	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// instance is what tests vary of a native DICOM file in Explicit VR Little Endian.
type instance struct {
	rows, columns, samples, frames int
	allocated, stored              int
	signed                         int
	photometric                    string
	pix                            []byte
}

// mr is an instance with slopes and little noise.
func mr(width, height int) instance {
	r := rand.New(rand.NewPCG(1, 2))
	var pix []byte
	for y := range height {
		for x := range width {
			pix = binary.LittleEndian.AppendUint16(pix, uint16(x*3+y*2+r.IntN(8)-100))
		}
	}
	return instance{rows: height, columns: width, samples: 1, frames: 1, allocated: 16, stored: 16, signed: 1, photometric: "MONOCHROME2", pix: pix}
}

func (i instance) file() []byte {
	var b []byte
	add := func(tag uint32, vr string, value []byte) {
		if len(value)%2 == 1 {
			value = append(value, ' ')
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(tag>>16))
		b = binary.LittleEndian.AppendUint16(b, uint16(tag))
		b = append(b, vr...)
		if vr == "OW" || vr == "OB" {
			b = binary.LittleEndian.AppendUint32(append(b, 0, 0), uint32(len(value)))
		} else {
			b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
		}
		b = append(b, value...)
	}
	us := func(tag uint32, v int) { add(tag, "US", binary.LittleEndian.AppendUint16(nil, uint16(v))) }
	b = append(make([]byte, 128), "DICM"...)
	add(0x00020002, "UI", []byte("1.2.840.10008.5.1.4.1.1.4\x00"))
	add(0x00020003, "UI", []byte("1.2.3.4\x00"))
	add(0x00020010, "UI", []byte(dicom.ExplicitLittle+"\x00"))
	add(0x00080016, "UI", []byte("1.2.840.10008.5.1.4.1.1.4\x00"))
	add(0x00080018, "UI", []byte("1.2.3.4\x00"))
	add(0x00100010, "PN", []byte("MARKED^PATIENT"))
	us(0x00280002, i.samples)
	add(0x00280004, "CS", []byte(i.photometric))
	if i.samples > 1 {
		us(0x00280006, 0)
	}
	if i.frames > 1 {
		add(0x00280008, "IS", fmt.Append(nil, i.frames))
	}
	us(0x00280010, i.rows)
	us(0x00280011, i.columns)
	us(0x00280100, i.allocated)
	us(0x00280101, i.stored)
	us(0x00280102, i.stored-1)
	us(0x00280103, i.signed)
	if i.pix != nil {
		add(0x7fe00010, "OW", i.pix)
	}
	return b
}

// Every kind of DICOM file has its outcome, under the source's own key and whatever its name is, and proof that
// cannot be switched off; the target is proved again, and its native files come back.
func TestDICOM(t *testing.T) {
	colour := instance{rows: 40, columns: 50, samples: 3, frames: 1, allocated: 8, stored: 8, photometric: "RGB", pix: photo(1, 50, 40, 3).Pix}
	luma := colour
	luma.photometric, luma.frames, luma.pix = "YBR_FULL", 2, append(photo(1, 50, 40, 3).Pix, photo(2, 50, 40, 3).Pix...)
	padding := mr(20, 30)
	padding.signed, padding.stored = 0, 12
	noise := mr(64, 64)
	for i := range noise.pix {
		noise.pix[i] = byte(rand.New(rand.NewPCG(uint64(i), 1)).Uint32())
	}
	bytesOf12 := mr(33, 17)
	bytesOf12.stored = 12
	tiff := mr(80, 90).file()
	copy(tiff, "II*\x00\x08\x00\x00\x00")
	missing := mr(20, 30)
	missing.pix = nil
	sources := map[string][]byte{
		"mr.dcm": mr(130, 100).file(), "colour": colour.file(), "luma.bin": luma.file(), "twelve.png": bytesOf12.file(), "tiff.dcm": tiff,
		"tiny.dcm": instance{rows: 3, columns: 3, samples: 3, frames: 1, allocated: 8, stored: 8, photometric: "RGB", pix: make([]byte, 27)}.file(),
		"noise":    noise.file(), "padding": padding.file(), "cut.dcm": mr(20, 30).file()[:700], "missing.dcm": missing.file(),
	}
	want := map[string]jobs.Outcome{
		"mr.dcm": jobs.OutcomeCompressed, "colour": jobs.OutcomeCompressed, "luma.bin": jobs.OutcomeCompressed, "twelve.png": jobs.OutcomeCompressed, "tiff.dcm": jobs.OutcomeCompressed,
		"tiny.dcm": jobs.OutcomeKept, "noise": jobs.OutcomeKept, "padding": jobs.OutcomeUnsupported, "cut.dcm": jobs.OutcomeRejected, "missing.dcm": jobs.OutcomeRejected,
	}
	for _, syntax := range []struct{ option, uid string }{{"syntax=j2k", dicom.JPEG2000}, {"syntax=htj2k", dicom.HTJ2KRPCL}, {"mode=ht", dicom.HTJ2KRPCL}} {
		j := newJob(t, "mem://source", "mem://target", jpeg2000.Codec{}, func(s *jobs.Spec) {
			o, err := jpeg2000.Codec{}.Options([]string{syntax.option})
			if err != nil {
				t.Fatal(err)
			}
			s.Options, s.Verify, s.Others = o.String(), "off", "copy"
		})
		for key, data := range sources {
			j.put(key, data)
		}
		j.plan()
		j.compress(jpeg2000.Codec{})
		for key, r := range j.results() {
			if r.Outcome != want[key] {
				t.Errorf("%s: %s: %s %s, want %s", syntax.option, key, r.Outcome, r.Error, want[key])
				continue
			}
			if strings.Contains(fmt.Sprintf("%+v", r), "MARKED") {
				t.Errorf("%s: a value is in the record", key)
			}
			if sum := sumOf(sources[key]); r.SHA256 != sum {
				t.Errorf("%s: SHA-256 %q of the source, want %s", key, r.SHA256, sum)
			}
			if r.Outcome != jobs.OutcomeCompressed {
				if r.Target != "" {
					if got, err := j.target.ReadAll(j.ctx, key); err != nil || !bytes.Equal(got, sources[key]) {
						t.Errorf("%s: the copy is another file: %v", key, err)
					}
				} else if r.Outcome != jobs.OutcomeKept {
					t.Errorf("%s: it is not copied", key)
				}
				continue
			}
			if r.Target != key || r.Verified != "full" || r.Exact != "dicom" || r.DecodedHash != r.PixelHash || r.Facts[factSyntax] != syntax.uid || len(r.Facts[factSamples]) != 64 || !slices.Contains(r.Changed, "(7FE0,0010)") {
				t.Errorf("%s: %+v", key, r)
			}
			file, err := j.target.ReadAll(j.ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			if m, err := dicom.ReadMeta(file); err != nil || m.Syntax != syntax.uid {
				t.Errorf("%s: %+v, %v", key, m, err)
			}
			if changed := slices.Contains(r.Changed, "(0028,0004)"); changed != (key == "colour") {
				t.Errorf("%s: changed are %v", key, r.Changed)
			}
		}
		report, err := VerifyTarget(j.ctx, j.target, j.each, nil)
		if err != nil || report.Bad() != 0 || report.Good < 5 {
			t.Errorf("verify: %+v, %v", report, err)
		}
		records := j.results()
		origin := func(key string) (Origin, bool) {
			r, ok := records[key]
			return Origin{Key: r.Key, Format: r.SourceFormat, Copy: r.Outcome != jobs.OutcomeCompressed, DICOM: r.Exact == exactDICOM}, ok
		}
		back := j.open("mem://back" + syntax.option[:4])
		counts, err := Decompress(j.ctx, j.target, back, &DecompressOptions{Origin: origin, Overwrite: true})
		if err != nil || counts.Compressed < 5 || counts.Bad() != 0 {
			t.Errorf("decompress: %+v, %v", counts, err)
		}
		for key, r := range records {
			if r.Outcome != jobs.OutcomeCompressed {
				continue
			}
			got, err := back.ReadAll(j.ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			a, b := dataSet(t, sources[key]), dataSet(t, got)
			a = bytes.Replace(a, []byte("\xe0\x7f\x10\x00OW"), []byte("\xe0\x7f\x10\x00O?"), 1)
			b = bytes.Replace(bytes.Replace(b, []byte("\xe0\x7f\x10\x00OW"), []byte("\xe0\x7f\x10\x00O?"), 1), []byte("\xe0\x7f\x10\x00OB"), []byte("\xe0\x7f\x10\x00O?"), 1)
			if !bytes.Equal(a, b) {
				t.Errorf("%s: the native file has another data set than the source", key)
			}
		}
		if err := j.target.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// dataSet is a file without preamble and file meta information.
func dataSet(t *testing.T, file []byte) []byte {
	m, err := dicom.ReadMeta(file)
	if err != nil {
		t.Fatal(err)
	}
	return file[m.End:]
}

// A result that differs from its source in a byte is never stored, nor is one whose frames decode to others.
func TestDICOMProof(t *testing.T) {
	for name, damage := range map[string]func(o *object){
		"a byte of the data set": func(o *object) { o.file[bytes.Index(o.file, []byte("MARKED"))]++ },
		"a byte of a codestream": func(o *object) { o.file[len(o.file)-100] ^= 0x40 },
		"a frame of another file": func(o *object) {
			o.image.Pix[0]++
		},
	} {
		k := &jobContext{codec: jpeg2000.Codec{}, info: jpeg2000.Codec{}.Info()}
		var err error
		if k.options, err = k.codec.Options(nil); err != nil {
			t.Fatal(err)
		}
		c := &chunk{jobContext: k, w: &Worker{pipeline: &pipeline{cpu: 1}}}
		o := &object{by: k, data: mr(60, 60).file()}
		if o.held, err = newBudget(1<<30, forCPU, 1).take(t.Context(), int64(len(o.data)), false); err != nil {
			t.Fatal(err)
		}
		if err := c.headerDICOM(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if err := o.readDICOM(); err != nil {
			t.Fatal(err)
		}
		if others := k.encodeDICOM(t.Context(), codec.Run{}, []*object{o}); len(others) != 0 || o.failure != nil {
			t.Fatal(o.failure)
		}
		if err := k.verifyDICOM(t.Context(), codec.Run{}, o); err != nil {
			t.Fatalf("before the damage: %v", err)
		}
		o.image.Pix = bytes.Clone(o.image.Pix)
		damage(o)
		if err := k.verifyDICOM(t.Context(), codec.Run{}, o); err == nil {
			t.Errorf("%s is another one, and the proof holds", name)
		}
	}
}

// Codecs that DICOM has no transfer syntax for, and losses, leave DICOM files alone.
func TestDICOMWithOtherCodecs(t *testing.T) {
	for _, c := range []struct {
		codec  codec.Codec
		option []string
		want   string
	}{{pcwt.Codec{}, nil, "--codec jpeg2000"}, {jpeg2000.Codec{}, []string{"quality=50"}, "without loss"}} {
		j := newJob(t, "mem://source", "mem://target", c.codec, func(s *jobs.Spec) {
			o, err := c.codec.Options(c.option)
			if err != nil {
				t.Fatal(err)
			}
			s.Options = o.String()
		})
		j.put("a.dcm", mr(20, 20).file())
		j.plan()
		j.compress(c.codec)
		if r := j.results()["a.dcm"]; r.Outcome != jobs.OutcomeUnsupported || !strings.Contains(r.Error, c.want) {
			t.Errorf("%+v, want %q", r, c.want)
		}
	}
}

// Files of the test data keep everything, in both transfer syntaxes.
func TestDICOMTestData(t *testing.T) {
	names, _ := filepath.Glob("../../shared/data/dicom/*.dcm")
	if len(names) == 0 {
		t.Skip("NOT TESTED: ../shared/data/dicom, which is no part of the project, is absent")
	}
	if testing.Short() {
		names = names[:4]
	}
	// 2 of them grow with High Throughput; OT-PAL-8-face has no preamble.
	for syntax, kept := range map[string][]string{"j2k": nil, "htj2k": {"693_J2KR.dcm", "RG3_J2KR.dcm"}} {
		j := newJob(t, "mem://source", "mem://target", jpeg2000.Codec{}, func(s *jobs.Spec) {
			o, _ := jpeg2000.Codec{}.Options([]string{"syntax=" + syntax})
			s.Options = o.String()
		})
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := storage.Put(j.ctx, j.source, filepath.Base(name), data, &storage.PutOptions{Overwrite: true}); err != nil {
				t.Fatal(err)
			}
		}
		j.plan()
		j.compress(jpeg2000.Codec{})
		for key, r := range j.results() {
			want := jobs.OutcomeCompressed
			if slices.Contains(kept, key) {
				want = jobs.OutcomeKept
			} else if key == "OT-PAL-8-face.dcm" {
				want = jobs.OutcomeUnsupported
			}
			if r.Outcome != want {
				t.Errorf("%s: %s: %s %s, want %s", syntax, key, r.Outcome, r.Error, want)
			}
		}
	}
}
