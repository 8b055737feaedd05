package worker

import (
	"testing"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// A shard is read from storage, where anything may be: no input panics, and what
// is read came from lines that are records.
func FuzzParseShard(f *testing.F) {
	var lines storage.Lines
	storage.Frame(&lines, []jobs.Shard{{Job: "20260102-030405-abcd", Chunk: 3, Counts: jobs.Counts{Objects: 1, Compressed: 1}}})
	f.Add(append([]byte(nil), lines.Bytes()...))
	storage.Frame(&lines, []jobs.Result{{Key: "a", Outcome: jobs.OutcomeCompressed}})
	f.Add(append([]byte(nil), lines.Bytes()...))
	f.Add(lines.Bytes()[:lines.Len()-3])
	f.Add([]byte{})
	lines.Reset()
	storage.Frame(&lines, []int{1, 2})
	f.Add(lines.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		_, err := parseShard(data, sitekey.OfProcess().Reader(), func(r *jobs.Result) {
			if r == nil {
				t.Error("a record that is nil")
			}
			n++
		})
		if err == nil && len(data) == 0 {
			t.Error("an empty object is a shard")
		}
	})
}
