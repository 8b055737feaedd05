//go:build !unix

package api_test

import (
	"testing"
	"time"
)

// ownCPU is not known here.
func ownCPU(testing.TB) time.Duration { return 0 }
