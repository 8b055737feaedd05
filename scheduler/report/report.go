// Package report makes the page about a finished job, report.html: one file that needs
// nothing else, with charts as inline SVG, for screens light and dark and for paper.
//
//	p := report.New()
//	p.Chunk(&header)  // of each chunk's records: when and how long
//	p.Record(&record) // in key order
//	p.File(key, size, sum)
//	html, err := p.Render(report.Job{Spec: spec, Report: totals})
//
// It takes the records of a job one by one. What it keeps does not grow with their number:
// fixed bins for what is distributed, ranked lists of at most [listed] objects, and groups
// that end with their folder, as records come in key order. The file stays below [MaxBytes].
//
// # Medical sources
//
// Keys of medical images may hold names of patients. Where [Job.HashKeys] is set, or where
// any source was read as DICOM or NIfTI, the page has hashes in place of keys, folders and
// texts of errors.
package report

import (
	"github.com/pelmill/pelmill/jobs"
)

const (
	// MaxBytes is what the file is always below.
	MaxBytes = 300_000

	listed     = 20  // rows of a ranking: folders, types, worst, largest and slowest objects
	failures   = 200 // objects that are named in the list of failures
	mostKinds  = 32  // types, devices, classes and stages that are told apart; the rest is one
	otherKinds = "other"
)

// Page gathers what the page shows. It is not safe for concurrent use.
type Page struct {
	records   int64
	medical   bool
	folders   [deepest]folders
	types     map[string]*group
	devices   map[string]*device
	stages    map[string]float64 // seconds, summed over objects
	verified  map[string]int64   // compressed objects by how they were verified
	second    jobs.SecondDecoder // of verified, those that a second decoder was held against
	identical int64              // of verified, those whose decoded image is the source's, sample by sample
	lossy     int64              // those with a PSNR
	ratio     histogram          // of log2
	psnr      histogram
	ssim      histogram

	worst, lowest, largest, slowest ranking
	reasons                         map[reasonKey]*reason
	timeline                        timeline
	files                           []file
	moreFiles                       int
}

// New makes a page without records.
func New() *Page {
	p := &Page{
		types: map[string]*group{}, devices: map[string]*device{}, stages: map[string]float64{}, verified: map[string]int64{},
		ratio: newHistogram(-4, 1.0/8, 128), psnr: newHistogram(0, 0.1, 1200), ssim: newHistogram(0, 0.001, 1000),
		worst:   ranking{before: func(a, b *object) bool { return a.saving() < b.saving() }},
		lowest:  ranking{before: func(a, b *object) bool { return a.psnr < b.psnr }},
		largest: ranking{before: func(a, b *object) bool { return a.size > b.size }},
		slowest: ranking{before: func(a, b *object) bool { return a.seconds > b.seconds }},
		reasons: map[reasonKey]*reason{},
	}
	for i := range p.folders {
		p.folders[i].depth = i + 1
	}
	return p
}

// Record takes the record of an object. Records come in key order; the saving by folder is
// exact then.
func (p *Page) Record(r *jobs.Result) {
	p.records++
	if r.Medical() {
		p.medical = true
	}
	for i := range p.folders {
		p.folders[i].add(r)
	}
	within(p.types, typeOf(r)).add(r)
	var seconds float64
	for stage, s := range r.Seconds {
		seconds += s
		if _, ok := p.stages[stage]; !ok && len(p.stages) >= mostKinds {
			stage = otherKinds
		}
		p.stages[stage] += s
	}
	if r.Device != "" {
		within(p.devices, r.Device).add(r)
	}
	p.reason(r)
	o := object{key: r.Key, hash: r.KeyHash, size: r.Size, target: r.TargetSize, psnr: r.PSNR, ssim: r.SSIM, seconds: seconds}
	p.largest.add(&o)
	if seconds > 0 {
		p.slowest.add(&o)
	}
	if r.Outcome == jobs.OutcomeCompressed {
		p.compressed(r, &o)
	}
}

// compressed takes the record of an object that has a result.
func (p *Page) compressed(r *jobs.Result, o *object) {
	how := r.Verified
	if _, ok := hows[how]; !ok {
		how = "off"
	}
	p.verified[how]++
	p.second.Add(r)
	if r.DecodedHash != "" && r.DecodedHash == r.PixelHash {
		p.identical++
	}
	if r.Ratio > 0 {
		p.ratio.addLog2(r.Ratio)
	}
	if r.Size > 0 {
		p.worst.add(o)
	}
	if r.PSNR > 0 {
		p.lossy++
		p.ssim.add(r.SSIM)
		if !identical(r.PSNR) {
			p.psnr.add(r.PSNR)
			p.lowest.add(o)
		}
	}
}

// file is one of the job's files, by which somebody else can see that none was changed.
type file struct {
	key  string
	size int64
	sum  string // SHA-256, hexadecimal
}

const mostFiles = 120

// File takes the name, size and SHA-256 of a file with results.
func (p *Page) File(key string, size int64, sum string) {
	if len(p.files) >= mostFiles {
		p.moreFiles++
		return
	}
	p.files = append(p.files, file{key, size, sum})
}
