// Command fuzzlog reads what "make fuzz" prints, a line "PACKAGE FUZZTARGET" before the output of each target, and shows it with
// a line for each target at the end: how many inputs were executed, and how many of them were new, which means that they
// reached code that none had reached before. The last line is the sum. It ends with code 1 when a target failed.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
)

func main() {
	failed, err := report(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzzlog:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// target is one fuzz target.
type target struct {
	name       string
	executions int64
	added      int64 // inputs that reached something new
	failed     bool
}

var (
	begins   = regexp.MustCompile(`^(\S+ Fuzz\w*)$`)
	progress = regexp.MustCompile(`^fuzz: elapsed: .*, execs: (\d+) \(.*\), new interesting: (\d+) \(total: \d+\)`)
	fails    = regexp.MustCompile(`^(FAIL|--- FAIL)`)
)

func report(in io.Reader, out io.Writer) (failed bool, err error) {
	var all []*target
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Text()
		now := &target{}
		if len(all) > 0 {
			now = all[len(all)-1]
		}
		if m := begins.FindStringSubmatch(line); m != nil {
			all = append(all, &target{name: m[1]})
			continue
		}
		if m := progress.FindStringSubmatch(line); m != nil {
			// The numbers are those since the start of the target, and a later line has the larger ones.
			if now.executions, err = strconv.ParseInt(m[1], 10, 64); err == nil {
				now.added, err = strconv.ParseInt(m[2], 10, 64)
			}
			if err != nil {
				return failed, err
			}
			continue
		}
		if fails.MatchString(line) {
			now.failed, failed = true, true
		}
		fmt.Fprintln(out, line)
	}
	var sum target
	for _, t := range all {
		state := ""
		if t.failed {
			state = ", FAILED"
		}
		fmt.Fprintf(out, "%12d executions, %6d new: %s%s\n", t.executions, t.added, t.name, state)
		sum.executions += t.executions
		sum.added += t.added
	}
	fmt.Fprintf(out, "%12d executions, %6d new: %d targets\n", sum.executions, sum.added, len(all))
	return failed, lines.Err()
}
