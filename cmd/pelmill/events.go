package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// The objects that --json prints, one a line, which differ by their type. Fields
// are added in later versions and never renamed.

// planEvent is what a job is going to do.
type planEvent struct {
	Type         string                 `json:"type"` // "plan"
	Job          string                 `json:"job,omitempty"`
	Source       string                 `json:"source"`
	Target       string                 `json:"target"`
	Codec        string                 `json:"codec"`
	Options      string                 `json:"options"`
	MinPSNR      float64                `json:"min_psnr,omitempty"` // dB; lossy results below it are rejected
	Objects      int64                  `json:"objects"`
	Bytes        int64                  `json:"bytes"`
	Skipped      int64                  `json:"skipped"`
	SkippedBytes int64                  `json:"skipped_bytes"`
	Known        map[jobs.Outcome]int64 `json:"known,omitempty"` // of skipped, see summaryEvent
	Filtered     int64                  `json:"filtered"`
	Links        int64                  `json:"links"` // symbolic links, skipped
	Collisions   int64                  `json:"collisions"`
	Unfit        int64                  `json:"unfit"`
	Chunks       int                    `json:"chunks"`
	DryRun       bool                   `json:"dry_run,omitempty"`
	Estimate     *jobs.Estimate         `json:"estimate,omitempty"`
	Expect       *jobs.Expect           `json:"expect,omitempty"` // requests, bytes and seconds
	Cost         *jobs.Cost             `json:"cost,omitempty"`   // with --prices
}

func newPlanEvent(s jobs.Spec, p jobs.Plan) planEvent {
	return planEvent{
		Type: "plan", Job: p.Job, Source: s.Source, Target: s.Target, Codec: s.Codec, Options: s.Options, MinPSNR: s.MinPSNR,
		Objects: p.Objects, Bytes: p.Bytes, Skipped: p.Skipped, SkippedBytes: p.SkippedBytes,
		Known: p.Known, Filtered: p.Filtered, Links: p.Links, Collisions: p.Collisions, Unfit: p.Unfit, Chunks: len(p.Chunks), Estimate: p.Estimate, Expect: p.Expect,
	}
}

// progressEvent is where a job stands. Rates are of objects and source bytes
// per second, an ETA is in seconds; both are absent while unknown.
type progressEvent struct {
	Type       string     `json:"type"` // "progress"
	Job        string     `json:"job"`
	State      jobs.State `json:"state"`
	Why        string     `json:"why,omitempty"` // why nothing moves
	Total      int64      `json:"total"`
	ChunksDone int64      `json:"chunks_done"`
	Chunks     int64      `json:"chunks"`
	jobs.Counts
	Saving           float64 `json:"saving"`
	ObjectsPerSecond float64 `json:"objects_per_second,omitempty"`
	BytesPerSecond   float64 `json:"bytes_per_second,omitempty"`
	ETA              float64 `json:"eta,omitempty"`
}

// objectEvent is the record of one object.
type objectEvent struct {
	Type string `json:"type"` // "object"
	jobs.Result
}

// summaryEvent is the last line of a verb that worked on images.
type summaryEvent struct {
	Type  string     `json:"type"` // "summary"
	Job   string     `json:"job,omitempty"`
	State jobs.State `json:"state"`
	jobs.Counts
	Attributes map[string]int64 `json:"dropped_attributes,omitempty"` // objects by what their file could not keep
	Saving     float64          `json:"saving"`

	InTarget int64                  `json:"in_target"`        // objects with a result or a copy in the target
	Left     map[jobs.Outcome]int64 `json:"left,omitempty"`   // the others by outcome
	Strict   bool                   `json:"strict,omitempty"` // what is unsupported gives code 3
	Known    map[jobs.Outcome]int64 `json:"known,omitempty"`  // of skipped: what an earlier run judged so and that has nothing in the target
	Why      string                 `json:"nothing_compressed,omitempty"`

	PSNR       float64            `json:"psnr,omitempty"`
	SSIM       float64            `json:"ssim,omitempty"`
	Second     jobs.SecondDecoder `json:"second_decoder,omitzero"`
	Seconds    float64            `json:"seconds"`
	Device     string             `json:"device"`
	Report     string             `json:"report,omitempty"`
	FailedList string             `json:"failed_list,omitempty"`
	Links      int64              `json:"links"` // symbolic links of the source, skipped
	Reason     string             `json:"reason,omitempty"`
}

// emit prints v as one line of JSON. Infinite and other numbers without a JSON
// form cannot occur in our types.
func (p *program) emit(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	p.printing.Lock()
	defer p.printing.Unlock()
	_, err = p.stdout.Write(append(b, '\n'))
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// sinceText renders how long ago t was.
func sinceText(t time.Time) string {
	return secondsText(time.Since(t).Seconds()) + " ago"
}
