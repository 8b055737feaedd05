package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
)

// given reads a user's manifest as Submit does, each entry as "key=part+part" or,
// where it is bad, as "!" and the reason.
func givenKeys(t *testing.T, text, format, source string) []string {
	t.Helper()
	s := memory(0).sorter()
	defer s.close()
	err := sortManifest(&s, func(fn func(jobs.Entry) error) error {
		return parseManifest(strings.NewReader(text), format, source, sitekey.OfProcess().Reader(), fn)
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = distinct(spool(&s))(t.Context(), func(e jobs.Entry) error {
		name := e.Key
		for i, p := range e.Parts {
			name += string("=+"[min(i, 1)]) + p.Key
		}
		if e.Bad != "" {
			name = "!" + e.Bad
		}
		got = append(got, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSeriesOfGivenManifests(t *testing.T) {
	many := "series,key\n"
	for i := range jobs.MaxParts + 1 {
		many += fmt.Sprintf("s,%d\n", i)
	}
	for _, tt := range []struct{ name, format, text, want string }{
		{"rows of two series and an object", CSV, "series,key,size\ns,3,1\nt,9,1\n,a,1\ns,1,1\ns,2,1\n", "a s=3+1+2 t=9"},
		{"a row twice", CSV, "series,key\ns,1\ns,1\ns,2\n", "s=1+2"},
		{"lines", JSONL, `{"key":"t","parts":[{"key":"9"},{"key":"8"}]}` + "\n" + `{"key":"a"}` + "\n" + `{"key":"s","parts":[{"key":"1"}]}`, "a s=1 t=9+8"},
		{"a line twice", JSONL, `{"key":"s","parts":[{"key":"1"},{"key":"2"}]}` + "\n" + `{"key":"s","parts":[{"key":"2"},{"key":"3"}]}`, "s=1+2+3"},
		{"paths of a folder", JSONL, `{"key":"./s","parts":[{"key":"/d//1"},{"key":"./d/2"}]}`, "s=d/1+d/2"},
		{"an object and a series", CSV, "series,key\ns,1\n,s\n", "!as an object and as a series"},
		{"a part in a folder of ours", CSV, "series,key\ns,.pelmill/x\n", "!pelmill's own"},
		{"a part that leaves the source", JSONL, `{"key":"s","parts":[{"key":"1"},{"key":"../2"}]}`, "!element"},
		{"a part without a key", JSONL, `{"key":"s","parts":[{"size":1}]}`, "!is no object"},
		{"a part twice in a line", JSONL, `{"key":"s","parts":[{"key":"1"},{"key":"1"}]}`, "!twice"},
		{"too many parts", CSV, many, "!more than the limit of 10000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(givenKeys(t, tt.text, tt.format, "file:///s"), " ")
			reason, bad := strings.CutPrefix(tt.want, "!")
			if got != tt.want && !(bad && got != "" && got[0] == '!' && strings.Contains(got, reason)) {
				t.Errorf("%.300s, want %s", got, tt.want)
			}
		})
	}
}

// TestASeriesIsOneObject takes a series through its life: it is listed, done, left
// alone, done again when a part changes, and retried when one was missing.
func TestASeriesIsOneObject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(r.source, "scan/1.dcm", "scan/2.dcm", "scan/3.dcm", "b.png")
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	const list = `{"key":"scan/s","parts":[{"key":"scan/2.dcm"},{"key":"scan/1.dcm"},{"key":"scan/3.dcm"}]}` + "\n" + `{"key":"b.png"}` + "\n"
	submit := func(manifest string) jobs.Report {
		t.Helper()
		spec, err := r.client.Submit(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny", AutoStart: true}, strings.NewReader(manifest), JSONL)
		if err != nil {
			t.Fatal(err)
		}
		return r.ended(spec.ID)
	}
	record := func(id, key string) (found jobs.Result) {
		t.Helper()
		err := r.client.Results(r.ctx, r.target, id, func(rec jobs.Result) error {
			if rec.Key == key {
				found = rec
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}

	first := submit(list)
	if first.Counts.Compressed != 2 || first.Counts.Objects != 2 {
		t.Fatalf("first run: %+v", first.Counts)
	}
	rec := record(first.Job, "scan/s")
	size := int64(3 * len("content of scan/1.dcm"))
	if rec.Target != "scan/s.tiny" || rec.Size != size || len(rec.Parts) != 3 || rec.Parts[0].Key != "scan/2.dcm" || rec.Parts[0].ETag == "" {
		t.Errorf("record %+v", rec)
	}
	if again := submit(list); again.Counts.Skipped != 2 || again.Counts.Objects != 2 {
		t.Errorf("the same again: %+v", again.Counts)
	}
	if plan, err := r.client.DryRun(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny", Sample: 1}, strings.NewReader(list), JSONL); err != nil ||
		plan.Skipped != 2 || plan.SkippedBytes != size+int64(len("content of b.png")) {
		t.Errorf("dry run: %+v, %v", plan, err)
	}

	if _, err := storage.Put(r.ctx, r.bucket(r.source), "scan/3.dcm", []byte("another slice"), &storage.PutOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if changed := submit(list); changed.Counts.Skipped != 1 || changed.Counts.Compressed != 1 {
		t.Errorf("a part has changed: %+v", changed.Counts)
	}

	const more = `{"key":"scan/s","parts":[{"key":"scan/1.dcm"},{"key":"scan/4.dcm"}]}`
	missing := submit(more)
	if missing.Counts.Failed != 1 || missing.Classes[class.Missing] != 1 || missing.FailedList == "" {
		t.Fatalf("a part is missing: %+v, %v", missing.Counts, missing.Classes)
	}
	r.put(r.source, "scan/4.dcm")
	spec, err := r.client.Retry(r.ctx, r.target, missing.Job, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if retried := r.ended(spec.ID); retried.Counts.Compressed != 1 {
		t.Errorf("retried: %+v", retried.Counts)
	}
	if rec := record(spec.ID, "scan/s"); len(rec.Parts) != 2 || rec.Parts[1].Key != "scan/4.dcm" || rec.Parts[1].Missing {
		t.Errorf("record of the retry: %+v", rec)
	}
	claims := map[string]bool{}
	err = r.client.Claims(r.ctx, r.target, "", func(c jobs.Claim) error {
		if c.Target == "scan/s.tiny" {
			claims[c.Fingerprint] = true
		}
		return nil
	})
	if err != nil || len(claims) != 1 {
		t.Errorf("verify looks at %d records of the series, want the last one: %v", len(claims), err)
	}
}

// A series whose part is a result of pelmill's, in a target that lies in the source,
// is not compressed again.
func TestResultsAreNoPartsOfSeries(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, "", "mem://photos", "mem://photos")
	r.put(r.source, "a.png", "b.png", "c.png")
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	r.ended(r.submit(nil).ID)
	const list = "series,key\ns,b.png\ns,a.tiny\nt,c.png\nt,b.png\nu,c.png\nu,.pelmill/x\n"
	spec, err := r.client.Submit(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny", AutoStart: true}, strings.NewReader(list), CSV)
	if err != nil {
		t.Fatal(err)
	}
	r.ended(spec.ID)
	var got []string
	err = r.client.Results(r.ctx, r.target, spec.ID, func(rec jobs.Result) error {
		got = append(got, rec.Key+" "+string(rec.Outcome)+" "+rec.Class)
		return nil
	})
	if want := []string{"s failed key", "t compressed ", "u failed key"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// TestFramesOfSeriesAreBounded: a chunk ends before its lines are more than a worker
// reads.
func TestFramesOfSeriesAreBounded(t *testing.T) {
	long := jobs.Entry{Key: "s"}
	for i := range 5000 {
		long.Parts = append(long.Parts, jobs.Part{Key: fmt.Sprintf("%0100d", i)})
	}
	c := &chunkWriter{objects: 1000, bytes: 1 << 40, put: func(int, []byte) error { return nil }}
	for range 40 {
		if err := c.add(long); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	if most := chunkText/long.Text() + 1; len(c.chunks) < 40/most || c.chunks[0].Objects > most {
		t.Errorf("%d chunks, the first of %d objects of %d bytes", len(c.chunks), c.chunks[0].Objects, long.Text())
	}
}

// A result that an earlier version named by another rule keeps its name to itself.
func TestEarlierNamesAreNotTaken(t *testing.T) {
	r := newRig(t)
	earlier := jobs.Entry{Key: "1.2.840.5"}
	r.worker.outcome = func(e jobs.Entry) jobs.Outcome { return jobs.OutcomeCompressed }
	r.put(r.source, earlier.Key)
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	r.worker.earlier = true
	first := r.ended(r.submit(nil).ID)
	r.worker.earlier = false
	r.put(r.source, "1.2.840.png", "1.2.840.6")
	second := r.submit(nil)
	if c := r.ended(second.ID).Counts; first.Counts.Compressed != 1 || c.Skipped != 1 || c.Compressed != 2 || c.Failed != 0 {
		t.Errorf("first %+v, second %+v", first.Counts, c)
	}
	var got []string
	err := r.client.Claims(r.ctx, r.target, "", func(c jobs.Claim) error {
		got = append(got, c.Key+" "+c.Target)
		return nil
	})
	slices.Sort(got)
	if want := []string{"1.2.840.5 1.2.840.tiny", "1.2.840.6 1.2.840.6.tiny", "1.2.840.png 1.2.840.png.tiny"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
