package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/worker"
)

func (p *program) verify() *cobra.Command {
	v := &verification{p: p}
	cmd := &cobra.Command{
		Use:   "verify DST [JOB]",
		Short: "Check every recorded result in a target",
		Long: `Read every result that the jobs of DST (or one of them) recorded and hold it against its
record: it is there, has the recorded size and SHA-256, decodes to the picture that was
recorded when it was made, and no job of another source has replaced it since. Exit code 5
if one does not.`,
		GroupID: groupData,
		Args:    arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.run(cmd.Context(), args)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&v.share, "share", 1, "look only at this share of the results, from 0 to 1, always the same ones")
	flags.StringVar(&v.device, "device", "cpu", "`DEVICE` that decodes: auto, cpu, cuda or cuda:N")
	flags.IntVar(&v.encoders, "encoders", 0, "pictures decoded at once; 0 is one a core")
	memoryFlags(flags, &v.memory, &v.timeout)
	statsFlag(cmd, &v.stats)
	return cmd
}

// verification is one run of the verb verify.
type verification struct {
	p        *program
	share    float64
	device   string
	encoders int
	memory   size
	timeout  time.Duration
	stats    time.Duration
}

// verdictEvent is what --json prints of a result.
type verdictEvent struct {
	Type string `json:"type"` // "object"
	worker.Verdict
}

// verifyEvent is the last line of --json.
type verifyEvent struct {
	Type string `json:"type"` // "summary"
	worker.VerifyReport
	Bad     int64   `json:"bad"`
	Seconds float64 `json:"seconds"`
	Device  string  `json:"device"`
}

func (v *verification) run(ctx context.Context, args []string) error {
	if v.share <= 0 || v.share > 1 {
		return usagef("--share %v: want more than 0 and at most 1", v.share)
	}
	if len(args) == 2 && !jobs.ValidID(args[1]) {
		return usagef("%q is not a job's id; ids look like 20060102-150405-abcd", args[1])
	}
	if err := checkDevice(v.device); err != nil {
		return err
	}
	memory, err := checkMemory(v.memory, v.timeout)
	if err != nil {
		return err
	}
	device, err := gpu.Open(v.device)
	if err != nil {
		return err
	}
	buckets := v.p.newBuckets()
	defer buckets.Close()
	client := &scheduler.Client{Buckets: buckets}
	target, err := buckets.Open(ctx, args[0])
	if err != nil {
		return err
	}
	only := ""
	if len(args) == 2 {
		only = args[1]
		if _, err := client.Spec(ctx, target.URL, only); err != nil {
			return err
		}
	} else if _, err := client.Newest(ctx, target.URL); errors.Is(err, scheduler.ErrNoJob) {
		return nothingf("nothing to do: no job in %s", short(target.URL))
	} else if err != nil {
		return err
	}
	claims := func(fn func(jobs.Claim) error) error { return client.Claims(ctx, target.URL, only, fn) }
	shown := v.p.display(v.stats)
	var mu sync.Mutex
	var sum jobs.Counts
	start := time.Now()
	report, err := worker.VerifyTarget(ctx, target, claims, &worker.VerifyOptions{
		Device: device, CPU: v.encoders, Memory: memory, Timeout: v.timeout, Sample: v.share,
		OnDone: func(o worker.Verdict) {
			mu.Lock()
			sum.Objects++
			if o.Problem != "" {
				sum.Failed++
			}
			now := sum
			mu.Unlock()
			v.show(shown, o)
			shown.update(snapshot{state: jobs.StateRunning, counts: now})
		},
	})
	shown.close()
	var signal *interrupted
	switch {
	case errors.As(context.Cause(ctx), &signal):
		return &exit{code: exitInterrupted, err: errors.New("interrupted")}
	case err != nil:
		return err
	}
	return v.end(report, time.Since(start).Seconds(), device.Name(), short(target.URL))
}

// show shows one result: a bad one, and with -v every one.
func (v *verification) show(d *display, o worker.Verdict) {
	switch {
	case o.Problem == "" && !v.p.verbose:
	case v.p.json:
		v.p.emit(verdictEvent{"object", o})
	case v.p.quiet:
	case o.Problem == "":
		d.say("good: " + v.p.name(o.Target))
	default:
		d.say(fmt.Sprintf("%s: %s: %s", o.Problem, v.p.name(o.Target), o.Error))
	}
}

// end prints the summary and gives the exit code.
func (v *verification) end(r worker.VerifyReport, seconds float64, device, target string) error {
	switch {
	case v.p.json:
		if err := v.p.emit(verifyEvent{"summary", r, r.Bad(), seconds, device}); err != nil {
			return err
		}
	case !v.p.quiet:
		table := [][]string{{"  results", countText(r.Objects)}, {"  good", countText(r.Good)}}
		for _, problem := range []string{worker.ProblemMissing, worker.ProblemSize, worker.ProblemContent, worker.ProblemDecode,
			worker.ProblemImage, worker.ProblemReplaced, worker.ProblemUnknown, worker.ProblemStorage, worker.ProblemMemory} {
			if n := r.Problems[problem]; n > 0 {
				table = append(table, []string{"  " + problem, countText(n)})
			}
		}
		if r.Left > 0 {
			table = append(table, []string{"  not looked at", countText(r.Left)})
		}
		rows(v.p.stdout, append(table, []string{"  time", timeText(jobs.Counts{Objects: r.Objects, BytesIn: r.Bytes}, seconds, []string{device})}))
	}
	switch unclear := r.Problems[worker.ProblemUnknown] + r.Problems[worker.ProblemStorage] + r.Problems[worker.ProblemMemory]; {
	case r.Bad() > unclear:
		return &exit{code: exitMismatch}
	case r.Bad() > 0:
		return &exit{code: exitFailures}
	case r.Objects == 0:
		return nothingf("nothing to do: no recorded result in %s", target)
	}
	return nil
}
