package queue

import (
	"strings"
	"testing"
)

func TestDenialsAreToldAndTakenBack(t *testing.T) {
	c, err := Open(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	const job = "20260102-030405-abcd"
	told := func(by Side, want string) {
		t.Helper()
		if got, err := c.Job(job).Denied(t.Context(), by); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", by, got, err, want)
		}
	}
	told(Schedulers, "")
	for by, reason := range map[Side]string{Schedulers: "not \x1b]0;here\a\n", Workers: strings.Repeat("x", 5000)} {
		if err := c.Job(job).Deny(t.Context(), by, reason); err != nil {
			t.Fatal(err)
		}
	}
	told(Schedulers, "not ?]0;here??")
	told(Workers, strings.Repeat("x", maxDenied)+"...")
	if err := c.Job(job).Admit(t.Context(), Schedulers); err != nil {
		t.Fatal(err)
	}
	told(Schedulers, "")
	if err := c.Job(job).Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	told(Workers, "")
}
