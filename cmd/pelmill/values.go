package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/internal/quantity"
	"github.com/pelmill/pelmill/raster"
)

// size is a flag's value in bytes: "64", "64K", "1.5G". Units are powers of
// 1,024 and may be written K, KB or KiB.
type size int64

func (s *size) Type() string { return "SIZE" }

func (s *size) String() string {
	v := int64(*s)
	for i, unit := range []string{"T", "G", "M", "K"} {
		if n := int64(1) << (10 * (4 - i)); v != 0 && v%n == 0 {
			return strconv.FormatInt(v/n, 10) + unit
		}
	}
	return strconv.FormatInt(v, 10)
}

func (s *size) Set(text string) error {
	number := strings.ToUpper(strings.TrimSpace(text))
	number = strings.TrimSuffix(number, "B")
	number = strings.TrimSuffix(number, "I")
	var shift int
	if n := len(number); n > 0 {
		if i := strings.IndexByte("KMGT", number[n-1]); i >= 0 {
			shift = 10 * (i + 1)
			number = number[:n-1]
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	v *= float64(int64(1) << shift)
	if err != nil || math.IsNaN(v) || v < 0 || v >= 1<<62 || strings.ContainsAny(number, "XPEN_+") {
		return fmt.Errorf("want bytes such as 500, 64K, 1.5M or 2G")
	}
	*s = size(v)
	return nil
}

// decibels is a flag's value of PSNR, with a default that depends on other flags.
type decibels struct {
	value float64
	given bool
}

func (d *decibels) Type() string { return "DB" }

func (d *decibels) String() string {
	if !d.given {
		return ""
	}
	return strconv.FormatFloat(d.value, 'g', -1, 64)
}

func (d *decibels) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > raster.Identical {
		return fmt.Errorf("want decibels from 0 to %v", raster.Identical)
	}
	d.value, d.given = v, true
	return nil
}

// floorsText lists the floors that codecs have by default.
func floorsText() string {
	var list []string
	for _, c := range codecs.All() {
		if info := c.Info(); info.Lossless {
			list = append(list, fmt.Sprintf("%s %v where its options are lossy", info.Name, info.Floor))
		} else {
			list = append(list, fmt.Sprintf("%s %v", info.Name, info.Floor))
		}
	}
	return strings.Join(list, ", ")
}

// bytesText renders a number of bytes for people.
func bytesText(n int64) string { return quantity.Bytes(n) }

// countText renders a count with thousands separated.
func countText(n int64) string { return quantity.Count(n) }

// secondsText renders a duration in seconds for people.
func secondsText(s float64) string { return quantity.Seconds(s) }

// plural renders "1 object", "2 objects".
func plural(n int64, noun string) string { return quantity.Plural(n, noun) }

// percent renders a share of 1.
func percent(share float64) string { return quantity.Percent(share) }
