package main

import (
	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/jobs"
)

func (p *program) cancel() *cobra.Command {
	return p.order("cancel DST [JOB] | JOB", "End a job; what is done stays done",
		"End a job. What is done stays, and a report is written.", jobs.WantCancel)
}
