package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// Submission is a new job. What is absent has the default of pelmill submit.
type Submission struct {
	Source  string            `json:"source" minLength:"1" maxLength:"4096" doc:"Bucket URL" example:"s3://scans"`
	Target  string            `json:"target" minLength:"1" maxLength:"4096" doc:"Bucket URL" example:"s3://scans-webp"`
	Codec   string            `json:"codec" minLength:"1" maxLength:"64" doc:"GET /v1/codecs lists them; auto chooses one for each source by its kind, without loss, and has no options" example:"webp"`
	Options map[string]string `json:"options,omitempty" doc:"Of the codec. They name no file of the scheduler's machine"`
	Start   bool              `json:"start,omitempty" doc:"Start as soon as it is planned; else it waits for start"`
	Sample  int               `json:"sample,omitempty" minimum:"0" maximum:"1000" doc:"Objects that are compressed first, for the estimate of saving and time"`

	Verify    string   `json:"verify,omitempty" pattern:"^(full|device|off|sample:(0?\\.[0-9]+|1(\\.0*)?|0))$" patternDescription:"full, device, sample:P with P from 0 to 1, or off" example:"full"`
	Device    string   `json:"device,omitempty" pattern:"^(auto|cpu|cuda(:[0-9]{1,3})?)$" example:"auto"`
	MinPSNR   *float64 `json:"min_psnr,omitempty" minimum:"0" maximum:"1000" doc:"dB; lossy results below it are rejected; absent: the floor of the codec"`
	Larger    string   `json:"larger,omitempty" enum:"leave,copy" doc:"What becomes of a source whose result would be larger"`
	Others    string   `json:"others,omitempty" enum:"leave,copy" doc:"What becomes of sources that are unsupported or rejected"`
	Again     []string `json:"again,omitempty" maxItems:"3" enum:"unsupported,rejected,kept" nullable:"false" doc:"What earlier jobs judged so is judged anew"`
	Strict    bool     `json:"strict,omitempty" doc:"What is unsupported counts as a failure for commands that follow the job"`
	Reduce    bool     `json:"reduce,omitempty" doc:"16-bit pictures whose samples are all 8-bit values times 257 become 8-bit ones"`
	Overwrite bool     `json:"overwrite,omitempty" doc:"Replace what is in the way, unless a job that has not ended owns it"`

	Include           []string `json:"include,omitempty" maxItems:"1000" nullable:"false" doc:"Patterns of keys"`
	Exclude           []string `json:"exclude,omitempty" maxItems:"1000" nullable:"false"`
	IgnoreCase        bool     `json:"ignore_case,omitempty"`
	NoDefaultExcludes bool     `json:"no_default_excludes,omitempty" doc:"Take also what systems leave in folders, such as .DS_Store"`
	MinSize           int64    `json:"min_size,omitempty" minimum:"0"`
	MaxSize           int64    `json:"max_size,omitempty" minimum:"0"`
	MinAge            string   `json:"min_age,omitempty" maxLength:"64" doc:"Such as 36h or 7d, or a time"`
	MaxAge            string   `json:"max_age,omitempty" maxLength:"64"`
	MaxDepth          int      `json:"max_depth,omitempty" minimum:"0" maximum:"1000" doc:"Levels below the source; 0: all"`

	LimitBytes   int64 `json:"limit_bytes,omitempty" minimum:"0" doc:"Larger source files are rejected; this and the other limits: 0 is the reader's default"`
	LimitSide    int   `json:"limit_side,omitempty" minimum:"0" doc:"Samples along a side"`
	LimitSamples int64 `json:"limit_samples,omitempty" minimum:"0"`
	LimitFrames  int   `json:"limit_frames,omitempty" minimum:"0"`
	LimitRatio   int64 `json:"limit_ratio,omitempty" minimum:"0" doc:"Decoded bytes over file bytes"`

	Settings
	ChunkObjects int      `json:"chunk_objects,omitempty" minimum:"0" maximum:"1000" doc:"Most objects a chunk"`
	ChunkBytes   int64    `json:"chunk_bytes,omitempty" minimum:"0" doc:"Most source bytes a chunk"`
	FailRatio    *float64 `json:"fail_ratio,omitempty" minimum:"0" maximum:"1" doc:"The job stops when more than this share of the attempted objects failed"`
	FailMin      *int64   `json:"fail_min,omitempty" minimum:"0" doc:"But not before so many were attempted"`

	Notify []string `json:"notify,omitempty" maxItems:"10" nullable:"false" doc:"URLs that are told by a signed webhook when the job is done, has failed or is paused by a limit; whoever reads the target can read them"`

	Manifest string `json:"manifest,omitempty" doc:"The text of a manifest, which names the objects; else the source is listed"`
	Format   string `json:"manifest_format,omitempty" enum:"csv,jsonl,inventory,files-from" doc:"Of the manifest"`
}

// leastRatio stands for a failure ratio of zero, which in a specification is the default: any failure is more.
const leastRatio = 1e-12

// spec makes a specification and checks everything that can be checked without looking at a bucket.
func (s *Submission) spec(list []codec.Codec) (jobs.Spec, error) {
	settings, err := s.Settings.settings()
	if err != nil {
		return jobs.Spec{}, err
	}
	spec := jobs.Spec{
		Codec: s.Codec, Options: codec.JoinPairs(s.pairs()), AutoStart: s.Start, Sample: s.Sample, Verify: s.Verify, Device: s.Device,
		Larger: s.Larger, Others: s.Others, Strict: s.Strict, Reduce: s.Reduce, Overwrite: s.Overwrite,
		Filter: jobs.Filter{Include: s.Include, Exclude: s.Exclude, IgnoreCase: s.IgnoreCase, DefaultExcludes: !s.NoDefaultExcludes && s.Manifest == "",
			MinSize: s.MinSize, MaxSize: s.MaxSize, MaxDepth: s.MaxDepth},
		ChunkObjects: s.ChunkObjects, ChunkBytes: s.ChunkBytes, Notify: s.Notify,
		Limits: jobs.Limits{Bytes: s.LimitBytes, Side: s.LimitSide, Samples: s.LimitSamples, Frames: s.LimitFrames, Ratio: s.LimitRatio},
	}
	if settings.Priority != nil {
		spec.Priority, settings.Priority = *settings.Priority, nil
	}
	if settings.Hours != nil {
		spec.Hours, settings.Hours = *settings.Hours, nil
	}
	spec.Settings = settings
	for _, o := range s.Again {
		spec.Again = append(spec.Again, jobs.Outcome(o))
	}
	if s.FailRatio != nil {
		spec.FailRatio = max(leastRatio, *s.FailRatio)
	}
	if s.FailMin != nil {
		spec.FailMin = max(1, *s.FailMin)
	}
	if spec.Source, err = storage.Canonical(s.Source); err != nil {
		return spec, err
	}
	if spec.Target, err = storage.Canonical(s.Target); err != nil {
		return spec, err
	}
	resolved, err := codecs.Resolve(list, spec.Codec, 0, spec.Options)
	if err != nil {
		return spec, err
	}
	if path := resolved.Want().Path; path != "" && !strings.Contains(path, "://") {
		return spec, fmt.Errorf("option %q names a file of the scheduler's machine: give the URL of an object", path)
	}
	if spec.MinPSNR = resolved.MinPSNR(); s.MinPSNR != nil {
		spec.MinPSNR = *s.MinPSNR
	}
	if spec.Filter.MinAge, err = jobs.CanonicalAge(s.MinAge); err != nil {
		return spec, fmt.Errorf("min_age: %w", err)
	}
	if spec.Filter.MaxAge, err = jobs.CanonicalAge(s.MaxAge); err != nil {
		return spec, fmt.Errorf("max_age: %w", err)
	}
	if _, err := scheduler.Matcher(spec.Filter); err != nil {
		return spec, err
	}
	if s.Manifest != "" && s.Format == "" {
		return spec, fmt.Errorf("manifest_format is missing: want csv, jsonl, inventory or files-from")
	}
	checked := spec
	checked.ID = "20060102-150405-aaaa"
	checked.Defaults()
	return spec, checked.Check()
}

// pairs are the options in the order of their keys.
func (s *Submission) pairs() (pairs []string) {
	for _, key := range slices.Sorted(maps.Keys(s.Options)) {
		pairs = append(pairs, key+"="+s.Options[key])
	}
	return pairs
}

// SubmissionOf is the submission that makes a specification, as pelmill submit has it: complete but for its id. The
// manifest is the caller's to add.
func SubmissionOf(s *jobs.Spec) Submission {
	f := s.Filter
	t := Submission{
		Source: s.Source, Target: s.Target, Codec: s.Codec, Options: map[string]string{}, Start: s.AutoStart, Sample: s.Sample, Verify: s.Verify, Device: s.Device,
		MinPSNR: &s.MinPSNR, Larger: s.Larger, Others: s.Others, Strict: s.Strict, Reduce: s.Reduce, Overwrite: s.Overwrite,
		Include: f.Include, Exclude: f.Exclude, IgnoreCase: f.IgnoreCase, NoDefaultExcludes: !f.DefaultExcludes, MinSize: f.MinSize, MaxSize: f.MaxSize,
		MinAge: f.MinAge, MaxAge: f.MaxAge, MaxDepth: f.MaxDepth, ChunkObjects: s.ChunkObjects, ChunkBytes: s.ChunkBytes, Notify: s.Notify, FailRatio: &s.FailRatio, FailMin: &s.FailMin,
		LimitBytes: s.Limits.Bytes, LimitSide: s.Limits.Side, LimitSamples: s.Limits.Samples, LimitFrames: s.Limits.Frames, LimitRatio: s.Limits.Ratio,
		Settings: NewSettings(jobs.Settings{Priority: &s.Priority, Hours: &s.Hours}.Over(s.Settings)),
	}
	for _, pair := range codec.SplitPairs(s.Options) {
		key, value, _ := strings.Cut(pair, "=")
		t.Options[key] = value
	}
	for _, o := range s.Again {
		t.Again = append(t.Again, string(o))
	}
	return t
}
