// Package jobs says what a job is: its specification, its manifest and chunks,
// the record of each object, the report, the states it goes through, and the
// names of everything it owns in storage and in the queue. It does no I/O.
//
// # Three levels
//
// A job turns the objects of a source into results in a target with one codec
// and one set of options. It is divided into chunks, ranges of its manifest of 30 to
// 120 seconds of work and at most 1,000 objects. Only chunks travel through the
// queue; an object never becomes a key in Redis.
//
// # Where the truth is
//
// Everything a job is lies in its target under .pelmill/jobs/<id>/, see
// [Dir]. A chunk is done when its result shard exists there. Redis holds
// a window of tasks, a bitmap of done chunks and counters, all of which can be
// made again from storage.
//
//	.pelmill/jobs/<id>/
//	    spec.json                  what was submitted
//	    control.json               what the operator wants now: run, pause, cancel
//	    state.json                 what the scheduler has reached
//	    lease.json                 which process does it, without a cluster
//	    listing.json               how far the listing has come, while preparing
//	    given/part-00000.jsonl.zst      entries that the user named, in key order
//	    manifest/part-00000.jsonl.zst   entries of the source, in key order
//	    chunks/part-00000.jsonl.zst     entries to work on, one zstd frame a chunk
//	    plan.json                  counts, estimate, where each chunk's frame is
//	    known-00000.jsonl.zst      records of objects with a verdict of an earlier job
//	    partial/000000.jsonl.zst   records of a chunk that was interrupted
//	    results/000000.jsonl.zst   result shard of a chunk: header line, then records
//	    results-00000.jsonl.zst    all records, merged when the job finishes
//	    failed.jsonl               what failed or was rejected: itself a manifest
//	    report.html                the report for people, with charts
//	    report.json                the totals; its existence ends the job
//	.pelmill/assets/<sha256>       shared codebooks
//	.pelmill/damaged.jsonl         results that the last verification found damaged
//	.pelmill/site.key              key of hashes and sealed keys in records of medical images
//	.pelmill/series.key            key of the hashes in names of series, of --group series:headers
//	.pelmill/probe/<id>-<process>  for a moment, to find out whether the target takes writes
package jobs

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"sync"
	"time"
)

// State is where a job stands.
type State string

const (
	StateNew        State = "new"
	StatePreparing  State = "preparing" // the source is being listed
	StatePlanned    State = "planned"   // waits for start
	StateRunning    State = "running"
	StatePausing    State = "pausing" // running chunks finish, no new ones start
	StatePaused     State = "paused"
	StateFinishing  State = "finishing" // all chunks done, the report is being written
	StateDone       State = "done"      // every object was attempted; failures are counted
	StateCancelling State = "cancelling"
	StateCancelled  State = "cancelled"
	StateFailed     State = "failed" // stopped itself; State record says why

	// StateInterrupted is shown of a job without a cluster whose process has ended. No
	// state record has it.
	StateInterrupted State = "interrupted"

	// StateRefused is shown of a job whose scheduler may not open a bucket that
	// the job needs. No state record has it.
	StateRefused State = "refused"
)

// Terminal reports whether a job in this state needs no more scheduling.
// A failed job can be resumed, a done or cancelled one cannot.
func (s State) Terminal() bool { return s == StateDone || s == StateCancelled || s == StateFailed }

// Spec is a job as it was submitted. It is written once, before anything else of it.
type Spec struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Token   string    `json:"token,omitempty"`  // idempotency token of the submission
	Parent  string    `json:"parent,omitempty"` // the job whose failures this one retries, or whose results it makes anew
	Repair  bool      `json:"repair,omitempty"` // it makes damaged results anew
	Pruned  int       `json:"pruned,omitempty"` // it is no job but holds what is left of so many ended ones

	Source   string `json:"source"`             // canonical bucket URL
	Target   string `json:"target"`             // canonical bucket URL
	Manifest string `json:"manifest,omitempty"` // folder, under the job's, of the user's manifest, see [GivenKey]; empty: list the source
	Filter   Filter `json:"filter"`

	Codec     string `json:"codec"`
	Version   int    `json:"version"`         // of the codec
	Options   string `json:"options"`         // canonical, with assets named by hash; rewritten once by the plan of a job that trains
	Requested string `json:"asked,omitempty"` // canonical options as submitted, where the plan makes an asset for them

	Device    string  `json:"device,omitempty"` // auto, cpu, cuda, cuda:N: what workers must use
	Verify    string  `json:"verify"`           // full, device, sample:P, off
	MinPSNR   float64 `json:"min_psnr"`         // dB; a lossy result below it is rejected; 0: no floor
	Larger    string  `json:"larger"`           // leave or copy a source whose result would be larger
	Others    string  `json:"others,omitempty"` // leave or copy a source that is unsupported or rejected; empty: leave
	Reduce    bool    `json:"reduce,omitempty"` // 16-bit samples that are all 8-bit values times 257 become these
	Overwrite bool    `json:"overwrite,omitempty"`
	Strict    bool    `json:"strict,omitempty"`     // what is unsupported is a failure to commands that follow the job
	CopyLinks bool    `json:"copy_links,omitempty"` // links of the source were followed by the process that listed it
	Limits    Limits  `json:"limits"`

	Readers int       `json:"readers,omitempty"` // version of the readers of source files, see Verdict
	Again   []Outcome `json:"again,omitempty"`   // what earlier jobs judged so is judged anew: unsupported, rejected, kept

	FollowUp bool `json:"follow_up,omitempty"` // an intake looks at its records when it has ended; until then it is not pruned, see [Folder.FollowedUp]

	Notify []string `json:"notify,omitempty"` // URLs that are told of the end, and of a limit that is reached; whoever reads the target reads them

	Priority     int      `json:"priority"`          // 0 to 3, higher first
	Hours        string   `json:"hours,omitempty"`   // "22:00-06:00", local time of the scheduler: chunks start only then
	Settings     Settings `json:"settings,omitzero"` // beside Priority and Hours
	AutoStart    bool     `json:"auto_start"`        // do not wait for start
	Sample       int      `json:"sample"`            // objects compressed for the estimate; 0: none
	ChunkObjects int      `json:"chunk_objects"`     // most objects a chunk, at most 1,000
	ChunkBytes   int64    `json:"chunk_bytes"`       // most source bytes a chunk
	FailRatio    float64  `json:"fail_ratio"`        // the job stops above this share of failures
	FailMin      int64    `json:"fail_min"`          // ... but not before so many objects were attempted
}

// IntakeToken begins the token of a job that is a batch of an intake. Such a token is pruned with its job.
const IntakeToken = "intake "

// Limits bound what a worker accepts, zero meaning the reader's default.
type Limits struct {
	Bytes   int64 `json:"bytes,omitempty"` // of a source file
	Side    int   `json:"side,omitempty"`
	Samples int64 `json:"samples,omitempty"`
	Frames  int   `json:"frames,omitempty"`
	Ratio   int64 `json:"ratio,omitempty"` // decoded bytes over file bytes
}

// MaxNotify is the most URLs that a job can notify.
const MaxNotify = 10

// MaxChunkObjects is the most objects a chunk can have.
const MaxChunkObjects = 1000

// Defaults fills the fields of s that are zero and have a default.
func (s *Spec) Defaults() {
	if s.Device == "" {
		s.Device = "auto"
	}
	if s.Verify == "" {
		s.Verify = "full"
	}
	if s.Larger == "" {
		s.Larger = "leave"
	}
	if s.Others == "" {
		s.Others = "leave"
	}
	if s.ChunkObjects == 0 {
		s.ChunkObjects = MaxChunkObjects
	}
	if s.ChunkBytes == 0 {
		s.ChunkBytes = 256 << 20
	}
	if s.FailRatio == 0 {
		s.FailRatio = 0.5
	}
	if s.FailMin == 0 {
		s.FailMin = 100
	}
}

var verifyForm = regexp.MustCompile(`^(full|device|off|sample:(0?\.\d+|1(\.0*)?|0))$`)

// Check reports the first thing in s that is not allowed, with its value.
func (s *Spec) Check() error {
	switch {
	case !ValidID(s.ID):
		return fmt.Errorf("jobs: id %q: want the form 20060102-150405-abcd", s.ID)
	case s.Source == "" || s.Target == "":
		return fmt.Errorf("jobs: source %q, target %q: both are needed", s.Source, s.Target)
	case s.Codec == "":
		return fmt.Errorf("jobs: no codec")
	case !verifyForm.MatchString(s.Verify):
		return fmt.Errorf("jobs: verify %q: want full, device, sample:P with P from 0 to 1, or off", s.Verify)
	case s.Larger != "leave" && s.Larger != "copy":
		return fmt.Errorf("jobs: larger %q: want leave or copy", s.Larger)
	case s.Others != "" && s.Others != "leave" && s.Others != "copy":
		return fmt.Errorf("jobs: others %q: want leave or copy", s.Others)
	case s.Larger == "copy" && s.Source == s.Target:
		return fmt.Errorf("jobs: larger copy: source and target are the same, %s", s.Source)
	case s.Others == "copy" && s.Source == s.Target:
		return fmt.Errorf("jobs: others copy: source and target are the same, %s", s.Source)
	case len(s.Notify) > MaxNotify:
		return fmt.Errorf("jobs: %d URLs to notify: want at most %d", len(s.Notify), MaxNotify)
	case s.Priority < 0 || s.Priority > 3:
		return fmt.Errorf("jobs: priority %d: want 0 to 3", s.Priority)
	case s.ChunkObjects < 1 || s.ChunkObjects > MaxChunkObjects:
		return fmt.Errorf("jobs: %d objects a chunk: want 1 to %d", s.ChunkObjects, MaxChunkObjects)
	case s.ChunkBytes < 1:
		return fmt.Errorf("jobs: %d bytes a chunk: want at least 1", s.ChunkBytes)
	case s.Manifest != "" && s.Manifest != Given:
		return fmt.Errorf("jobs: manifest %q: want %s or none", s.Manifest, Given)
	case s.Filter.MinSize < 0 || s.Filter.MaxSize < 0:
		return fmt.Errorf("jobs: sizes from %d to %d: want nothing below 0", s.Filter.MinSize, s.Filter.MaxSize)
	case s.Filter.MaxDepth < 0:
		return fmt.Errorf("jobs: maximum depth %d: want nothing below 0", s.Filter.MaxDepth)
	case s.Limits.Bytes < 0 || s.Limits.Side < 0 || s.Limits.Samples < 0 || s.Limits.Frames < 0 || s.Limits.Ratio < 0:
		return fmt.Errorf("jobs: limits %+v: want nothing below 0", s.Limits)
	case s.Sample < 0 || s.FailMin < 0:
		return fmt.Errorf("jobs: sample of %d objects, failures from %d objects on: want nothing below 0", s.Sample, s.FailMin)
	case s.FailRatio < 0 || s.FailRatio > 1:
		return fmt.Errorf("jobs: failure ratio %v: want 0 to 1", s.FailRatio)
	case s.Filter.MaxSize > 0 && s.Filter.MinSize > s.Filter.MaxSize:
		return fmt.Errorf("jobs: minimum size %d is above the maximum %d", s.Filter.MinSize, s.Filter.MaxSize)
	}
	for _, o := range s.Again {
		if o != OutcomeUnsupported && o != OutcomeRejected && o != OutcomeKept {
			return fmt.Errorf("jobs: again %q: want unsupported, rejected or kept", o)
		}
	}
	if _, _, err := s.Filter.Ages(s.Created); err != nil {
		return err
	}
	if err := s.Settings.Check(); err != nil {
		return err
	}
	_, err := parseHours(s.Hours)
	return err
}

// Copies reports whether sources go to the target as they are, under their own keys,
// where they have no result.
func (s *Spec) Copies() bool { return s.Larger == "copy" || s.Others == "copy" }

// MaxSpec bounds a stored specification in bytes; it has a few hundred.
const MaxSpec = 1 << 20

// CheckAt reports why s, as read from the folder of a job, cannot be the
// specification of job id in target, a canonical URL: somebody has changed or
// copied it.
func (s *Spec) CheckAt(id, target string) error {
	filled := *s
	filled.Defaults()
	switch {
	case s.ID != id:
		return fmt.Errorf("jobs: the specification of job %s is that of %q", id, s.ID)
	case s.Target != target:
		return fmt.Errorf("jobs: the specification of job %s is for the target %q, and lies in %q", id, s.Target, target)
	}
	return filled.Check()
}

var idForm = regexp.MustCompile(`^\d{8}-\d{6}-[a-z2-7]{4}$`)

// ValidID reports whether id has the form that [NewID] gives.
func ValidID(id string) bool { return idForm.MatchString(id) }

// idDigits are the letters of base 32 in the order of their bytes.
const idDigits = "234567abcdefghijklmnopqrstuvwxyz"

// given are the tails of ids that were given for times in a second.
var given struct {
	sync.Mutex
	second int64
	tails  map[int]bool
}

// NewID returns an id whose order is the order of submission:
// "20060102-150405-abcd", in UTC. The tail is the second's fraction in steps of
// a quarter of a millisecond, 12 bits, and 8 random bits. As long as it is asked for ids of
// one second a process gives none twice.
func NewID(now time.Time) string {
	given.Lock()
	defer given.Unlock()
	if second := now.Unix(); given.second != second {
		given.second, given.tails = second, map[int]bool{}
	}
	var random [1]byte
	rand.Read(random[:])
	tail := now.Nanosecond()*4096/1e9<<8 | int(random[0])
	const tails = 1 << 20
	for tries := 0; given.tails[tail] && tries < tails; tries++ {
		tail = (tail + 1) % tails
	}
	given.tails[tail] = true
	id := []byte(now.UTC().Format("20060102-150405-"))
	for shift := 15; shift >= 0; shift -= 5 {
		id = append(id, idDigits[tail>>shift&31])
	}
	return string(id)
}

// Control is what the operator wants now; the last writer wins.
type Control struct {
	Want     string    `json:"want"` // run, pause or cancel
	Settings           // that were changed
	Resumed  time.Time `json:"resumed,omitzero"` // when the operator last had the job run: its budget begins anew
	Force    bool      `json:"force,omitempty"`  // go on although the failure limit was reached
	At       time.Time `json:"at"`
}

// The wishes of [Control].
const (
	WantRun    = "run"
	WantPause  = "pause"
	WantCancel = "cancel"
)

// Budget is where the budget of a job began, see [Settings].
type Budget struct {
	From    Work      `json:"from"`              // what was done then
	Seconds float64   `json:"seconds,omitempty"` // of work since then, as of the last time that this was written
	Resumed time.Time `json:"resumed,omitzero"`  // of the control record that began it
	Used    bool      `json:"used_up,omitempty"` // it is used up: the job is paused until it is resumed or has another one
}

// StateRecord is what the scheduler has reached. Only the job's leader writes it.
type StateRecord struct {
	State    State     `json:"state"`
	Reason   string    `json:"reason,omitempty"`  // why a job failed or does not move, one sentence
	Limit    bool      `json:"limit,omitempty"`   // it failed because its failure limit was reached
	Blocked  Cause     `json:"blocked,omitempty"` // it is paused because something blocks it, see Block
	Leader   string    `json:"leader,omitempty"`
	Started  time.Time `json:"started,omitzero"`  // first chunk fed
	Finished time.Time `json:"finished,omitzero"` // report written
	Budget   Budget    `json:"budget,omitzero"`
	Answered time.Time `json:"heard,omitzero"` // At of the control record that this state answers
	At       time.Time `json:"at"`
}
