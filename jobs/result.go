package jobs

import (
	"iter"
	"slices"
	"time"

	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/raster"
)

// Outcome is what became of an object. Every object of a job has exactly one.
type Outcome string

const (
	OutcomeCompressed  Outcome = "compressed"
	OutcomeKept        Outcome = "kept"        // the result would be larger than the source
	OutcomeSkipped     Outcome = "skipped"     // already done by an earlier run
	OutcomeUnsupported Outcome = "unsupported" // valid, but not for this codec or reader
	OutcomeRejected    Outcome = "rejected"    // malformed or over a limit
	OutcomeFailed      Outcome = "failed"      // after retries
)

// Outcomes lists all outcomes in the order in which they are shown.
func Outcomes() []Outcome { return slices.Clone(outcomes[:]) }

var outcomes = [...]Outcome{OutcomeCompressed, OutcomeKept, OutcomeSkipped, OutcomeUnsupported, OutcomeRejected, OutcomeFailed}

// Result is the record of one object: a line of JSON in a result shard. That of a medical image, see [Result.Medical], is
// written without keys: see [Result.Written]. In memory it has them.
type Result struct {
	Key        string `json:"key,omitempty"`
	KeyHash    string `json:"key_hash,omitempty"`    // of a medical image: a keyed hash of Key
	Sealed     string `json:"sealed,omitempty"`      // of a medical image: its [Names], encrypted
	TargetHash string `json:"target_hash,omitempty"` // of a medical image: a keyed hash of Target

	ETag    string    `json:"etag,omitempty"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"mod_time,omitzero"`
	SHA256  string    `json:"sha256,omitempty"` // of the source's bytes
	Parts   []Part    `json:"parts,omitempty"`  // of a series, see [Entry]; Size is then their sum

	Outcome Outcome `json:"outcome"`
	Class   string  `json:"class,omitempty"` // of the error, see package class
	Error   string  `json:"error,omitempty"` // one sentence, no image content
	Note    string  `json:"note,omitempty"`  // what a user should know of a success

	Target       string `json:"target,omitempty"`
	TargetSize   int64  `json:"target_size,omitempty"`
	TargetSHA256 string `json:"target_sha256,omitempty"`
	TargetMD5    string `json:"target_md5,omitempty"` // hexadecimal; what listings of many stores show; empty in folders
	Fingerprint  string `json:"fingerprint,omitempty"`
	Verdict      string `json:"verdict,omitempty"` // of what is unsupported or rejected and will be so again, see [Spec.Verdict] and [Spec.QualityVerdict]

	PixelHash string `json:"pixel_hash,omitempty"` // of the source image
	// DecodedHash is that of the decoded result, and equal to PixelHash where that is lossless. A lossy result that a device
	// has decoded has none: nothing could tell a bit that changed on the way from the device.
	DecodedHash string `json:"decoded_hash,omitempty"`

	SourceFormat string `json:"source_format,omitempty"` // as imageio calls it, such as "tiff"

	raster.Shape // of the source image

	// Dropped are the names of the source's attributes, such as "xmp", that the file
	// could not keep: see raster.Meta.
	Dropped []string `json:"dropped,omitempty"`

	Codec   string `json:"codec,omitempty"`
	Version int    `json:"version,omitempty"`
	Options string `json:"options,omitempty"`

	RawBytes int64   `json:"raw_bytes,omitempty"` // of the samples
	Ratio    float64 `json:"ratio,omitempty"`     // raw bytes over target bytes
	BPP      float64 `json:"bpp,omitempty"`       // target bits per pixel
	PSNR     float64 `json:"psnr,omitempty"`      // dB, lossy only
	SSIM     float64 `json:"ssim,omitempty"`      // lossy only

	Animation *Animation `json:"animation,omitempty"` // how the frames of the source follow each other

	// Facts are what the codec says of the file, such as how many colours it has.
	Facts map[string]string `json:"facts,omitempty"`

	// Exact says of what more than the image was proved: "jpeg", where the source's own bytes come back from
	// the result; "dicom", where every byte of the source but those of the elements in Changed was compared;
	// "series", where every byte of every part comes back.
	Exact   string   `json:"exact,omitempty"`
	Changed []string `json:"changed,omitempty"` // tags, such as "(7FE0,0010)"; never a value

	Verified string `json:"verified,omitempty"` // full, device or off: what was done

	// SecondDecoder says of what was decoded whether a decoder of other authors made the same image: "agreed", or
	// "left out" where the file was not of the share that both decode. It is empty where the codec has no
	// such decoder, where nothing was decoded, and in records of earlier versions.
	SecondDecoder string `json:"second_decoder,omitempty"`

	Device   string             `json:"device,omitempty"`
	Seconds  map[string]float64 `json:"seconds,omitempty"` // by stage: fetch, read, encode, verify, store
	Attempts int                `json:"attempts,omitempty"`
}

// Counts are the totals of a chunk, a job or a progress line. Bytes count
// compressed and kept objects only.
type Counts struct {
	Objects     int64 `json:"objects"`
	Compressed  int64 `json:"compressed"`
	Kept        int64 `json:"kept"`
	Skipped     int64 `json:"skipped"`
	Unsupported int64 `json:"unsupported"`
	Rejected    int64 `json:"rejected"`
	Failed      int64 `json:"failed"`
	Mismatched  int64 `json:"mismatched"` // of failed: those that failed verification
	Dropped     int64 `json:"dropped"`    // of compressed: those whose file could not keep all attributes
	BytesIn     int64 `json:"bytes_in"`
	BytesRaw    int64 `json:"bytes_raw"`
	BytesOut    int64 `json:"bytes_out"`

	// BytesAttempted are those of the sources of all objects but skipped ones,
	// whatever became of them.
	BytesAttempted int64 `json:"bytes_attempted"`
}

// Add counts one record.
func (c *Counts) Add(r *Result) {
	c.Objects++
	if r.Outcome != OutcomeSkipped {
		c.BytesAttempted += max(r.Size, 0)
	}
	switch r.Outcome {
	case OutcomeCompressed:
		c.Compressed++
		if len(r.Dropped) > 0 {
			c.Dropped++
		}
		c.BytesIn += r.Size
		c.BytesRaw += r.RawBytes
		c.BytesOut += r.TargetSize
	case OutcomeKept:
		c.Kept++
		c.BytesIn += r.Size
		c.BytesRaw += r.RawBytes
		c.BytesOut += r.Size
	case OutcomeSkipped:
		c.Skipped++
	case OutcomeUnsupported:
		c.Unsupported++
	case OutcomeRejected:
		c.Rejected++
	case OutcomeFailed:
		c.Failed++
		if r.Class == class.Verify {
			c.Mismatched++
		}
	}
}

// Plus adds o to c.
func (c *Counts) Plus(o Counts) {
	a, b := c.fields(), o.fields()
	for i := range a {
		*a[i].value += *b[i].value
	}
}

// counter is one named number of [Counts].
type counter struct {
	name  string
	value *int64
}

// Fields gives the counters of c by the names under which Redis keeps them, in
// a fixed order; the values point into c.
func (c *Counts) Fields() iter.Seq2[string, *int64] {
	return func(yield func(string, *int64) bool) {
		for _, f := range c.fields() {
			if !yield(f.name, f.value) {
				return
			}
		}
	}
}

func (c *Counts) fields() []counter {
	return []counter{
		{"objects", &c.Objects}, {"compressed", &c.Compressed}, {"kept", &c.Kept},
		{"skipped", &c.Skipped}, {"unsupported", &c.Unsupported}, {"rejected", &c.Rejected},
		{"failed", &c.Failed}, {"mismatched", &c.Mismatched}, {"dropped", &c.Dropped},
		{"bytes_in", &c.BytesIn}, {"bytes_raw", &c.BytesRaw}, {"bytes_out", &c.BytesOut},
		{"bytes_attempted", &c.BytesAttempted},
	}
}

// Outcomes gives the number of objects by outcome, in the order in which they are shown.
func (c Counts) Outcomes() iter.Seq2[Outcome, int64] {
	return func(yield func(Outcome, int64) bool) {
		for _, f := range c.fields() {
			if o := Outcome(f.name); slices.Contains(outcomes[:], o) && !yield(o, *f.value) {
				return
			}
		}
	}
}

// Saving is the share of the source bytes that the results save; negative
// where they are larger.
func (c Counts) Saving() float64 {
	if c.BytesIn == 0 {
		return 0
	}
	return 1 - float64(c.BytesOut)/float64(c.BytesIn)
}

// Bad is the number of objects that count towards the failure limit and give
// exit code 3.
func (c Counts) Bad() int64 { return c.Failed + c.Rejected }

// InTarget is the number of objects that have a result or a copy in the target.
func (r *Report) InTarget() int64 {
	n := r.Counts.Objects
	for _, left := range r.Left {
		n -= left
	}
	return n
}

// SecondDecoder counts the results that a decoder of other authors made the same image of as the codec's own.
type SecondDecoder struct {
	Checked int64 `json:"checked"`
	Of      int64 `json:"of"` // results that were decoded and that such a decoder is there for
}

// secondAgreed is [Result].SecondDecoder of what both decoders made the same image of.
const secondAgreed = "agreed"

// Add counts one record. Those that do not say, as of earlier versions, are in neither number.
func (s *SecondDecoder) Add(r *Result) {
	if r.Outcome != OutcomeCompressed || r.SecondDecoder == "" {
		return
	}
	s.Of++
	if r.SecondDecoder == secondAgreed {
		s.Checked++
	}
}

// Plus adds o to s.
func (s *SecondDecoder) Plus(o SecondDecoder) {
	s.Checked, s.Of = s.Checked+o.Checked, s.Of+o.Of
}

// Shard is the first line of a result shard. Its counts are the sum of the
// records behind it.
type Shard struct {
	Job     string    `json:"job"`
	Chunk   int       `json:"chunk"`
	Worker  string    `json:"worker"`
	Attempt int       `json:"attempt"`
	Seconds float64   `json:"seconds"`
	Counts  Counts    `json:"counts"`
	At      time.Time `json:"at"`
	Sums    *Sums     `json:"sums,omitempty"` // of the records too; nil in shards of earlier versions
}

// Sums are what the page and the API show of a running job besides its counts. With them in the header of
// a shard nobody has to read the records for that.
type Sums struct {
	Classes map[string]int64   `json:"classes,omitempty"` // objects by the class of their error
	Stages  map[string]float64 `json:"stages,omitempty"`  // seconds by stage, summed over objects

	SecondDecoder SecondDecoder `json:"second_decoder,omitzero"`
}

// Add adds a record.
func (s *Sums) Add(r *Result) {
	s.SecondDecoder.Add(r)
	if r.Class != "" {
		if s.Classes == nil {
			s.Classes = map[string]int64{}
		}
		s.Classes[r.Class]++
	}
	for stage, seconds := range r.Seconds {
		if s.Stages == nil {
			s.Stages = map[string]float64{}
		}
		s.Stages[stage] += seconds
	}
}

// Plus adds other sums.
func (s *Sums) Plus(other *Sums) {
	s.SecondDecoder.Plus(other.SecondDecoder)
	for class, n := range other.Classes {
		if s.Classes == nil {
			s.Classes = map[string]int64{}
		}
		s.Classes[class] += n
	}
	for stage, seconds := range other.Stages {
		if s.Stages == nil {
			s.Stages = map[string]float64{}
		}
		s.Stages[stage] += seconds
	}
}

// Report is the end of a job.
type Report struct {
	Job        string             `json:"job"`
	State      State              `json:"state"` // done, cancelled or failed
	Reason     string             `json:"reason,omitempty"`
	Strict     bool               `json:"strict,omitempty"` // as in [Spec]
	Source     string             `json:"source"`
	Target     string             `json:"target"`
	Codec      string             `json:"codec"`
	Version    int                `json:"version"`
	Options    string             `json:"options"`
	Chunks     int                `json:"chunks"`
	Attempted  int                `json:"attempted"`         // chunks with a shard
	Counts     Counts             `json:"counts"`            // skipped objects of the plan included
	Links      int64              `json:"links,omitempty"`   // symbolic links of the source, skipped
	Classes    map[string]int64   `json:"classes,omitempty"` // of errors
	Left       map[Outcome]int64  `json:"left"`              // objects with nothing in the target, by outcome; those of Known included; nil in reports of earlier versions, which do not say
	Known      map[Outcome]int64  `json:"known,omitempty"`   // of the skipped objects: those with a verdict of an earlier job and nothing in the target
	Dropped    map[string]int64   `json:"dropped,omitempty"` // objects by the attribute that their file could not keep
	PSNR       float64            `json:"psnr,omitempty"`    // mean, lossy only
	SSIM       float64            `json:"ssim,omitempty"`
	Stages     map[string]float64 `json:"stages,omitempty"`        // seconds by stage, summed over objects
	Second     SecondDecoder      `json:"second_decoder,omitzero"` // of what the codec has such a decoder for
	Seconds    float64            `json:"seconds"`                 // from the first chunk to the report
	Devices    []string           `json:"devices,omitempty"`
	Results    []string           `json:"results,omitempty"`     // keys of the merged records
	FailedList string             `json:"failed_list,omitempty"` // key of failed.jsonl, empty where nothing failed
	Notify     bool               `json:"notify,omitempty"`      // the end is told to those whom the specification names, see [Folder.Notices]
	Started    time.Time          `json:"started,omitzero"`
	Finished   time.Time          `json:"finished"`
}
