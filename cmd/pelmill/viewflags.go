package main

import (
	"fmt"
	"image"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/codecs/codec"
)

// viewFlags are the flags that ask for a part of pictures.
type viewFlags struct {
	reduce int
	region region
}

func (v *viewFlags) register(flags *pflag.FlagSet) {
	flags.IntVar(&v.reduce, "reduce", 0, "decode at 1/2^`K` of width and height, from files that hold several resolutions")
	flags.Var(&v.region, "region", "decode only this part, `X,Y,W,H` in samples of the whole picture")
}

func (v *viewFlags) view() (codec.View, error) {
	if v.reduce < 0 || v.reduce > 32 {
		return codec.View{}, usagef("--reduce %d: want 0 to 32", v.reduce)
	}
	return codec.View{Reduce: v.reduce, Region: image.Rectangle(v.region)}, nil
}

// region is a rectangle as a flag, X,Y,W,H.
type region image.Rectangle

func (r *region) Type() string { return "region" }

func (r *region) String() string {
	b := image.Rectangle(*r)
	if b == (image.Rectangle{}) {
		return ""
	}
	return fmt.Sprintf("%d,%d,%d,%d", b.Min.X, b.Min.Y, b.Dx(), b.Dy())
}

func (r *region) Set(text string) error {
	fields := strings.Split(text, ",")
	var n [4]int
	if len(fields) != len(n) {
		return fmt.Errorf("want X,Y,W,H: four whole numbers")
	}
	for i, f := range fields {
		v, err := strconv.ParseInt(strings.TrimSpace(f), 10, 31)
		if err != nil || v < 0 || i >= 2 && v == 0 {
			return fmt.Errorf("want X,Y,W,H: four whole numbers, X and Y from 0, W and H from 1")
		}
		n[i] = int(v)
	}
	*r = region(image.Rect(n[0], n[1], n[0]+n[2], n[1]+n[3]))
	return nil
}
