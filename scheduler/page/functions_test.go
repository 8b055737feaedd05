package page

import (
	"strings"
	"testing"

	"github.com/pelmill/pelmill/scheduler/api"
)

// The saving over time is drawn as far as it is known: at the bottom where results are larger than their sources.
func TestSavings(t *testing.T) {
	at := func(seconds float64, in, out int64) api.TimelinePoint {
		return api.TimelinePoint{Seconds: seconds, In: in, Out: out}
	}
	for _, c := range []struct {
		name   string
		points []api.TimelinePoint
		line   string // empty: nothing is drawn
		last   string
	}{
		{"nothing", nil, "", ""},
		{"no results yet", []api.TimelinePoint{at(0, 0, 0), at(5, 0, 0)}, "", ""},
		{"half", []api.TimelinePoint{at(0, 0, 0), at(5, 100, 50), at(10, 200, 50)}, "M320.0 59.0H640.0V38.5", "75.0 % saved"},
		{"larger", []api.TimelinePoint{at(4, 100, 150)}, "M640.0 100.0", "-50.0 % saved"},
	} {
		got := string(savings(c.points))
		if c.line == "" {
			if got != "" {
				t.Errorf("%s: %s", c.name, got)
			}
			continue
		}
		if !strings.Contains(got, `d="`+c.line+`"`) || !strings.Contains(got, c.last) {
			t.Errorf("%s: %s, want %s and %s", c.name, got, c.line, c.last)
		}
	}
}
