package main

import (
	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/jobs"
)

func (p *program) start() *cobra.Command {
	return p.order("start DST [JOB] | JOB", "Start a job that waits after its plan",
		"Start a job that was submitted without --yes and waits after its plan.", jobs.WantRun)
}
