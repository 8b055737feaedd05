package scheduler

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
)

// An error that ends the planning of a job does not name an object that may be a medical image.
func TestErrorsOfPlanningNameNobody(t *testing.T) {
	away := errors.New("away")
	for key, hidden := range map[string]bool{"DOE/DOE 1.dcm": true, "DOE/DOE 1": true, "DOE/DOE 1.png": false} {
		err := withoutName(fmt.Errorf("storage: %q, /DOE%%201.dcm, %s: %w", key, path.Base(key), away), key)
		if strings.Contains(strings.ReplaceAll(err.Error(), "/DOE%201.dcm", ""), "DOE") == hidden || !errors.Is(err, away) {
			t.Errorf("%q: %v", key, err)
		}
	}
	if err := withoutName(nil, "a.dcm"); err != nil {
		t.Error(err)
	}
	if err := outOfOrder("the listing", "a/DOE 1.dcm", "b/DOE 2.dcm"); strings.Contains(err.Error(), "DOE") || !strings.Contains(err.Error(), "not in key order") {
		t.Error(err)
	}
}

// Records of medical images that an earlier version wrote with their keys are merged without them.
func TestMergedRecordsNameNobody(t *testing.T) {
	r := newRig(t)
	b := r.bucket(r.target)
	var lines storage.Lines
	all := []jobs.Result{
		{Key: "DOE/1.dcm", Target: "DOE/1.dcm", Size: 1, Outcome: jobs.OutcomeCompressed, SourceFormat: "dicom"},
		{Key: "DOE/2.nii.gz", Size: 1, Outcome: jobs.OutcomeFailed, Class: class.Storage, Error: `get "DOE/2.nii.gz": away`},
		{Key: "a.png", Size: 1, Outcome: jobs.OutcomeFailed, Class: class.Storage, Error: "away"},
	}
	head := jobs.Shard{Job: fuzzJob, Counts: jobs.Counts{}}
	for i := range all {
		head.Counts.Add(&all[i])
	}
	if _, _, err := storage.Frame(&lines, []jobs.Shard{head}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := storage.Frame(&lines, all); err != nil {
		t.Fatal(err)
	}
	names := newNames(r.ctx, b)
	sum, err := tallyShard(r.ctx, lines.Bytes(), names)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sum.lines, []byte("DOE")) || bytes.Contains(sum.failed, []byte("DOE")) || bytes.Count(sum.failed, []byte("\n")) != 2 {
		t.Errorf("merged: %s; failures: %s", sum.lines, sum.failed)
	}
	if sum.records[0].Key != "DOE/1.dcm" || sum.records[0].KeyHash == "" || sum.records[2].KeyHash != "" {
		t.Errorf("%+v", sum.records)
	}
	// A list of failures is a manifest, also as report --failed --json prints it.
	for _, list := range []string{string(sum.failed), strings.ReplaceAll(string(sum.failed), "{\"key", "{\"type\":\"object\",\"key")} {
		var keys []string
		err = parseManifest(strings.NewReader(list), JSONL, "mem://s", sitekey.NewReader(r.ctx, b), func(e jobs.Entry) error {
			keys = append(keys, e.Key+e.Bad)
			return nil
		})
		if err != nil || fmt.Sprint(keys) != "[DOE/2.nii.gz a.png]" {
			t.Errorf("the failures name %q, %v", keys, err)
		}
	}
	err = parseManifest(bytes.NewReader(sum.failed), JSONL, "mem://s", sitekey.New([32]byte{1}).Reader(), func(e jobs.Entry) error {
		if e.Key != "a.png" && !strings.Contains(e.Bad, "another target") {
			t.Errorf("%+v", e)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Keys of medical images are found in merged records by an index that does not have them, and page by page with cursors that do
// not have them.
func TestSealedRecordsAreFoundByKey(t *testing.T) {
	r := newRig(t)
	b := r.bucket(r.target)
	key, err := sitekey.Open(r.ctx, b, jobs.SiteKey, true)
	if err != nil {
		t.Fatal(err)
	}
	id := fuzzJob
	f := folder{b: b, id: id}
	var file []byte
	m := merging{names: key.Reader(), put: func(_ int, data []byte) error {
		file = bytes.Clone(data)
		return f.put(r.ctx, jobs.Folder(id).Merged(0), data, false)
	}}
	const n = 2*mergedFrame + 7
	for i := range n {
		record := jobs.Result{Key: fmt.Sprintf("DOE/%06d", i), Outcome: jobs.OutcomeCompressed, SourceFormat: "dicom"}
		if err := key.SealResult(&record); err != nil {
			t.Fatal(err)
		}
		written := record.Written()
		if err := m.add(jsonLine(t, &written)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.end(); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(file, []byte("DOE")) {
		t.Error("the file has keys")
	}
	x, err := readIndex(r.ctx, b, jobs.Folder(id).Merged(0))
	if err != nil || len(x.frames) != 3 || x.frames[1].first != fmt.Sprintf("DOE/%06d", mergedFrame) || !x.frames[1].sealed {
		t.Fatalf("%+v, %v", x, err)
	}
	found := 0
	err = linesWithin(r.ctx, b, jobs.Folder(id).Merged(0), x, &keyRanges{prefixes: []string{"DOE/000300"}}, func(line []byte) error {
		found++
		return nil
	})
	if err != nil || found != 1 {
		t.Errorf("%d records, %v", found, err)
	}

	spec := jobs.Spec{ID: id, Source: "mem://source", Target: r.target, Codec: "vq"}
	spec.Defaults()
	report := jobs.Report{Job: id, State: jobs.StateDone, Results: []string{jobs.Folder(id).Merged(0)}}
	for name, v := range map[string]any{jobs.Folder(id).Spec(): spec, jobs.Folder(id).Report(): report} {
		if err := f.putJSON(r.ctx, name, v, true); err != nil {
			t.Fatal(err)
		}
	}
	q := RecordQuery{Limit: 100}
	seen := 0
	for {
		page, err := r.client.Records(r.ctx, r.target, id, q)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(page.Records)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
		if text, err := base64.RawURLEncoding.DecodeString(q.Cursor); err != nil || bytes.Contains(text, []byte("DOE")) {
			t.Fatalf("cursor %s, %v", text, err)
		}
	}
	if seen != n {
		t.Errorf("%d of %d records in pages", seen, n)
	}
	for prefix, want := range map[string]int{"DOE/00030": 0, "DOE/000300": 1} {
		page, err := r.client.Records(r.ctx, r.target, id, RecordQuery{Prefix: prefix, Limit: 100})
		if err != nil || len(page.Records) != want {
			t.Errorf("%s: %d records, %v", prefix, len(page.Records), err)
		}
	}
}
