package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

func (p *program) jobs() *cobra.Command {
	c := &cluster{p: p}
	cmd := &cobra.Command{
		Use:   "jobs [DST...]",
		Short: "List jobs: of a Redis, or of targets",
		Long: `List jobs with their state, objects, size, rate, remaining time, age, priority and hours.
With --redis or --server alone these are the jobs that have not ended, of all targets; with DST
all jobs of these targets.`,
		GroupID: groupJobs,
		Args:    arguments(0, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !c.connected() {
				return usagef("jobs needs a DST, or --redis or --server for the jobs of all targets there")
			}
			if err := c.open(cmd.Context()); err != nil {
				return err
			}
			defer c.close()
			return p.showJobs(cmd, c, args)
		},
	}
	c.flags(cmd.Flags())
	c.server.flags(cmd.Flags())
	c.allow.flags(cmd.Flags())
	return cmd
}

// showJobs lists the jobs of targets, without one those of the queue.
func (p *program) showJobs(cmd *cobra.Command, c *cluster, targets []string) error {
	var all []scheduler.Overview
	if len(targets) == 0 {
		policy, err := c.allow.policy()
		if err != nil {
			return err
		}
		if all, err = c.jobs.OverviewOfQueue(cmd.Context(), policy); err != nil {
			return err
		}
	}
	for _, t := range targets {
		target, err := storage.Canonical(t)
		if err != nil {
			return &exit{exitUsage, err}
		}
		of, err := c.jobs.Overview(cmd.Context(), target)
		if err != nil {
			return err
		}
		all = append(all, of...)
	}
	table := [][]string{{"job", "target", "state", "objects", "size", "rate", "ETA", "age", "priority", "hours", "why"}}
	for _, o := range all {
		if p.json {
			e := newStatusEvent(o.Status, ref{o.Target, o.ID})
			if e.Type = "job"; o.Err != nil {
				e = statusEvent{Type: "job", Job: o.ID, Target: o.Target, Total: -1, Why: o.Err.Error()}
			}
			if err := p.emit(e); err != nil {
				return err
			}
			continue
		}
		table = append(table, jobRow(o))
	}
	if !p.json && len(all) > 0 {
		rows(p.stdout, table)
	}
	if len(all) == 0 {
		p.hint("no jobs")
	}
	return nil
}

// jobRow is a job in one line. What is not known or does not apply is a dash.
func jobRow(o scheduler.Overview) []string {
	if o.Err != nil {
		return []string{o.ID, short(o.Target), "?", "-", "-", "-", "-", "-", "-", "-", o.Err.Error()}
	}
	s := o.Status
	objects, size, rate, eta, hours := countText(s.Counts.Objects), "-", "-", "-", "-"
	if s.Objects >= 0 {
		objects += " of " + countText(s.Objects)
		size = bytesText(s.Bytes)
	}
	if s.Rate > 0 {
		rate = fmt.Sprintf("%.1f/s", s.Rate)
	}
	if s.ETA > 0 {
		eta = secondsText(s.ETA.Seconds())
	}
	if h := s.Hours(); h != "" {
		hours = h
	}
	return []string{o.ID, short(o.Target), string(s.State.State), objects, size, rate, eta,
		secondsText(time.Since(s.Spec.Created).Seconds()), fmt.Sprint(s.Priority()), hours, s.Why}
}
