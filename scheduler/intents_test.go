package scheduler

import (
	"encoding/json"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// What a killed process was about to store in a folder may be replaced by later jobs of the
// source, by its content, but no work counts as done by it.
func TestIntents(t *testing.T) {
	r := newRigOn(t, "", "file://"+t.TempDir(), "file://"+t.TempDir())
	r.worker.start(t, 1)
	defer r.run(r.scheduler(nil))()
	r.put(r.source, "a.png")
	ids := r.nights(openAtOnce + 2) // the first one is read through a sort
	r.put(r.source, "b.png", "c.png", "torn.png")
	b := r.bucket(r.target)
	intend := func(id string, i jobs.Intent) {
		line, err := json.Marshal(&i)
		if err == nil {
			err = storage.Append(t.Context(), b, jobs.Folder(id).Intent(0), append(line, '\n'))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for n, id := range []string{ids[0], ids[len(ids)-1]} {
		intend(id, jobs.Intent{Key: "c.png", Outcome: jobs.OutcomeCompressed, Target: "c.tiny", TargetSize: int64(n), TargetSHA256: id})
		intend(id, jobs.Intent{Key: "b.png", Outcome: jobs.OutcomeKept, Target: "b.png", TargetSize: int64(n), TargetSHA256: id})
		if err := storage.Append(t.Context(), b, jobs.Folder(id).Intent(0), []byte(`{"key":"torn.png","target":"to`)); err != nil {
			t.Fatal(err)
		}
	}
	again := r.nights(1)[0]
	plan, err := r.client.Plan(t.Context(), r.target, again)
	if err != nil || plan.Skipped != 1 || plan.Objects != 4 {
		t.Fatalf("%d of %d done (%v), want a.png only", plan.Skipped, plan.Objects, err)
	}
	old := map[string][]jobs.Version{}
	err = parts(b, 1, func(n int) string { return jobs.Folder(again).Chunks(n) })(t.Context(), func(e jobs.Entry) error {
		old[e.Key] = e.Old
		return nil
	})
	want := []jobs.Version{{Job: ids[len(ids)-1], Size: 1, SHA256: ids[len(ids)-1]}, {Job: ids[0], Size: 0, SHA256: ids[0]}}
	if err != nil || len(old["torn.png"]) != 0 || len(old["c.png"]) != 2 || old["c.png"][0] != want[0] || old["c.png"][1] != want[1] {
		t.Errorf("%v (%v), want of c.png %v and of torn.png nothing", old, err, want)
	}
}

// A process that is killed after the records of a chunk are stored leaves its intents. They are of the content that the
// records have, so that the work stays done; where they are of another content, nobody knows what lies there.
func TestIntentsBesideTheirRecords(t *testing.T) {
	r := newRigOn(t, "", "file://"+t.TempDir(), "file://"+t.TempDir())
	r.worker.write = true
	r.worker.start(t, 1)
	defer r.run(r.scheduler(nil))()
	r.put(r.source, "a.png", "b.png", "c.png")
	id := r.nights(1)[0]
	err := r.client.Results(t.Context(), r.target, id, func(res jobs.Result) error {
		i := jobs.Intent{Key: res.Key, Outcome: res.Outcome, Target: res.Target, TargetSize: res.TargetSize, TargetSHA256: res.TargetSHA256}
		switch res.Key {
		case "b.png":
			i.TargetSHA256 = sha([]byte("something else"))
		case "c.png":
			return nil
		}
		line, err := json.Marshal(&i)
		if err == nil {
			err = storage.Append(t.Context(), r.bucket(r.target), jobs.Folder(id).Intent(0), append(line, '\n'))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := r.client.DryRun(t.Context(), jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny"}, nil, "")
	if err != nil || plan.Skipped != 2 || plan.Objects != 3 {
		t.Errorf("%d of %d done (%v), want a.png and c.png", plan.Skipped, plan.Objects, err)
	}
}
