package worker

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// What a worker stored in a folder before it could record it is written down, copies of sources that do not fit into
// memory too. A later job replaces exactly that when the source has changed meanwhile.
func TestKilledCopiesAreReplaced(t *testing.T) {
	source, target := t.TempDir(), t.TempDir()
	others := func(s *jobs.Spec) { s.Others, s.Limits.Bytes = "copy", 1000 }
	first := newJob(t, "file://"+source, "file://"+target, &fake{}, others)
	content := map[string][]byte{"large.tif": bytes.Repeat([]byte("large"), 1000), "small.txt": []byte("small")}
	for key, data := range content {
		first.put(key, data)
	}
	first.plan()
	// The record of the chunk cannot be stored, as if the worker had been killed.
	shard := filepath.Join(target, filepath.FromSlash(jobs.Folder(first.spec.ID).Result(0)))
	if err := os.MkdirAll(shard, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := first.chunk(first.worker(Options{}, &fake{}), 0); err == nil {
		t.Fatal("the chunk was recorded in a folder of that name")
	}
	got, err := storage.Get(t.Context(), first.target, jobs.Folder(first.spec.ID).Intent(0), -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	old := map[string][]jobs.Version{}
	for line := range bytes.Lines(got.Data) {
		var i jobs.Intent
		if err := json.Unmarshal(line, &i); err != nil {
			t.Fatal(err)
		}
		data := content[i.Key]
		if i.Target != i.Key || i.Outcome != jobs.OutcomeKept || i.TargetSize != int64(len(data)) || i.TargetSHA256 != sumOf(data) {
			t.Errorf("%+v of %d bytes", i, len(data))
		}
		old[i.Key] = []jobs.Version{{Job: first.spec.ID, Size: i.TargetSize, SHA256: i.TargetSHA256}}
	}
	if len(old) != len(content) {
		t.Fatalf("written down: %s", got.Data)
	}
	first.writeJSON(jobs.Folder(first.spec.ID).Control(), jobs.Control{Want: jobs.WantCancel})

	// Both change. Somebody else replaces a third copy, which stays.
	second := newJob(t, "file://"+source, "file://"+target, &fake{}, others)
	var entries []jobs.Entry
	for key, data := range content {
		second.put(key, append(bytes.Clone(data), " and changed"...))
		o, _, err := storage.Stat(t.Context(), second.source, key)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, jobs.Entry{Key: key, Size: o.Size, ETag: o.ETag, ModTime: o.ModTime, Old: old[key]})
	}
	foreign := bytes.Repeat([]byte("other"), 1000)
	second.put("foreign.tif", content["large.tif"])
	second.write("foreign.tif", foreign)
	o, _, err := storage.Stat(t.Context(), second.source, "foreign.tif")
	if err != nil {
		t.Fatal(err)
	}
	entries = append(entries, jobs.Entry{Key: "foreign.tif", Size: o.Size, ETag: o.ETag, ModTime: o.ModTime, Old: old["large.tif"]})
	second.plan(entries...)
	second.compress(&fake{})
	results := second.results()
	for key, data := range content {
		now, err := os.ReadFile(filepath.Join(target, key))
		if r := results[key]; err != nil || r.Target != key || !bytes.Equal(now, append(bytes.Clone(data), " and changed"...)) {
			t.Errorf("%s: %s %s %s: %d bytes (%v)", key, r.Outcome, r.Class, r.Error, len(now), err)
		}
	}
	if now, err := os.ReadFile(filepath.Join(target, "foreign.tif")); err != nil || !bytes.Equal(now, foreign) {
		t.Errorf("what somebody else has stored was replaced (%v)", err)
	}
	if r := results["foreign.tif"]; r.Outcome != jobs.OutcomeFailed {
		t.Errorf("beside somebody else's: %+v", r)
	}
}
