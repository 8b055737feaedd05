// Package peer runs decoders that others wrote, for tests that compare every sample.
// They are Python packages in the folder .tools: pydicom with its plugins, and
// imagecodecs.
package peer

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed decode.py
var script string

// Decode gives each stream to a decoder, which runs once, and returns the samples as
// it gives them; nil for a stream that it refuses. Decoders, each with the folder of
// .tools that has it:
//
//	libjpeg        of the University of Stuttgart: all of JPEG and JPEG-LS (pydicom)
//	charls         JPEG-LS (pydicom)
//	pydicom-rle    pydicom's own; streams begin with rows, columns, samples per pixel and
//	               bits allocated, four bytes each, big-endian (pydicom)
//	pylibjpeg-rle  the same in Rust (pydicom)
//	ljpeg, jpegsof3, jpegls  of imagecodecs
//
// Where the folder is missing the test is skipped, or fails if PELMILL_TEST=require.
func Decode(t testing.TB, decoder string, streams [][]byte) [][]byte {
	t.Helper()
	folder := "pydicom"
	switch decoder {
	case "ljpeg", "jpegsof3", "jpegls":
		folder = "imagecodecs"
	}
	python := python(t, folder)
	var in, stderr bytes.Buffer
	for _, s := range streams {
		in.Write(binary.BigEndian.AppendUint32(nil, uint32(len(s))))
		in.Write(s)
	}
	cmd := exec.Command(python, "-c", script, decoder)
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", decoder, err, stderr.Bytes())
	}
	if stderr.Len() > 0 {
		t.Logf("%s says:\n%s", decoder, stderr.Bytes())
	}
	var all [][]byte
	for len(out) >= 4 {
		n := binary.BigEndian.Uint32(out)
		out = out[4:]
		if n == 1<<32-1 {
			all = append(all, nil)
			continue
		}
		all = append(all, out[:n:n])
		out = out[n:]
	}
	if len(all) != len(streams) {
		t.Fatalf("%s answered %d of %d streams", decoder, len(all), len(streams))
	}
	return all
}

// python finds the interpreter of a folder of .tools at the root of the tree.
func python(t testing.TB, folder string) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			t.Fatal("the test does not run in the tree")
		}
	}
	path := filepath.Join(root, ".tools", folder, "bin", "python")
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("PELMILL_TEST") == "require" {
			t.Fatalf("PELMILL_TEST=require: %s is not installed; make services does it", folder)
		}
		t.Skipf("NOT TESTED: %s is not installed; make services does it", folder)
	}
	return path
}
