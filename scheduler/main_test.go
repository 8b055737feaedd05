package scheduler

import (
	"os"
	"testing"

	"github.com/pelmill/pelmill/internal/services"
)

// TestMain lets the tests wait side by side for leases, ticks and outages; each has a queue and buckets of its own.
func TestMain(m *testing.M) {
	services.SideBySide(4)
	os.Exit(m.Run())
}
