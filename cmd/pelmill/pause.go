package main

import (
	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/jobs"
)

func (p *program) pause() *cobra.Command {
	return p.order("pause DST [JOB] | JOB", "Let the chunks at work finish and start no more",
		"Pause a job: chunks at work finish, no more are started.", jobs.WantPause)
}
