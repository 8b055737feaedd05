package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"
)

var (
	begins   = regexp.MustCompile(`^(\S+ Fuzz\w*)$`)
	progress = regexp.MustCompile(`^fuzz: elapsed: (\S+), execs: (\d+) \(.*\), new interesting: (\d+) \(total: \d+\)`)
	fails    = regexp.MustCompile(`^(FAIL|--- FAIL)`)
)

// report repeats what fuzzing prints but for its progress, and adds each target to the file of the state when it has ended.
func report(in io.Reader, out io.Writer, file string) (failed bool, err error) {
	var (
		name      string
		now, sum  totals
		ran, lost int
	)
	end := func() error {
		if name == "" {
			return nil
		}
		ran++
		sum.add(now)
		state := ""
		if now.Failed > 0 {
			state = ", FAILED"
			lost++
		}
		fmt.Fprintf(out, "%v: %s%s; %d so far\n", now, name, state, sum.Executions)
		done := name
		name = ""
		return addTo(file, done, now)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Text()
		if m := begins.FindStringSubmatch(line); m != nil {
			if err := end(); err != nil {
				return true, err
			}
			name, now = m[1], totals{}
			continue
		}
		if m := progress.FindStringSubmatch(line); m != nil {
			// The numbers are those since the start of the target, and a later line has the larger ones.
			if err := now.read(m[1], m[2], m[3]); err != nil {
				return true, err
			}
			continue
		}
		if fails.MatchString(line) {
			now.Failed = 1
		}
		fmt.Fprintln(out, line)
	}
	if err := end(); err != nil {
		return true, err
	}
	fmt.Fprintf(out, "%v: %d targets in this run\n", sum, ran)
	all, err := readState(file)
	if err != nil {
		return true, err
	}
	sum = totals{}
	for _, t := range all.Targets {
		sum.add(*t)
	}
	fmt.Fprintf(out, "%v: %d targets in all runs, by %s\n", sum, len(all.Targets), file)
	return lost > 0, lines.Err()
}

// read takes the numbers of a line of progress.
func (t *totals) read(elapsed, executions, added string) error {
	d, err := time.ParseDuration(elapsed)
	if err != nil {
		return err
	}
	t.Seconds = d.Seconds()
	if t.Executions, err = strconv.ParseInt(executions, 10, 64); err != nil {
		return err
	}
	t.New, err = strconv.ParseInt(added, 10, 64)
	return err
}

// String has the totals in columns.
func (t totals) String() string {
	return fmt.Sprintf("%12d executions, %6d new, %7.0f a second", t.Executions, t.New, float64(t.Executions)/max(t.Seconds, 1))
}
