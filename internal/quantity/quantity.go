// Package quantity renders numbers for people: counts with their thousands separated,
// bytes in binary units, durations and shares. The command line, the report and the status
// page show one number in one way.
package quantity

import (
	"fmt"
	"math"
	"strconv"
)

// Bytes renders a number of bytes, such as "12.5 MiB".
func Bytes(n int64) string {
	v, units := float64(n), "KMGTP"
	if n < 1024 && n > -1024 {
		return fmt.Sprintf("%d B", n)
	}
	i := -1
	for (v >= 1024 || v <= -1024) && i < len(units)-1 {
		v /= 1024
		i++
	}
	if v < 10 && v > -10 {
		return fmt.Sprintf("%.2f %ciB", v, units[i])
	}
	if v < 100 && v > -100 {
		return fmt.Sprintf("%.1f %ciB", v, units[i])
	}
	return fmt.Sprintf("%.0f %ciB", v, units[i])
}

// Count renders a count with its thousands separated.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Seconds renders a duration in seconds, such as "3 min 05 s".
func Seconds(s float64) string {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0) || s < 0:
		return "?"
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	case s < 2*3600:
		return fmt.Sprintf("%d min %02d s", int(s)/60, int(s)%60)
	case s < 48*3600:
		return fmt.Sprintf("%d h %02d min", int(s)/3600, int(s)/60%60)
	}
	return fmt.Sprintf("%.1f days", s/86400)
}

// Plural renders "1 object", "2 objects".
func Plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Percent renders a share of 1.
func Percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
