package report

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/pelmill/pelmill/internal/quantity"
)

// Charts are drawn in a box of chartWidth by chartHeight units; the plot leaves room for
// one line of text above and one below.
const (
	chartWidth  = 640
	chartHeight = 150
	plotTop     = 18
	plotBottom  = 130
)

// chart is a figure of the page.
type chart struct {
	Title string
	Text  string        // what it shows, in a sentence
	SVG   template.HTML // nothing but numbers and texts of this package
}

// svg begins a chart. label is read out in place of the picture.
func svg(label string) *strings.Builder {
	out := &strings.Builder{}
	fmt.Fprintf(out, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWidth, chartHeight, template.HTMLEscapeString(label))
	fmt.Fprintf(out, `<path class="axis" d="M0 %d.5H%d"/>`, plotBottom, chartWidth)
	return out
}

func text(out *strings.Builder, x float64, y int, anchor, s string) {
	fmt.Fprintf(out, `<text x="%.0f" y="%d" text-anchor="%s">%s</text>`, x, y, anchor, template.HTMLEscapeString(s))
}

func finish(out *strings.Builder) template.HTML {
	out.WriteString("</svg>")
	return template.HTML(out.String())
}

// distribution draws a histogram. show renders a value of its bins; mark, where it is within
// them, is a limit with a name.
func distribution(title string, h *histogram, show func(float64) string, mark float64, name string) chart {
	c := chart{Title: title, Text: fmt.Sprintf("Median %s; 5 %% are below %s and 5 %% above %s; from %s to %s; %s.",
		show(h.quantile(0.5)), show(h.quantile(0.05)), show(h.quantile(0.95)), show(h.min), show(h.max), quantity.Plural(h.n, "object"))}
	bars := h.bars()
	var highest int64
	for _, b := range bars {
		highest = max(highest, b.n)
	}
	out := svg(title + ": " + c.Text)
	width := chartWidth / float64(max(len(bars), 12))
	for i, b := range bars {
		if b.n > 0 {
			height := max(1, float64(plotBottom-plotTop)*float64(b.n)/float64(highest))
			fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s to %s: %s</title></rect>`,
				float64(i)*width, plotBottom-height, width-1, height, show(b.low), show(b.high), quantity.Count(b.n))
		}
	}
	low, high := bars[0].low, bars[len(bars)-1].high
	at := func(v float64) float64 { return (v - low) / (high - low) * width * float64(len(bars)) }
	if name != "" && mark > low && mark < high {
		fmt.Fprintf(out, `<path class="mark" d="M%.1f %dV%d"/>`, at(mark), plotTop, plotBottom)
		text(out, min(at(mark), chartWidth-60), plotTop-6, "middle", name)
	}
	text(out, 0, chartHeight-5, "start", show(low))
	if len(bars) >= 12 {
		text(out, chartWidth/2, chartHeight-5, "middle", show((low+high)/2))
	}
	text(out, at(high), chartHeight-5, "end", show(high))
	c.SVG = finish(out)
	return c
}

// course draws a rate over time.
func (t *timeline) course(title string, rate func(work) float64, show func(float64) string) chart {
	var highest float64
	for _, w := range t.bins {
		highest = max(highest, rate(w)/float64(t.width()))
	}
	from, to := time.Unix(t.first<<t.shift, 0).UTC(), time.Unix((t.first+int64(len(t.bins)))<<t.shift, 0).UTC()
	c := chart{Title: title, Text: fmt.Sprintf("At most %s, over %s each.", show(highest), quantity.Seconds(float64(t.width())))}
	out := svg(title + ": " + c.Text)
	step := chartWidth / float64(len(t.bins))
	fmt.Fprintf(out, `<path class="area" d="M0 %d`, plotBottom)
	for i, w := range t.bins {
		y := float64(plotBottom)
		if highest > 0 {
			y -= float64(plotBottom-plotTop) * rate(w) / float64(t.width()) / highest
		}
		fmt.Fprintf(out, "V%.1fH%.1f", y, float64(i+1)*step)
	}
	fmt.Fprintf(out, `V%dZ"/>`, plotBottom)
	text(out, 0, plotTop-6, "start", show(highest))
	text(out, 0, chartHeight-5, "start", clock(from))
	text(out, chartWidth, chartHeight-5, "end", clock(to))
	c.SVG = finish(out)
	return c
}

func clock(t time.Time) string { return t.Format("2006-01-02 15:04:05 UTC") }

// meter is a bar in a cell of a table that fills a share of it.
func meter(share float64) template.HTML {
	share = min(max(share, 0), 1)
	return template.HTML(fmt.Sprintf(`<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" width="100" height="8"/><rect width="%.1f" height="8"/></svg>`, 100*share))
}
