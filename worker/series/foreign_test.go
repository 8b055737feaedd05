package series

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPydicomFiles takes each folder of pydicom's test files for a series. Every file comes
// back bit by bit; what pydicom reads of those that came back is what it reads of the files.
func TestPydicomFiles(t *testing.T) {
	python, err := filepath.Abs("../../.tools/pydicom/bin/python")
	if err == nil {
		_, err = os.Stat(python)
	}
	if err != nil {
		if os.Getenv("PELMILL_TEST") == "require" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: pydicom is not installed: make services installs it")
	}
	found, err := filepath.Glob("../../.tools/pydicom/lib/python3*/site-packages/pydicom/data/test_files")
	if err != nil || len(found) != 1 {
		t.Fatalf("test files of pydicom: %v, %v", found, err)
	}
	folders := map[string][]Instance{}
	err = filepath.WalkDir(found[0], func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) == ".txt" {
			return err
		}
		data, err := os.ReadFile(name)
		dir := filepath.Dir(name)
		folders[dir] = append(folders[dir], Instance{Key: name, Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	images, back := 0, t.TempDir()
	var list strings.Builder
	for _, files := range folders {
		p, object := bothWays(t, files)
		o, err := Open(object)
		if err != nil {
			t.Fatal(err)
		}
		images += p.Images
		decoded := decodeAll(t, o)
		for i, f := range o.Files {
			if f.Pixels == nil {
				continue // kept whole
			}
			file, err := o.Restore(i, decoded)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(back, fmt.Sprint(list.Len()))
			if err := os.WriteFile(name, file, 0o600); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&list, "%s\t%s\n", f.Key, name)
		}
	}
	if images < 40 {
		t.Errorf("%d images in %d folders", images, len(folders))
	}
	cmd := exec.Command(python, "-c", `
import sys, warnings, logging
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
import pydicom
from pydicom.pixels import pixel_array
same = 0
for line in sys.stdin:
    a, b = line.rstrip("\n").split("\t")
    try:
        want = pixel_array(a, raw=True)
    except Exception:
        continue
    got = pixel_array(b, raw=True)
    if want.shape != got.shape or (want != got).any() or pydicom.dcmread(a).to_json() != pydicom.dcmread(b).to_json():
        sys.exit("another image: " + a)
    same += 1
print(same)
`)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(list.String()), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	same := 0
	if _, err := fmt.Sscan(string(out), &same); err != nil || same < 40 {
		t.Errorf("pydicom compared %q images", out)
	}
	t.Logf("%d images, of which pydicom read %d", images, same)
}
