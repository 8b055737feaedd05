package storage_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/storage/storagetest"
)

func TestConformanceFile(t *testing.T) {
	storagetest.Run(t, storagetest.Store{URL: func(t *testing.T) string { return "file://" + t.TempDir() }, Missing: "file:///nowhere/at/all"})
}

func TestConformanceMemory(t *testing.T) {
	storagetest.Run(t, storagetest.Store{URL: buckets(func(name string) string { return "mem://" + name }), Metadata: true})
}

func TestConformanceS3(t *testing.T) {
	s := services.VersityGW(t)
	storagetest.Run(t, storagetest.Store{URL: buckets(s.NewBucket), Missing: s.URL("missing"), Metadata: true})
}

func TestConformanceGCS(t *testing.T) {
	s := services.FakeGCS(t)
	storagetest.Run(t, storagetest.Store{URL: buckets(s.NewBucket), Missing: s.URL("missing"), Metadata: true})
}

func TestConformanceAzure(t *testing.T) {
	s := services.Azurite(t)
	storagetest.Run(t, storagetest.Store{URL: buckets(s.NewBucket), Missing: s.URL("missing"), Metadata: true})
}

// buckets makes a new bucket for each test that asks.
func buckets(create func(name string) string) func(*testing.T) string {
	var n atomic.Int32
	return func(*testing.T) string { return create(fmt.Sprintf("bucket-%d", n.Add(1))) }
}
