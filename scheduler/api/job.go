package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
)

// Job is where a job stands. Its names are those of pelmill status --json.
type Job struct {
	Job     string     `json:"job" doc:"The job's id"`
	State   string     `json:"state" enum:"new,preparing,planned,running,pausing,paused,finishing,done,cancelling,cancelled,failed,interrupted,refused,unknown"`
	Why     string     `json:"why,omitempty" doc:"Why it does not move, or failed, in one sentence"`
	Blocked string     `json:"blocked,omitempty" doc:"What kind of thing is in the way of all the rest"`
	Error   string     `json:"error,omitempty" doc:"Why nothing else is known of the job"`
	Source  string     `json:"source"`
	Target  string     `json:"target"`
	Codec   string     `json:"codec"`
	Options string     `json:"options" doc:"Of the codec, in their canonical form"`
	Parent  string     `json:"parent,omitempty" doc:"The job whose failures this one tries again"`
	Created time.Time  `json:"created"`
	Started *time.Time `json:"started,omitempty"`
	Ended   *time.Time `json:"finished,omitempty"`
	jobs.Counts
	Saving     float64 `json:"saving" doc:"Share of the source bytes that the results save; negative where they are larger"`
	Total      int64   `json:"total" doc:"Objects of the source after filters; -1 while not known"`
	Bytes      int64   `json:"bytes,omitempty" doc:"Of these objects"`
	ChunksDone int     `json:"chunks_done"`
	Chunks     int     `json:"chunks"`
	Workers    int     `json:"workers" doc:"That are connected, for all jobs"`
	Leader     string  `json:"leader,omitempty" doc:"The scheduler that leads the job"`
	Rate       float64 `json:"objects_per_second,omitempty" doc:"0: not known, or nothing runs"`
	ByteRate   float64 `json:"bytes_per_second,omitempty"`
	ETA        float64 `json:"eta,omitempty" doc:"Seconds to the end; 0: not known, or nothing runs"`

	Verify   string   `json:"verify"`
	MinPSNR  float64  `json:"min_psnr" doc:"dB; lossy results below it are rejected; 0: no floor"`
	Strict   bool     `json:"strict,omitempty" doc:"What is unsupported counts as a failure for commands that follow the job"`
	Want     string   `json:"want,omitempty" enum:"run,pause,cancel" doc:"What the operator last wanted"`
	Wanted   Settings `json:"settings" doc:"As they are now"`
	Priority int      `json:"priority"`
	Hours    string   `json:"hours,omitempty" doc:"In which chunks start, by the scheduler's clock"`
	Actions  []string `json:"actions" doc:"What can be asked of the job in this state: start, pause, resume, cancel, retry, set" nullable:"false"`
	Version  string   `json:"version" doc:"The ETag without its quotes: changes with state, wish and settings"`

	Offline      bool `json:"offline,omitempty" doc:"Redis does not answer: counts and rates are the last that were known"`
	FailureLimit bool `json:"failure_limit,omitempty" doc:"It failed because too many objects did"`
	BudgetUsed   bool `json:"budget_used,omitempty" doc:"It is paused because its budget is used up"`

	Stages   map[string]float64 `json:"stages,omitempty" doc:"Seconds by stage, summed over objects of chunks that are done"`
	Classes  map[string]int64   `json:"classes,omitempty" doc:"Objects by the class of their error"`
	Second   jobs.SecondDecoder `json:"second_decoder,omitzero" doc:"Results that a decoder of other authors made the same picture of as the codec's own, of those that there is one for"`
	Partial  bool               `json:"classes_partial,omitempty" doc:"Stages, classes and the second decoder's share are not those of all chunks yet"`
	Timeline []TimelinePoint    `json:"timeline,omitempty" doc:"What was done after so many seconds of work"`
	Command  string             `json:"command" doc:"The equal command line"`
}

// TimelinePoint is what was done of a job after so many seconds of work.
type TimelinePoint struct {
	Seconds float64 `json:"seconds"`
	Objects int64   `json:"objects"`
	Bytes   int64   `json:"bytes" doc:"Of their sources"`
	In      int64   `json:"bytes_in" doc:"Of the sources of results"`
	Out     int64   `json:"bytes_out" doc:"Of these results"`
}

// newJob presents a status. sums may be nil; partial: they are not those of all chunks yet.
func newJob(target string, s *scheduler.Status, sums *jobs.Sums, partial bool) Job {
	j := Job{
		Job: s.Spec.ID, State: string(s.State.State), Why: s.Why, Blocked: string(s.Blocked), Source: s.Spec.Source, Target: target,
		Codec: s.Spec.Codec, Options: s.Spec.Options, Parent: s.Spec.Parent, Created: s.Spec.Created, Counts: s.Counts, Saving: s.Counts.Saving(),
		Total: s.Objects, Bytes: s.Bytes, ChunksDone: s.Done, Chunks: s.Chunks, Workers: len(s.Workers), Leader: s.Leader,
		Rate: s.Rate, ByteRate: s.ByteRate, ETA: s.ETA.Seconds(), Verify: s.Spec.Verify, MinPSNR: s.Spec.MinPSNR, Strict: s.Spec.Strict,
		Want: s.Control.Want, Wanted: NewSettings(s.Spec.Now(&s.Control)), Priority: s.Priority(), Hours: s.Hours(),
		Actions: actions(s), Offline: s.Offline, FailureLimit: s.State.Limit, BudgetUsed: s.BudgetUsed(), Command: command(&s.Spec),
	}
	if t := s.State.Started; !t.IsZero() {
		j.Started = &t
	}
	if t := s.State.Finished; !t.IsZero() {
		j.Ended = &t
	}
	if sums != nil {
		j.Stages, j.Classes, j.Second, j.Partial = maps.Clone(sums.Stages), maps.Clone(sums.Classes), sums.SecondDecoder, partial
	}
	for _, p := range s.Pace.Points {
		j.Timeline = append(j.Timeline, TimelinePoint{p.At, p.Objects, p.Bytes, p.In, p.Out})
	}
	j.Version = version(j.State, j.Want, j.Wanted, s.Control.At)
	return j
}

// version is a short hash of what it is given.
func version(parts ...any) string {
	data, _ := json.Marshal(parts)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// The actions of a job.
const (
	Start  = "start"
	Pause  = "pause"
	Resume = "resume"
	Cancel = "cancel"
	Retry  = "retry"
	Set    = "set"
)

// actions are those that make sense in the state of a job.
func actions(s *scheduler.Status) []string {
	again := func(more ...string) []string {
		more = append([]string{}, more...)
		if s.Counts.Bad() > 0 {
			more = append(more, Retry)
		}
		return more
	}
	switch s.State.State {
	case jobs.StateNew, jobs.StatePreparing, jobs.StatePlanned:
		return []string{Start, Cancel, Set}
	case jobs.StateRunning, jobs.StateRefused:
		return []string{Pause, Cancel, Set}
	case jobs.StatePausing, jobs.StatePaused:
		return []string{Resume, Cancel, Set}
	case jobs.StateFinishing, jobs.StateInterrupted:
		return []string{Cancel}
	case jobs.StateFailed:
		return again(Resume)
	case jobs.StateDone, jobs.StateCancelled:
		return again()
	}
	return []string{}
}
