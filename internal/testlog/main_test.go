package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const in = `go: downloading something
{"Action":"run","Package":"a","Test":"TestGood"}
{"Action":"output","Package":"a","Test":"TestGood","Output":"noise\n"}
{"Action":"pass","Package":"a","Test":"TestGood","Elapsed":0.1}
{"Action":"output","Package":"a","Test":"TestServer","Output":"    x_test.go:5: NOT TESTED: redis-server is missing\n"}
{"Action":"skip","Package":"a","Test":"TestServer"}
{"Action":"output","Package":"a","Test":"TestServer2","Output":"    x_test.go:9: NOT TESTED: redis-server is missing\n"}
{"Action":"skip","Package":"a","Test":"TestServer2"}
{"Action":"output","Package":"a","Test":"TestLong","Output":"    x_test.go:7: NOT TESTED: -short\n"}
{"Action":"skip","Package":"a","Test":"TestLong"}
{"Action":"pass","Package":"a","Elapsed":1.25}
`
	const bad = `{"Action":"output","Package":"b","Test":"TestBad","Output":"    y_test.go:1: wrong\n"}
{"Action":"fail","Package":"b","Test":"TestBad"}
{"Action":"output","Package":"b","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"b","Elapsed":2}
`
	for _, c := range []struct {
		in, want string
		failed   bool
	}{
		{in, "go: downloading something\nok  \ta\t1.2s\nNOT TESTED: redis-server is missing, 2 tests\n", false},
		{bad, "    y_test.go:1: wrong\npanic: test timed out\nFAIL\tb\t2.0s\n", true},
	} {
		var out strings.Builder
		failed, err := report(strings.NewReader(c.in), &out)
		got := strings.ReplaceAll(out.String(), "a: NOT TESTED", "NOT TESTED")
		if err != nil || failed != c.failed || got != c.want {
			t.Errorf("%v, %v:\n%swant\n%s", failed, err, got, c.want)
		}
	}
}
