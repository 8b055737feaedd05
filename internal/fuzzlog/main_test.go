package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const in = `example.com/a FuzzOne
fuzz: elapsed: 0s, gathering baseline coverage: 0/12 completed
fuzz: elapsed: 3s, execs: 1000 (333/sec), new interesting: 2 (total: 14)
fuzz: elapsed: 4s, execs: 1500 (500/sec), new interesting: 3 (total: 15)
PASS
ok  	example.com/a	4.1s
example.com/b FuzzTwo
fuzz: elapsed: 3s, execs: 20 (6/sec), new interesting: 0 (total: 5)
--- FAIL: FuzzTwo (3.01s)
FAIL
`
	const want = `fuzz: elapsed: 0s, gathering baseline coverage: 0/12 completed
PASS
ok  	example.com/a	4.1s
--- FAIL: FuzzTwo (3.01s)
FAIL
        1500 executions,      3 new: example.com/a FuzzOne
          20 executions,      0 new: example.com/b FuzzTwo, FAILED
        1520 executions,      3 new: 2 targets
`
	var out strings.Builder
	failed, err := report(strings.NewReader(in), &out)
	if err != nil || !failed || out.String() != want {
		t.Errorf("failed %v, %v, output:\n%s\nwant:\n%s", failed, err, out.String(), want)
	}
}
