package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"
)

// The drawing is XML, has every curve, and is the same each time.
func TestDraw(t *testing.T) {
	curves := []*curve{{name: "a", colour: "#000", psnr: []float64{28, 31, 35, 40}}, {name: "b", colour: "#f00", psnr: []float64{27, 30, 34, 39}}}
	data := draw(curves, 2)
	if !bytes.Equal(data, draw(curves, 2)) {
		t.Error("two drawings differ")
	}
	circles := 0
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
			circles++
		}
	}
	if circles != len(curves)*len(rates) {
		t.Errorf("%d points, want %d", circles, len(curves)*len(rates))
	}
}
