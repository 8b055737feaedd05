// Command testlog reads what "go test -json" writes and prints what go test prints without -v: a line for each package, and
// the output of what failed. At its end it lists the tests that could not run, with their reasons, which go test
// itself shows with -v only. It ends with code 1 when something failed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	failed, err := report(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// notTested marks the reason of a test that cannot run here, and short those that are left out on purpose.
const (
	notTested = "NOT TESTED"
	short     = "-short"
)

func report(in io.Reader, out io.Writer) (failed bool, err error) {
	said := map[string]map[string][]string{} // output that was not shown, by package and test
	missing := map[string]int{}              // reasons, and how many tests have each
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text()) // go itself, not a test
			continue
		}
		tests := said[e.Package]
		if tests == nil {
			tests = map[string][]string{}
			said[e.Package] = tests
		}
		switch e.Action {
		case "output":
			tests[e.Test] = append(tests[e.Test], e.Output)
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "skip":
			if reason := reason(tests[e.Test]); reason != "" {
				missing[e.Package+": "+reason]++
			}
			delete(tests, e.Test)
		case "pass":
			if e.Test == "" {
				fmt.Fprintf(out, "ok  \t%s\t%.1fs\n", e.Package, e.Elapsed)
				delete(said, e.Package)
			}
			delete(tests, e.Test)
		case "fail":
			failed = true
			fmt.Fprint(out, strings.Join(tests[e.Test], ""))
			delete(tests, e.Test)
			if e.Test == "" { // a panic or the time limit leaves tests without an end
				for _, name := range slices.Sorted(maps.Keys(tests)) {
					fmt.Fprint(out, strings.Join(tests[name], ""))
				}
				fmt.Fprintf(out, "FAIL\t%s\t%.1fs\n", e.Package, e.Elapsed)
				delete(said, e.Package)
			}
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(missing)) {
		fmt.Fprintf(out, "%s, %d tests\n", reason, missing[reason])
	}
	return failed, lines.Err()
}

// reason is the line in which a test says why it cannot run; empty for one that was left out on purpose.
func reason(output []string) string {
	for _, line := range output {
		if at := strings.Index(line, notTested); at >= 0 && !strings.Contains(line, short) {
			return strings.TrimSpace(line[at:])
		}
	}
	return ""
}
