package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
)

func (p *program) status() *cobra.Command {
	var all bool
	cmd := p.jobVerb("status [DST [JOB] | JOB]", "Show where a job stands, and why if it does not move",
		"Show where a job stands and, if nothing moves, why: no worker, paused, Redis full,\nthe target full or closed to us, outside its hours, waiting for start, no scheduler. --all lists the jobs of DST.\nWithout arguments and with --redis or --server it is pelmill jobs.",
		func(cmd *cobra.Command, c *cluster, r ref) error {
			if all {
				return p.jobList(cmd, c, r.target)
			}
			s, err := c.jobs.Status(cmd.Context(), r.target, r.id)
			if err != nil {
				return err
			}
			return p.showStatus(s, r)
		})
	one := cmd.RunE
	cmd.Args = arguments(0, 2)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return one(cmd, args)
		}
		c := &cluster{p: p}
		c.redis, _ = cmd.Flags().GetString("redis")
		c.server.read(cmd.Flags())
		c.allow.prefixes, _ = cmd.Flags().GetStringArray("allow")
		if !c.connected() {
			return usagef("status needs a DST or a job, or --redis or --server for the jobs of all targets there")
		}
		if err := c.open(cmd.Context()); err != nil {
			return err
		}
		defer c.close()
		return p.showJobs(cmd, c, nil)
	}
	cmd.Flags().BoolVar(&all, "all", false, "list all jobs of the target, newest last")
	return cmd
}

// statusEvent is what --json prints of a job.
type statusEvent struct {
	Type    string     `json:"type"` // "status"
	Job     string     `json:"job"`
	State   jobs.State `json:"state"`
	Why     string     `json:"why,omitempty"`
	Blocked jobs.Cause `json:"blocked,omitempty"` // what kind of thing is in the way of all the rest
	Source  string     `json:"source"`
	Target  string     `json:"target"`
	Codec   string     `json:"codec"`
	Options string     `json:"options"`
	Created time.Time  `json:"created"`
	jobs.Counts
	Priority   int     `json:"priority"`
	Hours      string  `json:"hours,omitempty"`  // in which chunks start
	Leader     string  `json:"leader,omitempty"` // the scheduler that leads the job
	Bytes      int64   `json:"bytes,omitempty"`  // of the objects of total
	Total      int64   `json:"total"`            // objects of the source after filters; -1 while not known
	Saving     float64 `json:"saving"`
	ChunksDone int     `json:"chunks_done"`
	Chunks     int     `json:"chunks"`
	Workers    int     `json:"workers"`
	Rate       float64 `json:"objects_per_second,omitempty"`
	ByteRate   float64 `json:"bytes_per_second,omitempty"`
	ETA        float64 `json:"eta,omitempty"`
}

func newStatusEvent(s scheduler.Status, r ref) statusEvent {
	return statusEvent{
		Type: "status", Job: r.id, State: s.State.State, Why: s.Why, Blocked: s.Blocked, Source: s.Spec.Source, Target: r.target,
		Codec: s.Spec.Codec, Options: s.Spec.Options, Created: s.Spec.Created, Counts: s.Counts, Saving: s.Counts.Saving(),
		ChunksDone: s.Done, Chunks: s.Chunks, Workers: len(s.Workers), Rate: s.Rate, ByteRate: s.ByteRate, ETA: s.ETA.Seconds(), Total: s.Objects,
		Priority: s.Priority(), Hours: s.Hours(), Leader: s.Leader, Bytes: s.Bytes,
	}
}

func (p *program) showStatus(s scheduler.Status, r ref) error {
	e := newStatusEvent(s, r)
	if p.json {
		return p.emit(e)
	}
	state := string(e.State)
	if e.Why != "" {
		state += ": " + e.Why
	}
	table := [][]string{
		{"job", e.Job + ", submitted " + sinceText(e.Created)},
		{"state", state},
		{"source", short(e.Source)},
		{"target", short(e.Target)},
		{"codec", strings.TrimSpace(e.Codec + " " + e.Options)},
	}
	if e.Chunks > 0 {
		table = append(table, []string{"chunks", fmt.Sprintf("%s of %s", countText(int64(e.ChunksDone)), countText(int64(e.Chunks)))})
	}
	if !e.State.Terminal() {
		table = append(table, []string{"workers", countText(int64(e.Workers))})
		priority := fmt.Sprint(e.Priority)
		if e.Hours != "" {
			priority += ", hours " + e.Hours
		}
		table = append(table, []string{"priority", priority})
	}
	if e.Total >= 0 {
		table = append(table, []string{"total", fmt.Sprintf("%s, %s", plural(e.Total, "object"), bytesText(s.Bytes))})
	}
	for _, row := range countRows(e.Counts) {
		table = append(table, []string{strings.Replace(strings.TrimSpace(row[0]), "objects", "attempted", 1), row[1]})
	}
	if e.Rate > 0 {
		text := fmt.Sprintf("%.1f objects/s, %s/s", e.Rate, bytesText(int64(e.ByteRate)))
		if e.ETA > 0 {
			text += ", ETA " + secondsText(e.ETA)
		}
		table = append(table, []string{"rate", text})
	}
	rows(p.stdout, table)
	return nil
}

// jobList prints the jobs of a target.
func (p *program) jobList(cmd *cobra.Command, c *cluster, target string) error {
	all, err := c.jobs.List(cmd.Context(), target)
	if err != nil {
		return err
	}
	var table [][]string
	for _, j := range all {
		if p.json {
			if err := p.emit(jobEvent{Type: "job", Job: j.ID, Source: j.Source, Target: target, State: j.State, Why: j.Reason}); err != nil {
				return err
			}
			continue
		}
		table = append(table, []string{j.ID, string(j.State), strings.TrimSpace(j.Codec + " " + j.Options), short(j.Source), j.Reason})
	}
	rows(p.stdout, table)
	return nil
}

// snapshotOf is the state of a job for display.
func snapshotOf(s scheduler.Status) snapshot {
	return snapshot{
		job: s.Spec.ID, state: s.State.State, why: s.Why, blocked: s.Blocked != "", total: max(0, s.Objects), counts: s.Counts,
		chunks: int64(s.Chunks), chunksDone: int64(s.Done), workers: len(s.Workers),
		rate: s.Rate, byteRate: s.ByteRate, eta: s.ETA.Seconds(),
	}
}
