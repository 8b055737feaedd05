// Command fuzzlog adds up what "make fuzz" does. What was executed is kept in a file, so that runs add up.
//
//	fuzzlog -state FILE -only REGEXP targets   lists the fuzz targets, those first that had the least time
//	fuzzlog -state FILE report                 reads what fuzzing them prints
//	fuzzlog overlay PACKAGE DIR                writes tests that are fuzzed by package fuzzloop, and DIR/overlay.json
//
// A target is a line "PACKAGE FUZZTARGET", which also begins what it prints. The report repeats that with a line for each target
// as soon as it has ended: how many inputs were executed, how many of them were new, which means that they reached code that
// none had reached before, how many were executed a second, and the sum of the targets so far. The last lines are the sums of
// this run and of all. It ends with code 1 when a target failed.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
)

func main() {
	file := flag.String("state", "", "`FILE` of what earlier runs did; empty: fuzz.json in the user's cache")
	only := flag.String("only", "", "`REGEXP` of the targets to list")
	flag.Parse()
	ok, err := run(flag.Args(), *file, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzzlog:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

func run(args []string, file, only string) (ok bool, err error) {
	if file == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return false, err
		}
		file = filepath.Join(cache, "pelmill", "fuzz.json")
	}
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch {
	case verb == "targets":
		chosen, err := regexp.Compile(only)
		if err != nil {
			return false, err
		}
		before, err := readState(file)
		if err != nil {
			return false, err
		}
		names, err := targets("./...")
		if err != nil {
			return false, err
		}
		return list(os.Stdout, names, chosen, before)
	case verb == "overlay" && len(args) == 3:
		return true, overlay(args[1], args[2])
	case verb == "report":
		// An interrupt also ends the target that runs, and what it has done until then is to be counted.
		signal.Ignore(os.Interrupt)
		failed, err := report(os.Stdin, os.Stdout, file)
		return !failed, err
	}
	return false, fmt.Errorf("what to do is %q, want targets, report or overlay PACKAGE DIR", args)
}

var declares = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(`)

// targets finds the fuzz targets of packages in the files of their tests, which is faster than compiling them.
func targets(packages string) (names []string, err error) {
	out, err := testFiles(packages)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(out) {
		pkg, path, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if !ok {
			continue // between packages
		}
		data, err := os.ReadFile(string(path))
		if err != nil {
			return nil, err
		}
		for _, m := range declares.FindAllSubmatch(data, -1) {
			names = append(names, fmt.Sprintf("%s %s", pkg, m[1]))
		}
	}
	return names, nil
}

// testFiles lists the files of the tests of packages, a line each: the package's import path, a space, and the file's path.
func testFiles(packages string) ([]byte, error) {
	const tests = `{{range .TestGoFiles}}{{$.ImportPath}} {{$.Dir}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$.ImportPath}} {{$.Dir}}/{{.}}{{"\n"}}{{end}}`
	cmd := exec.Command("go", "list", "-f", tests, packages)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return out, nil
}
