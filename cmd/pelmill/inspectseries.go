package main

import (
	"fmt"
	"strconv"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/worker/series"
)

// describeSeries says what an object of a DICOM series holds; the keys of its files only
// with values, because they may name patients.
func describeSeries(c codec.Codec, data []byte, values bool) (fields []codec.Field) {
	o, err := series.Open(data)
	if err != nil {
		return []codec.Field{{Name: "series", Value: "damaged"}}
	}
	whole, bytes := 0, int64(0)
	for _, f := range o.Files {
		bytes += f.Size
		if f.Pixels == nil {
			whole++
		}
	}
	fields = append(fields,
		codec.Field{Name: "series files", Value: fmt.Sprintf("%d of %s", len(o.Files), bytesText(bytes))},
		codec.Field{Name: "series files kept whole", Value: strconv.Itoa(whole)})
	for i, stream := range o.Codestreams {
		what := "damaged"
		if h, err := c.Header(stream); err == nil {
			what = fmt.Sprintf("%s, %s", h.Shape, bytesText(int64(len(stream))))
		}
		fields = append(fields, codec.Field{Name: fmt.Sprintf("series image %d", i), Value: what})
	}
	if !values {
		return fields
	}
	for i, f := range o.Files {
		where := "kept whole"
		if p := f.Pixels; p != nil {
			where = fmt.Sprintf("image %d, slice %d", p.Image, p.Slice)
		}
		fields = append(fields, codec.Field{Name: fmt.Sprintf("series file %d", i), Value: fmt.Sprintf("%s, %d bytes, %s, SHA-256 %s", f.Key, f.Size, where, f.SHA256)})
	}
	return fields
}
