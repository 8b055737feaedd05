package storage_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/storage/storagetest"
)

// TestConformance runs the suite on each kind of store, all of them side by side.
func TestConformance(t *testing.T) {
	server := func(start func(t testing.TB) *services.Store) func(t *testing.T) {
		return func(t *testing.T) {
			s := start(t)
			storagetest.Run(t, storagetest.Store{URL: buckets(s.NewBucket), Missing: s.URL("missing"), Metadata: true})
		}
	}
	services.AtOnce(t, nil,
		services.Case{Name: "Azure", Run: server(services.Azurite)},
		services.Case{Name: "GCS", Run: server(services.FakeGCS)},
		services.Case{Name: "S3", Run: server(services.VersityGW)},
		services.Case{Name: "File", Run: func(t *testing.T) {
			storagetest.Run(t, storagetest.Store{URL: func(t *testing.T) string { return "file://" + t.TempDir() }, Missing: "file:///nowhere/at/all"})
		}},
		services.Case{Name: "Memory", Run: func(t *testing.T) {
			storagetest.Run(t, storagetest.Store{URL: buckets(func(name string) string { return "mem://" + name }), Metadata: true})
		}},
	)
}

// buckets makes a new bucket for each test that asks.
func buckets(create func(name string) string) func(*testing.T) string {
	var n atomic.Int32
	return func(*testing.T) string { return create(fmt.Sprintf("bucket-%d", n.Add(1))) }
}
