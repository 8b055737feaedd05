package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

// sameQuarter are the ids that a machine may make for the time of id, which tells quarters of a millisecond apart.
func sameQuarter(id string) (all []string) {
	const digits = "234567abcdefghijklmnopqrstuvwxyz"
	head, tail := id[:len(id)-2], strings.IndexByte(digits, id[len(id)-2])
	for i := range 256 {
		all = append(all, head+string(digits[tail&^7|i>>5])+string(digits[i&31]))
	}
	return all
}

// Of 256 ids that two machines make in the same quarter of a millisecond each is given to one job.
func TestSubmissionsOfTwoMachinesHaveTheirOwnIDs(t *testing.T) {
	r := newRigOn(t, services.Redis(t).URL(), "mem://source", "mem://target")
	created := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	claim := func(id string) bool {
		ok, err := r.conn.Job(id).Claim(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	others := map[string]bool{} // of another machine, a quarter of them all
	for i, id := range sameQuarter(jobs.NewID(created)) {
		if i%4 == 0 {
			others[id] = claim(id)
		}
	}
	for range 30 {
		id := r.submit(func(s *jobs.Spec) { s.Created = created }).ID
		if others[id] {
			t.Fatalf("%s is another machine's", id)
		}
		if claim(id) {
			t.Fatalf("%s was not claimed", id)
		}
	}
	if ids, err := jobIDs(r.ctx, r.bucket(r.target)); err != nil || len(ids) != 30 {
		t.Errorf("%d jobs are stored (%v)", len(ids), err)
	}
}

// Where all ids are taken nothing is stored, and the error says what to do.
func TestSubmissionWithoutAFreeID(t *testing.T) {
	r := newRigOn(t, services.Redis(t).URL(), "mem://source", "mem://target")
	created := time.Date(2026, 3, 1, 12, 0, 1, 0, time.UTC)
	// The id after one that was given is the next, which may be of the next quarter.
	for _, at := range []time.Time{created, created.Add(250 * time.Microsecond)} {
		for _, id := range sameQuarter(jobs.NewID(at)) {
			if _, err := r.conn.Job(id).Claim(r.ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err := r.client.Submit(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "tiny", Created: created}, nil, "")
	if err == nil || !strings.Contains(err.Error(), "submit it again") {
		t.Errorf("%v", err)
	}
	if ids, err := jobIDs(r.ctx, r.bucket(r.target)); err != nil || len(ids) != 0 {
		t.Errorf("jobs %v (%v)", ids, err)
	}
}

// A job with an id is what its caller says, and one that is refused takes none. One that has ended leaves none.
func TestSubmissionsThatClaimNothing(t *testing.T) {
	r := newRigOn(t, services.Redis(t).URL(), "mem://source", "mem://target")
	created := time.Date(2026, 3, 1, 12, 0, 2, 0, time.UTC)
	id := jobs.NewID(created)
	if ok, err := r.conn.Job(id).Claim(r.ctx); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if got := r.submit(func(s *jobs.Spec) { s.ID, s.Created = id, created }).ID; got != id {
		t.Errorf("submitted as %s, want %s", got, id)
	}
	if _, err := r.client.Submit(r.ctx, jobs.Spec{Source: r.source, Target: r.target, Codec: "none"}, nil, ""); err == nil {
		t.Error("a codec that there is not is accepted")
	}
	n := 0
	for keys := r.conn.Redis().Scan(r.ctx, 0, "pelmill:claim:*", 100).Iterator(); keys.Next(r.ctx); n++ {
	}
	if n != 1 {
		t.Errorf("%d ids are claimed, want the one of before", n)
	}
	r.fill(20)
	r.worker.start(t, 1)
	r.run(r.scheduler(nil))
	ended := r.submit(nil).ID
	r.ended(ended)
	if ok, err := r.conn.Job(ended).Claim(r.ctx); err != nil || !ok {
		t.Errorf("the id of a job that has ended is still claimed: %v", err)
	}
}
