package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/queue"
)

func (p *program) workers() *cobra.Command {
	c := &cluster{p: p}
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "List the workers of a cluster",
		Long: `List the workers that are connected to --redis or to the scheduler at --server, with their version, device, chunks at work,
objects a second, memory and when they were last seen, and those that died within the last hour
without a word.`,
		GroupID: groupJobs,
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !c.connected() {
				return usagef("workers needs --redis or --server")
			}
			if err := c.open(cmd.Context()); err != nil {
				return err
			}
			defer c.close()
			alive, gone, err := c.workers(cmd.Context())
			if err != nil {
				return err
			}
			return p.showWorkers(alive, gone)
		},
	}
	c.flags(cmd.Flags())
	c.server.flags(cmd.Flags())
	return cmd
}

// workerEvent is what --json prints of a worker.
type workerEvent struct {
	Type   string    `json:"type"` // "worker"
	Host   string    `json:"host"`
	PID    int       `json:"pid"`
	State  string    `json:"state"` // working, stopping or gone
	Chunks int       `json:"chunks"`
	Slots  int       `json:"slots"` // chunks at once
	Since  time.Time `json:"since,omitzero"`
	queue.Stats
}

func (p *program) showWorkers(alive, gone []queue.WorkerInfo) error {
	table := [][]string{{"host", "pid", "version", "device", "chunks", "rate", "objects", "memory", "last seen", "state"}}
	show := func(w queue.WorkerInfo, state string) error {
		e := workerEvent{"worker", w.Host, w.PID, state, w.Active, w.Concurrency, w.Started, w.Stats}
		if e.Device == "" {
			e.Device = w.Device
		}
		if p.json {
			return p.emit(e)
		}
		version, rate, objects, memory, seen := "-", "-", "-", "-", "-"
		if !e.At.IsZero() {
			version, rate, objects = e.Version+" "+e.Commit, fmt.Sprintf("%.1f/s", e.Rate), countText(e.Objects)
			memory, seen = bytesText(e.Memory), sinceText(e.At)
		}
		table = append(table, []string{e.Host, fmt.Sprint(e.PID), version, e.Device, fmt.Sprintf("%d of %d", e.Chunks, e.Slots), rate, objects, memory, seen, state})
		return nil
	}
	for _, w := range alive {
		state := "working"
		if w.Stopping {
			state = "stopping"
		}
		if err := show(w, state); err != nil {
			return err
		}
	}
	for _, w := range gone {
		if err := show(w, "gone"); err != nil {
			return err
		}
	}
	if len(table) > 1 {
		rows(p.stdout, table)
	}
	if len(alive)+len(gone) == 0 {
		p.hint("no workers")
	}
	return nil
}
