package api

import (
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
)

// JobsQuery says which jobs are wanted.
type JobsQuery struct {
	Target string   // canonical URL; empty: all
	States []string // nil: all
	Cursor string   // of the page before
	Limit  int
}

// JobList is a page of jobs, newest first.
type JobList struct {
	Jobs []Job  `json:"jobs" nullable:"false"`
	Next string `json:"next_cursor,omitempty" doc:"Of the next page; absent on the last one"`
}

// ResultPage is a page of the records of a job, in the order of their keys.
type ResultPage struct {
	Results []jobs.Result `json:"results" nullable:"false"`
	Next    string        `json:"next_cursor,omitempty" doc:"Of the next page; absent on the last one. A page may have fewer results than asked for, or none, and still have a next one"`
}

// Plan is what a job is going to do.
type Plan struct {
	Job          string                 `json:"job"`
	Source       string                 `json:"source"`
	Target       string                 `json:"target"`
	Codec        string                 `json:"codec"`
	Options      string                 `json:"options"`
	MinPSNR      float64                `json:"min_psnr,omitempty"`
	Objects      int64                  `json:"objects" doc:"Of the source, after filters"`
	Bytes        int64                  `json:"bytes"`
	Skipped      int64                  `json:"skipped" doc:"Done before"`
	SkippedBytes int64                  `json:"skipped_bytes"`
	Known        map[jobs.Outcome]int64 `json:"known,omitempty" doc:"Of skipped: those with a verdict of an earlier job"`
	Filtered     int64                  `json:"filtered" doc:"Left out by filters"`
	Links        int64                  `json:"links" doc:"Symbolic links of the source, skipped"`
	Collisions   int64                  `json:"collisions" doc:"Objects that keep their extension in the target, because others share their name"`
	Unfit        int64                  `json:"unfit" doc:"Objects that will fail, because the target can hold no result under their name"`
	Chunks       int                    `json:"chunks"`
	Estimate     *jobs.Estimate         `json:"estimate,omitempty" doc:"From compressing a sample"`
	Expect       *jobs.Expect           `json:"expect,omitempty" doc:"Requests, bytes and seconds"`
	Cost         *jobs.Cost             `json:"cost,omitempty" doc:"Where the scheduler has --prices"`
}

func newPlan(s *jobs.Spec, p *jobs.Plan, prices *jobs.Prices) Plan {
	out := Plan{
		Job: p.Job, Source: s.Source, Target: s.Target, Codec: s.Codec, Options: s.Options, MinPSNR: s.MinPSNR,
		Objects: p.Objects, Bytes: p.Bytes, Skipped: p.Skipped, SkippedBytes: p.SkippedBytes, Known: p.Known, Filtered: p.Filtered,
		Links: p.Links, Collisions: p.Collisions, Unfit: p.Unfit, Chunks: len(p.Chunks), Estimate: p.Estimate, Expect: p.Expect,
	}
	if p.Expect != nil && prices != nil {
		c := p.Expect.Cost(*prices)
		out.Cost = &c
	}
	return out
}

// Worker is a worker process.
type Worker struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	State   string    `json:"state" enum:"working,stopping,gone" doc:"gone: it died within the last hour without a word"`
	Chunks  int       `json:"chunks" doc:"At work"`
	Slots   int       `json:"slots" doc:"Chunks at once"`
	Since   time.Time `json:"since,omitzero"`
	Device  string    `json:"device"`
	Version string    `json:"version"`
	Commit  string    `json:"commit"`
	CPU     int       `json:"cpu" doc:"Pictures at once"`
	Cores   int       `json:"cores" doc:"Of its machine"`
	Objects int64     `json:"objects" doc:"With a record since it started"`
	Rate    float64   `json:"rate" doc:"Objects a second, of late"`
	Memory  int64     `json:"memory" doc:"Bytes that it holds"`
	At      time.Time `json:"at,omitzero" doc:"When it last said so, by its clock"`
}

// Workers are the workers of a cluster.
type Workers struct {
	Workers []Worker `json:"workers" nullable:"false"`
}

func newWorker(w queue.WorkerInfo, state string) Worker {
	return Worker{Host: w.Host, PID: w.PID, State: state, Chunks: w.Active, Slots: w.Concurrency, Since: w.Started, Device: w.Device, Version: w.Version,
		Commit: w.Commit, CPU: w.CPU, Cores: w.Cores, Objects: w.Objects, Rate: w.Rate, Memory: w.Memory, At: w.At}
}

// Codec is a codec that the scheduler knows, as pelmill codecs --json has it.
type Codec struct {
	Name      string        `json:"name"`
	Title     string        `json:"title"`
	Extension string        `json:"extension"`
	Also      []string      `json:"also,omitempty" doc:"Other extensions, by options"`
	MediaType string        `json:"media_type"`
	Version   int           `json:"version"`
	Lossless  bool          `json:"lossless"`
	Floor     float64       `json:"floor" doc:"dB, default of min_psnr where results are lossy"`
	Channels  []int         `json:"channels" nullable:"false"`
	MinBits   int           `json:"min_bits"`
	MaxBits   int           `json:"max_bits"`
	Signed    bool          `json:"signed"`
	Slices    bool          `json:"slices" doc:"Takes volumes"`
	MaxSide   int           `json:"max_side"`
	Options   []CodecOption `json:"options" nullable:"false"`
}

// CodecOption is an option of a codec.
type CodecOption struct {
	Key     string `json:"key"`
	Default string `json:"default"`
	Values  string `json:"values"`
	Help    string `json:"help"`
}

// Codecs are the codecs that the scheduler knows.
type Codecs struct {
	Codecs []Codec `json:"codecs" nullable:"false"`
}

func newCodec(info codec.Info) Codec {
	a := info.Accepts
	c := Codec{info.Name, info.Title, info.Extension, info.Also, info.MediaType, info.Version, info.Lossless, info.Floor,
		a.Channels, a.MinBits, a.MaxBits, a.Signed, a.Slices, a.MaxSide, []CodecOption{}}
	if c.Channels == nil {
		c.Channels = []int{}
	}
	for _, o := range info.Options {
		c.Options = append(c.Options, CodecOption(o))
	}
	return c
}

// Target is a place that has, or may have, jobs.
type Target struct {
	Target string `json:"target"`
	Named  bool   `json:"named" doc:"The scheduler was started with it: its ended jobs are listed too"`
}

// Targets are the places of jobs.
type Targets struct {
	Targets []Target `json:"targets" nullable:"false"`
	Allowed []string `json:"allow" nullable:"false" doc:"Prefixes that sources and targets must have; s3://, gs:// and azblob:// alone are all buckets of these stores without parameters"`
}
