package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pelmill/pelmill/worker/series/seriestest"
)

// writeSeries FOLDER N UID writes N slices of a CT series into a new folder.
func writeSeries(ts *testscript.TestScript, neg bool, args []string) {
	n := 0
	if len(args) == 3 {
		n, _ = strconv.Atoi(args[1])
	}
	if neg || n < 1 {
		ts.Fatalf("usage: series FOLDER N UID")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	for i, data := range seriestest.Slices(n, func(_ int, m *seriestest.Made) { m.Series = args[2] }) {
		ts.Check(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%03d.dcm", filepath.Base(dir), i)), data, 0o644))
	}
}
