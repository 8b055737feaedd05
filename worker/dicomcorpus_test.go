package worker

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/jobs"
)

var updateDICOM = flag.Bool("update", false, "write testdata/dicom.txt, the outcome of each DICOM file")

// dicomCorpus are the files that pydicom carries for its own tests, by their names.
func dicomCorpus(t *testing.T) map[string][]byte {
	t.Helper()
	folders, _ := filepath.Glob("../.tools/pydicom/lib/python3*/site-packages/pydicom/data")
	stamps, _ := filepath.Glob("../.tools/pylibjpeg-openjpeg-*")
	if len(folders) == 0 || len(stamps) == 0 {
		if os.Getenv("PELMILL_TEST") == "require" {
			t.Fatal("PELMILL_TEST=require: pydicom with pylibjpeg-openjpeg is not installed; make services does it")
		}
		t.Skip("NOT TESTED: pydicom with pylibjpeg-openjpeg is not installed; make services does it")
	}
	files := map[string][]byte{}
	for _, pattern := range []string{"test_files/*", "charset_files/*"} {
		names, _ := filepath.Glob(filepath.Join(folders[0], pattern))
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				continue // a folder
			}
			if dicom.Is(data) || dicom.Bare(data) {
				files[filepath.Base(name)] = data
			}
		}
	}
	return files
}

// Every file of pydicom's own tests has the outcome that is written down, in both transfer syntaxes; copies are the same
// bytes, and pydicom, which shares nothing with us, finds in every result and in every native file made of that the elements
// and the samples of the source.
func TestDICOMCorpus(t *testing.T) {
	files := dicomCorpus(t)
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var pairs, results []string
	pair := func(source, result string) {
		pairs, results = append(pairs, source+"\t"+result), append(results, result)
	}
	var outcomes bytes.Buffer
	for _, syntax := range []string{"j2k", "htj2k"} {
		j := newJob(t, "mem://source", "mem://target", jpeg2000.Codec{}, func(s *jobs.Spec) {
			o, err := jpeg2000.Codec{}.Options([]string{"syntax=" + syntax})
			if err != nil {
				t.Fatal(err)
			}
			s.Options, s.Others, s.ChunkObjects = o.String(), "copy", len(files)
		})
		for key, data := range files {
			j.put(key, data)
		}
		j.plan()
		j.compress(jpeg2000.Codec{})
		records := j.results()
		if len(records) != len(files) {
			t.Fatalf("%d records of %d files", len(records), len(files))
		}
		for _, key := range sortedKeys(records) {
			r := records[key]
			fmt.Fprintln(&outcomes, strings.TrimSpace(fmt.Sprintf("%-5s %-12s %s %s", syntax, r.Outcome, key, strings.TrimPrefix(r.Error, "imageio: "))))
			switch got, err := j.target.ReadAll(j.ctx, key); {
			case r.Outcome == jobs.OutcomeKept:
			case err != nil:
				t.Errorf("%s: %s: %v", syntax, key, err)
			case r.Outcome == jobs.OutcomeCompressed:
				pair(write("source "+key, files[key]), write(syntax+" "+key, got))
			case !bytes.Equal(got, files[key]):
				t.Errorf("%s: %s: the copy is another file", syntax, key)
			}
		}
		back := j.open("mem://back" + syntax)
		origin := func(key string) (Origin, bool) {
			r, ok := records[key]
			return Origin{Key: r.Key, Format: r.SourceFormat, Copy: r.Outcome != jobs.OutcomeCompressed, DICOM: r.Exact == exactDICOM}, ok
		}
		counts, err := Decompress(j.ctx, j.target, back, &DecompressOptions{Origin: origin, Format: formatSource})
		if err != nil || counts.Bad() != 0 || counts.Unsupported != 0 {
			t.Errorf("%s: decompress: %+v, %v", syntax, counts, err)
		}
		for key, r := range records {
			if r.Outcome != jobs.OutcomeCompressed || syntax == "htj2k" {
				continue // the native file of either is the same but for what names it
			}
			got, err := back.ReadAll(j.ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			pair(write("source "+key, files[key]), write("native "+key, got))
		}
		if err := j.target.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := os.ReadFile("testdata/dicom.txt")
	if *updateDICOM {
		if err := os.WriteFile("testdata/dicom.txt", outcomes.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(want, outcomes.Bytes()) {
		t.Errorf("the outcomes are not those of testdata/dicom.txt, which -update writes:\n%s", outcomes.Bytes())
	}
	// Two pairs that are not the same, by which the comparison is tried itself.
	damaged := mr(20, 20).file()
	pair(write("whole", mr(20, 20).file()), write("value", bytes.Replace(damaged, []byte("MARKED"), []byte("MARKEE"), 1)))
	damaged[len(damaged)-1] ^= 1
	pair(write("whole", mr(20, 20).file()), write("sample", damaged))
	compared := comparedByPydicom(t, pairs)
	n := len(pairs) - 2
	if compared[n] != "bytes of 00100010" || compared[n+1] != "pixels" {
		t.Errorf("what differs is %q", compared[n:])
	}
	samples := 0
	for i, line := range compared[:n] {
		if !strings.HasPrefix(line, "same") {
			t.Errorf("%s: %s", results[i], line)
		}
		if line == "same" {
			samples++
		}
	}
	if samples < 60 {
		t.Errorf("the samples of only %d of %d files were compared", samples, n)
	}
	dumped(t, results[:n])
	t.Run("Orthanc", func(t *testing.T) { storedByOrthanc(t, pairs[:n]) })
}

func sortedKeys(records map[string]jobs.Result) []string {
	var keys []string
	for key := range records {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// comparedByPydicom is what testdata/dicom.py says of each pair.
func comparedByPydicom(t *testing.T, pairs []string) []string {
	t.Helper()
	cmd := exec.Command("../.tools/pydicom/bin/python", "testdata/dicom.py")
	cmd.Stdin = strings.NewReader(strings.Join(pairs, "\n") + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != len(pairs) {
		t.Fatalf("%d answers for %d pairs: %v\n%s", len(lines), len(pairs), err, stderr.Bytes())
	}
	return lines
}

// dumped lets dcmtk read every file.
func dumped(t *testing.T, files []string) {
	t.Helper()
	if _, err := exec.LookPath("dcmdump"); err != nil {
		if os.Getenv("PELMILL_TEST") == "require" {
			t.Fatal("PELMILL_TEST=require: dcmdump is not installed; make services does it")
		}
		t.Log("NOT TESTED: dcmdump is not installed; make services does it")
		return
	}
	cmd := exec.Command("dcmdump", append([]string{"-q"}, files...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil || bytes.Contains(stderr.Bytes(), []byte("E: ")) {
		t.Errorf("dcmdump: %v\n%s", err, stderr.Bytes())
	}
}
