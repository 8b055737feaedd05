package scheduler

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// A done-list of any number of records takes the memory of a part of it, as an intake prunes beside its work.
func TestDoneListsTakeLittleMemory(t *testing.T) {
	const records = 30_000
	buckets := storage.NewBuckets()
	defer buckets.Close()
	b, err := buckets.Open(t.Context(), "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &pruning{b: b, all: []pruneJob{{spec: jobs.Spec{ID: "20260101-000000-abcd", Codec: "vq", Pruned: 1}, ends: true}}}
	l, err := r.newList(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	held := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var began int64
	for i := range records {
		if i == records/3 {
			began = held()
		}
		line, err := json.Marshal(jobs.Result{Key: fmt.Sprintf("%06d.png", i), Target: fmt.Sprintf("%06d.vq", i), Outcome: jobs.OutcomeCompressed,
			Size: 100, SHA256: fmt.Sprintf("%064x", i), Seconds: map[string]float64{"read": 1, "encode": 2}})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.add(t.Context(), line); err != nil {
			t.Fatal(err)
		}
	}
	grown := held() - began
	if err := l.end(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.sum.counts.Compressed != records {
		t.Errorf("%d records counted, want %d", l.sum.counts.Compressed, records)
	}
	t.Logf("%d more records took %d bytes", records*2/3, grown)
	if most := int64(8 << 20); grown > most {
		t.Errorf("%d more records took %d bytes, want at most %d", records*2/3, grown, most)
	}
}
