package main

import (
	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/jobs"
)

func (p *program) resume() *cobra.Command {
	return p.order("resume DST [JOB] | JOB", "Go on with a paused or failed job",
		"Go on with a paused job, or with a failed one once the cause is gone. One that\nstopped at its failure limit needs --force.", jobs.WantRun)
}
