package scheduler

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

const fuzzJob = "20260102-030405-abcd"

// FuzzJobJSON holds every value of a job that parseJSON lets through against what
// the scheduler does with it.
func FuzzJobJSON(f *testing.F) {
	spec := jobs.Spec{ID: fuzzJob, Source: "mem://s", Target: "mem://t", Codec: "vq"}
	spec.Defaults()
	for _, v := range []any{
		spec, listing{Parts: 1, Objects: 3}, givenIndex{Parts: 1, Entries: 3, Lacking: 1},
		jobs.Plan{Job: fuzzJob, Objects: 2, Chunks: jobs.Chunks{{Length: 9, Objects: 1}, {Offset: 9, Length: 9, Objects: 1}}},
		jobs.Report{Job: fuzzJob, State: jobs.StateDone}, jobs.Control{Want: jobs.WantRun}, jobs.StateRecord{State: jobs.StateRunning},
	} {
		b, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"job":"` + fuzzJob + `","objects":-1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseJSON[jobs.Spec](jobs.Folder(fuzzJob).Spec(), data); err == nil {
			if s.ID != fuzzJob || s.ChunkObjects < 1 || s.ChunkBytes < 1 || s.Limits.Bytes < 0 {
				t.Errorf("%+v", s)
			}
			newFilter(s.Filter, s.Created)
			s.OpenAt(time.Now())
		}
		if p, err := parseJSON[jobs.Plan](jobs.Folder(fuzzJob).Plan(), data); err == nil {
			todo, end, part := p.Objects-p.Skipped, int64(0), 0
			for _, c := range p.Chunks {
				if c.Part != part {
					part, end = c.Part, 0
				}
				if c.Offset < end || c.Objects < 1 || c.Bytes < 0 {
					t.Errorf("chunk %+v after %d", c, end)
				}
				end = c.Offset + c.Length
				todo -= int64(c.Objects)
			}
			if todo != 0 || p.Skipped < 0 {
				t.Errorf("%+v", p)
			}
		}
		if l, err := parseJSON[listing](jobs.Folder(fuzzJob).Listing(), data); err == nil && (l.Parts < 0 || l.Objects < 0) {
			t.Errorf("%+v", l)
		}
		if g, err := parseJSON[givenIndex](givenIndexKey(fuzzJob), data); err == nil && (g.Parts < 0 || g.Lacking > g.Entries) {
			t.Errorf("%+v", g)
		}
		if r, err := parseJSON[jobs.Report](jobs.Folder(fuzzJob).Report(), data); err == nil && (!r.State.Terminal() || r.Counts.Objects < 0) {
			t.Errorf("%+v", r)
		}
		parseJSON[jobs.Control](jobs.Folder(fuzzJob).Control(), data)
		parseJSON[jobs.StateRecord](jobs.Folder(fuzzJob).State(), data)
	})
}

// FuzzShard reads shards as the scheduler does: header alone, and all of it.
func FuzzShard(f *testing.F) {
	buckets := storage.NewBuckets()
	f.Cleanup(func() { buckets.Close() })
	target, err := buckets.Open(f.Context(), "mem://target")
	if err != nil {
		f.Fatal(err)
	}
	var lines storage.Lines
	head := jobs.Shard{Job: fuzzJob, Chunk: 3, Counts: jobs.Counts{Objects: 1, Compressed: 1}}
	storage.Frame(&lines, []jobs.Shard{head})
	f.Add(bytes.Clone(lines.Bytes()))
	storage.Frame(&lines, []jobs.Result{{Key: "a", Outcome: jobs.OutcomeCompressed}})
	f.Add(bytes.Clone(lines.Bytes()))
	f.Add(lines.Bytes()[:lines.Len()-3])
	f.Fuzz(func(t *testing.T, data []byte) {
		if line, err := firstLine(data); err == nil {
			var h jobs.Shard
			if json.Unmarshal(line, &h) == nil && h.Check() == nil && (h.Counts.Objects < 0 || h.Counts.Objects > jobs.MaxChunkObjects) {
				t.Errorf("%+v", h)
			}
		}
		if sum, err := tallyShard(t.Context(), data, newNames(t.Context(), target)); err == nil && (sum.counts.Objects > jobs.MaxChunkObjects || sum.counts.Objects < sum.counts.Failed) {
			t.Errorf("%+v", sum.counts)
		}
	})
}

// FuzzLedger reads lines of records as the plan does.
func FuzzLedger(f *testing.F) {
	f.Add([]byte(`{"key":"a","outcome":"compressed","target":"a.vq","fingerprint":"x"}` + "\n" + `{"key":"b"}`))
	f.Add([]byte(`{"job":"x"}` + "\n" + `{"key":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := func(yield func([]byte, error) bool) {
			for line := range bytes.SplitSeq(data, []byte{'\n'}) {
				if !yield(line, nil) {
					return
				}
			}
		}
		var all []record
		for rec, err := range decoded("20260102-030405-abcd", lines) {
			if err != nil {
				break
			}
			if rec.Key == "" {
				t.Error("a record without a key")
			}
			all = append(all, rec)
		}
		spec, e := jobs.Spec{Codec: "tiny"}, jobs.Entry{Key: "x", ETag: "x", Size: 1}
		if rec, ok := valid(all, &spec, e); ok && rec.Fingerprint != spec.Fingerprint(e) && rec.Verdict != spec.Verdict(e) {
			t.Errorf("%+v", rec)
		}
		var raw [][]byte
		for line := range bytes.SplitSeq(data, []byte{'\n'}) {
			if len(line) > 0 && !isHeader(line) {
				raw = append(raw, line)
			}
		}
		sortByKey(raw)
	})
}

func FuzzFilter(f *testing.F) {
	f.Add("*.png", "a/b.png")
	f.Add("/a/{b,c}/**", "a/b/c")
	f.Add("[a-", "x")
	f.Fuzz(func(t *testing.T, pattern, key string) {
		if len(pattern) > 100 || len(key) > 100 {
			return
		}
		filter, err := newFilter(jobs.Filter{Include: []string{pattern}}, time.Time{})
		if err != nil {
			return
		}
		if filter.keep(key, 1, time.Time{}) != filter.keep(key, -1, time.Now()) {
			t.Errorf("%q of %q depends on the size", pattern, key)
		}
	})
}
