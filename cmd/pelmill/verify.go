package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
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
if one does not; what is damaged is then listed in .pelmill/damaged.jsonl of DST.

--repair makes results that are damaged, missing or replaced by something foreign anew from
their sources, checks these again, and names those that could not be made, because their source
is gone for instance. Exit code 0 says that all is right afterwards. Damaged ones
are replaced only while they are what the check has seen. Sources are opened in the store of DST,
and where --allow says, a folder for instance whose results are in a bucket. pelmill retry --damaged does the same
with the list of the last verification, with --redis on a cluster.`,
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
	flags.BoolVar(&v.repair, "repair", false, "make results that are damaged, missing or foreign anew from their sources")
	v.allow.sources(flags)
	memoryFlags(flags, &v.memory, &v.timeout)
	traceFlag(flags, &v.trace)
	statsFlag(cmd, &v.stats)
	v.p.keysFlag(flags)
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
	trace    string
	repair   bool
	allow    allowFlag // sources, for repair
	names    *sitekey.Reader
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
	Bad      int64   `json:"bad"`
	Repaired int64   `json:"repaired"` // of the good ones, those that --repair has made anew
	Damaged  string  `json:"damaged_list,omitempty"`
	Seconds  float64 `json:"seconds"`
	Device   string  `json:"device"`
}

func (v *verification) run(ctx context.Context, args []string) (err error) {
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
	device, err := gpu.OpenWith(v.device, &gpu.Options{Only: true})
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
	v.names = sitekey.NewReader(ctx, target)
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
	trace, endTrace, err := openTrace(v.trace)
	if err != nil {
		return err
	}
	defer func() { err = endTrace(err) }()
	c := checking{v: v, client: client, target: target, device: device, memory: memory, trace: trace,
		claims: func(fn func(jobs.Claim) error) error { return client.Claims(ctx, target.URL, only, fn) }}
	start := time.Now()
	if v.repair {
		if err := v.continueRepairs(ctx, target.URL); err != nil {
			return err
		}
	}
	report, damaged, err := c.run(ctx, nil)
	if err != nil {
		return err
	}
	end := verifyEvent{Type: "summary", VerifyReport: report, Device: device.Name()}
	switch {
	case v.repair && len(damaged) > 0:
		if damaged, err = v.repairAll(ctx, &c, damaged, &end); err != nil {
			return err
		}
		fallthrough
	case len(damaged) > 0 || v.share == 1 && only == "":
		if err := client.KeepDamage(ctx, target.URL, damaged); err != nil {
			v.p.logger(false).Warn("the list of damaged results cannot be written", "error", err)
		} else if len(damaged) > 0 {
			end.Damaged = place(target.URL, jobs.Damaged)
		}
	}
	end.Bad, end.Seconds = end.VerifyReport.Bad(), time.Since(start).Seconds()
	return v.end(end, short(target.URL))
}

// checking is one pass over the records of a target, or over some of them.
type checking struct {
	v      *verification
	client *scheduler.Client
	target *storage.Bucket
	device *gpu.Device
	memory int64
	trace  *worker.Trace
	claims func(func(jobs.Claim) error) error
}

// run looks at the results under the given keys of the target; nil: at all. It gives
// those that are not as recorded.
func (c *checking) run(ctx context.Context, keys map[string]bool) (worker.VerifyReport, []jobs.Damage, error) {
	shown := c.v.p.display(c.v.stats)
	var mu sync.Mutex
	var sum jobs.Counts
	var damaged []jobs.Damage
	claims := func(fn func(jobs.Claim) error) error {
		return c.claims(func(claim jobs.Claim) error {
			if keys != nil && !keys[claim.Target] {
				return nil
			}
			return fn(claim)
		})
	}
	report, err := worker.VerifyTarget(ctx, c.target, claims, &worker.VerifyOptions{
		Device: c.device, CPU: c.v.encoders, Memory: c.memory, Timeout: c.v.timeout, Sample: c.v.share, Trace: c.trace,
		OnDone: func(o worker.Verdict) {
			mu.Lock()
			sum.Objects++
			if o.Problem != "" {
				sum.Failed++
				damaged = append(damaged, jobs.Damage{Key: o.Key, KeyHash: o.KeyHash, Format: o.Format, Job: o.Job, Target: o.Target, Problem: o.Problem, Error: o.Error,
					Size: o.FoundSize, SHA256: o.FoundSHA256, Parts: o.Parts})
			}
			now := sum
			mu.Unlock()
			if keys == nil {
				c.v.show(shown, o)
			}
			shown.update(snapshot{state: jobs.StateRunning, counts: now})
		},
	})
	shown.close()
	var signal *interrupted
	if errors.As(context.Cause(ctx), &signal) {
		err = &exit{code: exitInterrupted, err: errors.New("interrupted")}
	}
	return report, damaged, err
}

// show shows one result: a bad one, and with -v every one.
func (v *verification) show(d *display, o worker.Verdict) {
	r := jobs.Result{Key: o.Key, Target: o.Target, SourceFormat: o.Format, Outcome: jobs.OutcomeFailed, Class: o.Problem, Error: o.Error}
	if o.KeyHash != "" || r.Medical() {
		if err := v.names.Hash(&r); err != nil {
			sitekey.OfProcess().Reader().Hash(&r) // the key of the records cannot be read; this one needs no reading
		}
		if r = v.p.shown(r, "--show-keys shows the text"); !v.p.showKeys {
			o.Key, o.KeyHash, o.Target, o.TargetHash, o.Error = "", r.KeyHash, "", r.TargetHash, r.Error
		}
	}
	target := v.p.name(cmp.Or(r.Target, r.TargetHash))
	switch {
	case o.Problem == "" && !v.p.verbose:
	case v.p.json:
		v.p.emit(verdictEvent{"object", o})
	case v.p.quiet:
	case o.Problem == "":
		d.say("good: " + target)
	default:
		d.say(fmt.Sprintf("%s: %s: %s", o.Problem, target, r.Error))
	}
}

// problems are those of results, in the order in which they are shown.
var problems = []string{worker.ProblemMissing, worker.ProblemSize, worker.ProblemContent, worker.ProblemDecode,
	worker.ProblemImage, worker.ProblemReplaced, worker.ProblemUnknown, worker.ProblemStorage, worker.ProblemMemory}

// end prints the summary and gives the exit code.
func (v *verification) end(e verifyEvent, target string) error {
	switch {
	case v.p.json:
		if err := v.p.emit(e); err != nil {
			return err
		}
	case !v.p.quiet:
		table := [][]string{{"  results", countText(e.Objects)}, {"  good", countText(e.Good)}}
		if e.Repaired > 0 {
			table = append(table, []string{"  repaired", countText(e.Repaired) + " (of the good ones)"})
		}
		for _, problem := range problems {
			if n := e.Problems[problem]; n > 0 {
				table = append(table, []string{"  " + problem, countText(n)})
			}
		}
		if e.Left > 0 {
			table = append(table, []string{"  not looked at", countText(e.Left)})
		}
		table = append(table, []string{"  time", timeText(jobs.Counts{Objects: e.Objects, BytesIn: e.Bytes}, e.Seconds, []string{e.Device})})
		if e.Damaged != "" {
			table = append(table, []string{"  damaged", e.Damaged})
		}
		rows(v.p.stdout, table)
		if e.Damaged != "" && !v.repair {
			name := shellQuote(target)
			fmt.Fprintln(v.p.stdout, "next: "+plain.Line("pelmill verify --repair "+name+", or pelmill retry --damaged "+name))
		}
	}
	switch unclear := e.Problems[worker.ProblemUnknown] + e.Problems[worker.ProblemStorage] + e.Problems[worker.ProblemMemory]; {
	case e.Bad > unclear:
		return &exit{code: exitMismatch}
	case e.Bad > 0:
		return &exit{code: exitFailures}
	case e.Objects == 0:
		return nothingf("nothing to do: no recorded result in %s", target)
	}
	return nil
}
