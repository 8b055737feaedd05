package page

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/internal/quantity"
	"github.com/pelmill/pelmill/scheduler/api"
)

// functions are those of the templates.
var functions = template.FuncMap{
	"bytes": func(n any) string {
		switch n := n.(type) {
		case int64:
			return quantity.Bytes(n)
		case float64:
			return quantity.Bytes(int64(n))
		}
		return ""
	},
	"count":   quantity.Count,
	"seconds": quantity.Seconds,
	"percent": quantity.Percent,
	"plural":  func(n int, noun string) string { return quantity.Plural(int64(n), noun) },
	"rate":    func(v float64) string { return fmt.Sprintf("%.1f/s", v) },
	"money":   func(v float64) string { return fmt.Sprintf("%.2f", v) },
	"line":    plain.Line,
	"short":   func(n int, s string) string { return plain.Shorten(plain.Line(s), n) },
	"time": func(t any) string {
		switch t := t.(type) {
		case time.Time:
			if !t.IsZero() {
				return t.UTC().Format("2006-01-02 15:04:05 UTC")
			}
		case *time.Time:
			if t != nil {
				return t.UTC().Format("2006-01-02 15:04:05 UTC")
			}
		}
		return "–"
	},
	"progress": progress,
	"query": func(pairs ...string) template.URL {
		v := url.Values{}
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i+1] != "" {
				v.Set(pairs[i], pairs[i+1])
			}
		}
		return template.URL(v.Encode()) // escaped already
	},
	"level":   level,
	"ref":     func(j api.Job) *api.Job { return &j },
	"course":  course,
	"savings": savings,
	"list":    func(items ...any) []any { return items },
	"has":     func(list []string, s string) bool { return slices.Contains(list, s) },
}

// level is how a state is coloured, beside its name.
func level(state string) string {
	switch state {
	case "done":
		return "good"
	case "failed", "unknown", "refused":
		return "bad"
	case "paused", "pausing", "interrupted", "cancelled", "cancelling":
		return "attention"
	}
	return "plain"
}

const (
	courseWidth  = 640
	courseHeight = 120
	courseTop    = 18
	courseBottom = 100
	mostSteps    = 120 // of a course
)

// course draws the rate of a job over its time of work; it is empty where there is nothing to
// draw.
func course(points []api.TimelinePoint) template.HTML {
	each := len(points)/mostSteps + 1
	type step struct{ from, to, rate float64 }
	var steps []step
	var highest float64
	last := api.TimelinePoint{}
	for i, p := range points {
		if (i+1)%each != 0 && i != len(points)-1 || p.Seconds <= last.Seconds {
			continue
		}
		s := step{last.Seconds, p.Seconds, float64(p.Objects-last.Objects) / (p.Seconds - last.Seconds)}
		steps, highest, last = append(steps, s), max(highest, s.rate), p
	}
	if len(steps) == 0 || highest <= 0 {
		return ""
	}
	most := fmt.Sprintf("%.1f objects/s", highest)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg viewBox="0 0 %d %d" role="img" aria-label="Objects a second over %s of work, at most %s">`, courseWidth, courseHeight, quantity.Seconds(last.Seconds), most)
	fmt.Fprintf(&out, `<path class="axis" d="M0 %d.5H%d"/><path class="area" d="M0 %d`, courseBottom, courseWidth, courseBottom)
	for _, s := range steps {
		fmt.Fprintf(&out, "V%.1fH%.1f", courseBottom-(courseBottom-courseTop)*max(0, s.rate)/highest, courseWidth*s.to/last.Seconds)
	}
	fmt.Fprintf(&out, `V%dZ"/><text x="0" y="%d">%s</text><text x="0" y="%d">0</text><text x="%d" y="%d" text-anchor="end">%s of work</text></svg>`,
		courseBottom, courseTop-6, most, courseHeight-4, courseWidth, courseHeight-4, quantity.Seconds(last.Seconds))
	return template.HTML(out.String())
}

// savings draws the share of the source bytes that the results of a job have saved, over its time of work; it is empty where
// there is nothing to draw. Results that are larger than their sources are drawn at the bottom.
func savings(points []api.TimelinePoint) template.HTML {
	var line strings.Builder
	var last, now float64
	end := 0.0
	for _, p := range points {
		end = max(end, p.Seconds)
	}
	for _, p := range points {
		if p.In <= 0 || end <= 0 {
			continue
		}
		now = 1 - float64(p.Out)/float64(p.In)
		x, y := courseWidth*p.Seconds/end, courseBottom-(courseBottom-courseTop)*min(1, max(0, now))
		if line.Len() == 0 {
			fmt.Fprintf(&line, "M%.1f %.1f", x, y)
		} else if p.Seconds > last {
			fmt.Fprintf(&line, "H%.1fV%.1f", x, y)
		}
		last = p.Seconds
	}
	if line.Len() == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg viewBox="0 0 %d %d" role="img" aria-label="Share of the source bytes saved over %s of work, %.1f %% at last">`, courseWidth, courseHeight, quantity.Seconds(end), 100*now)
	fmt.Fprintf(&out, `<path class="axis" d="M0 %d.5H%d"/><path class="line" d="%s"/>`, courseBottom, courseWidth, line.String())
	fmt.Fprintf(&out, `<text x="0" y="%d">100 %%</text><text x="0" y="%d">0</text><text x="%d" y="%d" text-anchor="end">%s of work, %.1f %% saved</text></svg>`,
		courseTop-6, courseHeight-4, courseWidth, courseHeight-4, quantity.Seconds(end), 100*now)
	return template.HTML(out.String())
}
