package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/notify"
	"github.com/pelmill/pelmill/storage"
)

// jobFlags are the flags that say what a job does; compress and submit have
// them.
type jobFlags struct {
	spec    jobs.Spec
	options []string
	filterFlags
	settingsFlags
	filesFrom      string
	manifest       string
	manifestFormat string
	group          string
	limitBytes     size
	chunkBytes     size
	dryRun, yes    bool
	strict         bool
	minPSNR        decibels
	again          []string

	list   io.Reader // of the user's manifest; nil: the source is listed
	format string    // of it
}

// flags adds them to a verb; sample is the default of --sample.
func (j *jobFlags) flags(fs *pflag.FlagSet, sample int) {
	s := &j.spec
	j.work(fs)
	j.settingsFlags.flags(fs)
	fs.StringSliceVar(&j.again, "again", nil, "judge anew what an earlier run found `OUTCOME`: unsupported, rejected or kept, separated by commas")
	fs.BoolVar(&j.strict, "strict", false, "end with code 3 if anything was unsupported; of a submitted job, pelmill watch does")
	fs.StringVar(&j.filesFrom, "files-from", "", "take the keys that `FILE` lists, one a line, instead of listing the source; - is standard input")
	fs.StringVar(&j.manifest, "manifest", "", "take the objects of this manifest `FILE` instead of listing the source; - is standard input")
	fs.StringVar(&j.group, "group", "", "make one object of the files of each DICOM series: `series` is a folder or, with --manifest, what its column series names, series:headers reads the beginning of every object to find out")
	fs.StringVar(&j.manifestFormat, "manifest-format", "", "`FORMAT` of the manifest: csv, jsonl or inventory; default by its name")
	fs.StringArrayVar(&s.Notify, "notify", nil, "tell `URL` by a signed webhook when the job is done, has failed or is paused by a limit; may be repeated, and whoever reads DST can read it")
	fs.StringVar(&s.Token, "token", "", "idempotency `TOKEN`: a second submission with it returns the first one's job")
	fs.IntVar(&s.Sample, "sample", sample, "compress so many objects first to estimate saving and time")
	fs.BoolVar(&j.dryRun, "dry-run", false, "list, filter, compare and estimate, but write nothing")
	fs.BoolVarP(&j.yes, "yes", "y", false, "start without waiting for pelmill start; compress always does")
}

// work adds the flags that say what is done to which objects; intake has only these.
func (j *jobFlags) work(fs *pflag.FlagSet) {
	s := &j.spec
	s.Defaults()
	j.chunkBytes = size(s.ChunkBytes)
	fs.StringVar(&s.Codec, "codec", "", "codec `NAME`; pelmill codecs lists them, and auto chooses one for each source by its kind, without loss")
	fs.StringArrayVarP(&j.options, "option", "o", nil, "codec option `KEY=VALUE`, may be repeated")
	fs.StringVar(&s.Device, "device", s.Device, "`DEVICE` that encodes: auto, cpu, cuda or cuda:N")
	fs.StringVar(&s.Verify, "verify", s.Verify, "`HOW` results are checked: full (decoded on the CPU), device, sample:P with P from 0 to 1, or off; DICOM files are always checked in full")
	fs.Var(&j.minPSNR, "min-psnr", "reject lossy results below so many `DB`; 0 is no floor, and the default is that of the codec ("+floorsText()+")")
	fs.StringVar(&s.Larger, "larger", s.Larger, "`WHAT` to do with a source whose result would be larger: leave or copy it")
	fs.StringVar(&s.Others, "others", s.Others, "`WHAT` to do with sources that are unsupported or rejected: leave or copy them, so that with --larger copy the target has everything")
	fs.BoolVar(&s.Reduce, "reduce", false, "compress 16-bit pictures whose samples are all 8-bit values times 257 as 8-bit pictures, without loss; records note it (pelmill decompress --reduce is about size)")
	fs.BoolVar(&s.Overwrite, "overwrite", false, "replace what is in the way in the target, unless a job that has not ended owns it")

	j.filterFlags.flags(fs)

	fs.Var(&j.limitBytes, "limit-bytes", "reject larger source files")
	fs.IntVar(&s.Limits.Side, "limit-side", 0, "reject pictures with a longer side, in samples")
	fs.Int64Var(&s.Limits.Samples, "limit-samples", 0, "reject pictures with more samples")
	fs.IntVar(&s.Limits.Frames, "limit-frames", 0, "reject files with more frames")
	fs.Int64Var(&s.Limits.Ratio, "limit-ratio", 0, "reject files that decode to more than so many times their size")

	fs.IntVar(&s.Priority, "priority", 0, "0 to 3, higher first")
	fs.StringVar(&s.Hours, "hours", "", "start chunks only in these `HOURS` of the scheduler's day, such as 22:00-06:00")
	fs.IntVar(&s.ChunkObjects, "chunk-objects", s.ChunkObjects, "most objects a chunk")
	fs.Var(&j.chunkBytes, "chunk-bytes", "most source bytes a chunk")
	fs.Float64Var(&s.FailRatio, "fail-ratio", s.FailRatio, "stop when more than this share of the attempted objects failed; 1 is never")
	fs.Int64Var(&s.FailMin, "fail-min", s.FailMin, "... but not before so many were attempted")
}

// leastRatio stands for a --fail-ratio of zero: any failure is more.
const leastRatio = 1e-12

// verb makes a verb of SRC and DST whose flags say what a job does.
func (j *jobFlags) verb(run func(ctx context.Context, spec jobs.Spec) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if j.spec.Codec == codecs.Auto && !cmd.Flags().Changed("sample") {
			j.spec.Sample = max(j.spec.Sample, dryRunSample) // what to expect of each kind is shown before the work begins
		}
		spec, err := j.build(args[0], args[1])
		if err != nil {
			return err
		}
		return run(cmd.Context(), spec)
	}
}

// build checks everything that can be checked without looking at the buckets
// and returns the specification, without an id.
func (j *jobFlags) build(source, target string) (jobs.Spec, error) {
	s := j.spec
	var err error
	if s.Source, err = storage.Canonical(source); err != nil {
		return s, &exit{exitUsage, err}
	}
	if s.Target, err = storage.Canonical(target); err != nil {
		return s, &exit{exitUsage, err}
	}
	if err := j.grouping(); err != nil {
		return s, err
	}
	resolved, err := resolve(s.Codec, j.options)
	if err != nil {
		return s, err
	}
	s.Version = resolved.Info().Version
	if s.MinPSNR = j.minPSNR.value; !j.minPSNR.given {
		s.MinPSNR = resolved.MinPSNR()
	}
	s.Options = codec.JoinPairs(j.options)
	if s.Filter, err = j.filter(); err != nil {
		return s, err
	}
	if j.manifest != "" || j.filesFrom != "" {
		s.Filter.DefaultExcludes = false // what is named is meant
	}
	for _, o := range j.again {
		s.Again = append(s.Again, jobs.Outcome(o))
	}
	if s.Settings, err = j.settings(); err != nil {
		return s, err
	}
	s.Strict = j.strict
	for _, to := range s.Notify {
		if err := notify.CheckURL(to); err != nil {
			return s, usagef("--notify: %w", err)
		}
	}
	s.Limits.Bytes = int64(j.limitBytes)
	s.ChunkBytes = int64(j.chunkBytes)
	if err := checkDevice(s.Device); err != nil {
		return s, err
	}
	for _, n := range []struct {
		flag  string
		value int64
	}{
		{"limit-side", int64(s.Limits.Side)}, {"limit-samples", s.Limits.Samples}, {"limit-frames", int64(s.Limits.Frames)},
		{"limit-ratio", s.Limits.Ratio}, {"sample", int64(s.Sample)}, {"fail-min", s.FailMin},
	} {
		if n.value < 0 {
			return s, usagef("--%s %d: want 0 or more", n.flag, n.value)
		}
	}
	// In a specification zero stands for the default.
	if s.FailRatio == 0 {
		s.FailRatio = leastRatio
	}
	s.FailMin = max(1, s.FailMin)
	checked := s
	checked.ID = "20060102-150405-aaaa"
	if err := checked.Check(); err != nil {
		return s, &exit{exitUsage, err}
	}
	return s, nil
}

// groups are the values of --group with what they mean for a source that is listed.
var groups = map[string]string{"series": scheduler.GroupFolders, "series:headers": scheduler.GroupHeaders}

// grouping checks --group, and has the codec make volumes.
func (j *jobFlags) grouping() error {
	switch {
	case j.group == "":
		return nil
	case groups[j.group] == "":
		return usagef("--group %q: want series or series:headers", j.group)
	case j.filesFrom != "":
		return usagef("--group and --files-from cannot be given together: a manifest with a column series names the parts of series")
	case j.manifest != "" && j.group != "series":
		return usagef("--group %s is for a source that is listed: with a manifest its column series says what belongs together", j.group)
	case j.spec.Codec != "jpeg2000" && j.spec.Codec != "":
		return usagef("--group makes volumes, which --codec jpeg2000 does")
	}
	if !slices.ContainsFunc(j.options, func(o string) bool { return strings.HasPrefix(o, "container=") }) {
		j.options = append(j.options, "container=jp3d")
	}
	if !slices.Contains(j.options, "container=jp3d") {
		return usagef("--group makes volumes, which -o container=jp3d does")
	}
	return nil
}

// filterFlags select objects of a source.
type filterFlags struct {
	include, exclude []string
	ignoreCase       bool
	noDefaults       bool
	minSize, maxSize size
	minAge, maxAge   string
	maxDepth         int
}

func (f *filterFlags) flags(fs *pflag.FlagSet) {
	f.patterns(fs)
	fs.Var(&f.minSize, "min-size", "leave out smaller objects, in bytes or with K, M or G")
	fs.Var(&f.maxSize, "max-size", "leave out larger objects, in bytes or with K, M or G")
	fs.StringVar(&f.minAge, "min-age", "", "leave out objects written later than `AGE` ago: seconds, or with ms, s, m, h, d, w, M or y, or a time such as 2026-11-22")
	fs.StringVar(&f.maxAge, "max-age", "", "leave out objects written earlier than `AGE` ago")
}

// patterns adds the flags that look at keys only.
func (f *filterFlags) patterns(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.include, "include", nil, "take only keys that match `PATTERN`, may be repeated; as in rclone, *.png matches in every folder, /a/*.png in one, and ** also passes /; extensions match in any case")
	fs.StringArrayVar(&f.exclude, "exclude", nil, "leave out keys that match `PATTERN`, may be repeated")
	fs.BoolVar(&f.ignoreCase, "ignore-case", false, "let all of a pattern match in any case, not only extensions")
	fs.BoolVar(&f.noDefaults, "no-default-excludes", false, "take also "+strings.Join(jobs.DefaultExcludes(), ", ")+", which are left out unless a list of keys or a manifest names them")
	fs.IntVar(&f.maxDepth, "max-depth", -1, "go so many `LEVELS` deep: 1 is what lies in SRC itself, -1 everything")
}

// filter checks the flags.
func (f *filterFlags) filter() (jobs.Filter, error) {
	filter := jobs.Filter{Include: f.include, Exclude: f.exclude, IgnoreCase: f.ignoreCase, DefaultExcludes: !f.noDefaults,
		MinSize: int64(f.minSize), MaxSize: int64(f.maxSize), MaxDepth: max(0, f.maxDepth)}
	if f.maxDepth == 0 || f.maxDepth < -1 {
		return filter, usagef("--max-depth %d: want 1 or more, or -1 for all levels", f.maxDepth)
	}
	for _, age := range []struct {
		flag, text string
		to         *string
	}{{"min-age", f.minAge, &filter.MinAge}, {"max-age", f.maxAge, &filter.MaxAge}} {
		var err error
		if *age.to, err = jobs.CanonicalAge(age.text); err != nil {
			return filter, usagef("--%s: %w", age.flag, err)
		}
	}
	if _, err := scheduler.Matcher(filter); err != nil {
		return filter, &exit{exitUsage, err}
	}
	return filter, nil
}

// resolve finds what --codec names for a job, and reads its options.
func resolve(name string, pairs []string) (codecs.Resolved, error) {
	if name != codecs.Auto {
		c, opts, err := codecOf(name, pairs)
		return codecs.Resolved{Codec: c, Options: opts}, err
	}
	r, err := codecs.Resolve(nil, name, 0, codec.JoinPairs(pairs))
	if err != nil {
		return r, &exit{exitUsage, err}
	}
	return r, nil
}

// codecOf finds a codec and reads its options.
func codecOf(name string, pairs []string) (codec.Codec, codec.Options, error) {
	if name == "" {
		return nil, nil, usagef("--codec is missing; pelmill codecs lists them")
	}
	c, err := codecs.Find(name)
	if err != nil {
		return nil, nil, &exit{exitUsage, err}
	}
	opts, err := c.Options(pairs)
	if err != nil {
		return nil, nil, &exit{exitUsage, err}
	}
	return c, opts, nil
}

var deviceForm = regexp.MustCompile(`^(auto|cpu|cuda(:\d+)?)$`)

// checkDevice checks the form of a --device value. Whether there is such a
// device is for the worker to find out.
func checkDevice(spec string) error {
	if !deviceForm.MatchString(spec) {
		return usagef("--device %q: want auto, cpu, cuda or cuda:N", spec)
	}
	return nil
}

// open opens the user's manifest, if there is one, and finds out its format.
// The caller closes j.
func (j *jobFlags) open() error {
	name := j.manifest
	j.format = j.manifestFormat
	switch {
	case j.manifest != "" && j.filesFrom != "":
		return usagef("--manifest and --files-from cannot be given together")
	case j.filesFrom != "" && j.format != "":
		return usagef("--manifest-format belongs to --manifest, not to --files-from")
	case j.filesFrom != "":
		name, j.format = j.filesFrom, scheduler.FilesFrom
	case name == "":
		if j.format = groups[j.group]; j.group != "" && j.manifestFormat != "" {
			return usagef("--manifest-format belongs to --manifest")
		}
		return nil
	case j.format == "":
		switch ext := strings.ToLower(filepath.Ext(strings.TrimSuffix(name, ".gz"))); ext {
		case ".csv":
			j.format = scheduler.CSV
		case ".jsonl", ".ndjson", ".json":
			j.format = scheduler.JSONL
		default:
			return usagef("manifest %s: its name says no format; give --manifest-format csv, jsonl or inventory", name)
		}
	case j.format != scheduler.CSV && j.format != scheduler.JSONL && j.format != scheduler.Inventory:
		return usagef("--manifest-format %q: want csv, jsonl or inventory", j.format)
	}
	if name == "-" {
		j.list = os.Stdin
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return usagef("manifest: %w", err)
	}
	j.list = f
	return nil
}

func (j *jobFlags) close() {
	if f, ok := j.list.(*os.File); ok && f != os.Stdin {
		f.Close()
	}
}
