package jobs

import "fmt"

// Check reports what no counters of a job have: a number below zero, or outcomes
// that are not the objects.
func (c *Counts) Check() error {
	for _, f := range c.fields() {
		if *f.value < 0 {
			return fmt.Errorf("jobs: counts: %s is %d", f.name, *f.value)
		}
	}
	rest := c.Objects
	for _, n := range []int64{c.Compressed, c.Kept, c.Skipped, c.Unsupported, c.Rejected, c.Failed} {
		if rest -= n; rest < 0 {
			break
		}
	}
	if rest != 0 || c.Mismatched > c.Failed || c.Dropped > c.Compressed {
		return fmt.Errorf("jobs: counts: the outcomes are not those of %d objects", c.Objects)
	}
	return nil
}

// Check reports what no header of a shard has.
func (s *Shard) Check() error {
	switch {
	case !ValidID(s.Job) || s.Chunk < 0 || s.Chunk >= MaxChunks:
		return fmt.Errorf("jobs: shard of chunk %d of job %.40q", s.Chunk, s.Job)
	case s.Counts.Objects > MaxChunkObjects:
		return fmt.Errorf("jobs: shard of %d objects: a chunk has at most %d", s.Counts.Objects, MaxChunkObjects)
	}
	return s.Counts.Check()
}

// Check reports what no plan has: numbers below zero, more done than there is,
// chunks that overlap or are not in order, or that hold other than what is to do.
func (p *Plan) Check() error {
	if !ValidID(p.Job) {
		return fmt.Errorf("jobs: plan of job %.40q", p.Job)
	}
	if p.Objects < 0 || p.Bytes < 0 || p.Filtered < 0 || p.Links < 0 || p.Collisions < 0 || p.Unfit < 0 || p.Skipped < 0 || p.Skipped > p.Objects || p.SkippedBytes < 0 || p.KnownParts < 0 || p.KnownParts > MaxChunks {
		return fmt.Errorf("jobs: plan of %d objects of %d bytes, %d of %d bytes done, %d filtered, %d collisions",
			p.Objects, p.Bytes, p.Skipped, p.SkippedBytes, p.Filtered, p.Collisions)
	}
	var last Chunk
	todo := p.Objects - p.Skipped
	for i, c := range p.Chunks {
		if err := c.Check(); err != nil {
			return fmt.Errorf("jobs: plan: chunk %d: %w", i, err)
		}
		if i > 0 && (c.Part < last.Part || c.Part == last.Part && c.Offset < last.Offset+last.Length) {
			return fmt.Errorf("jobs: plan: chunk %d does not follow the one before", i)
		}
		if todo -= int64(c.Objects); todo < 0 {
			return fmt.Errorf("jobs: plan: its chunks hold more than the %d objects to do", p.Objects-p.Skipped)
		}
		last = c
	}
	if todo > 0 {
		return fmt.Errorf("jobs: plan: its chunks lack %d of the objects to do", todo)
	}
	return nil
}

// Check reports what no report has.
func (r *Report) Check() error {
	if !ValidID(r.Job) || !r.State.Terminal() || r.Chunks < 0 || r.Attempted < 0 {
		return fmt.Errorf("jobs: report of job %.40q, %.40q, %d of %d chunks", r.Job, r.State, r.Attempted, r.Chunks)
	}
	return r.Counts.Check()
}
