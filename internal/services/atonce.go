package services

import (
	"flag"
	"strconv"
	"sync"
	"testing"
)

// Case is one of several subtests.
type Case struct {
	Name string
	Run  func(t *testing.T)
}

// AtOnce runs subtests of t side by side and begins them in their order. Those with the same limit, a channel of that
// capacity, share it: no more of them run at once. Nil is no limit. t.Parallel does not keep the order, lets no more run
// than there are cores, although tests with servers mostly wait, and forbids the environment that a [Store] sets.
func AtOnce(t *testing.T, limit chan struct{}, cases ...Case) {
	t.Helper()
	var all sync.WaitGroup
	defer all.Wait()
	for _, c := range cases {
		if limit != nil {
			limit <- struct{}{}
		}
		all.Go(func() {
			if limit != nil {
				defer func() { <-limit }()
			}
			t.Run(c.Name, c.Run)
		})
	}
}

// SideBySide lets n tests of a package that call t.Parallel run at once, however few cores there are, because they mostly
// wait. TestMain calls it first; -parallel on the command line counts more.
func SideBySide(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}
