package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pelmill/pelmill/internal/plain"
)

// rows prints a table with aligned columns, two spaces between them, each row on
// one line whatever its cells hold.
func rows(w io.Writer, table [][]string) {
	var width []int
	for _, row := range table {
		for i, cell := range row {
			cell = plain.Line(cell)
			row[i] = cell
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range table {
		var b strings.Builder
		for i, cell := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == len(row)-1 {
				b.WriteString(cell)
			} else {
				b.WriteString(cell + pad)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
