package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Chunk is a range of the plan: where its entries are and how much they weigh.
// They are one zstd frame of JSON lines inside a part.
type Chunk struct {
	Part    int   `json:"p"`
	Offset  int64 `json:"o"` // of the frame in the part, bytes
	Length  int64 `json:"l"` // of the frame, bytes
	Objects int   `json:"n"`
	Bytes   int64 `json:"b"` // of the sources
}

// Bounds of a plan. They hold before memory is taken for it.
const (
	MaxChunks    = 1_000_000 // of a plan
	maxFrame     = 32 << 20  // bytes of a chunk's frame
	MaxFrameText = 64 << 20  // bytes of its lines: a thousand keys of any store are a tenth
	MaxPlan      = 128 << 20 // bytes of plan.json
	maxPart      = 1 << 40   // bytes of a part of chunks
)

// Chunks are the chunks of a plan, at most [MaxChunks].
type Chunks []Chunk

// UnmarshalJSON reads the chunks one by one, so that no more memory is taken than
// a plan may need.
func (c *Chunks) UnmarshalJSON(data []byte) error {
	*c = nil
	lines := json.NewDecoder(bytes.NewReader(data))
	if open, err := lines.Token(); err != nil || open != json.Delim('[') {
		return err // null is a plan without chunks
	}
	for *c = (Chunks{}); lines.More(); {
		if len(*c) == MaxChunks {
			return fmt.Errorf("jobs: plan with more than %d chunks", MaxChunks)
		}
		var next Chunk
		if err := lines.Decode(&next); err != nil {
			return err
		}
		*c = append(*c, next)
	}
	return nil
}

// Check reports what in c no plan has.
func (c Chunk) Check() error {
	switch {
	case c.Part < 0 || c.Part > MaxChunks || c.Offset < 0 || c.Offset > maxPart || c.Bytes < 0:
		return fmt.Errorf("jobs: chunk of %d bytes in part %d at %d: want nothing below 0, parts to %d and offsets to %d",
			c.Bytes, c.Part, c.Offset, MaxChunks, maxPart)
	case c.Length < 1 || c.Length > maxFrame:
		return fmt.Errorf("jobs: chunk with a frame of %d bytes: want 1 to %d", c.Length, maxFrame)
	case c.Objects < 1 || c.Objects > MaxChunkObjects:
		return fmt.Errorf("jobs: chunk of %d objects: want 1 to %d", c.Objects, MaxChunkObjects)
	}
	return nil
}

// Plan is the result of preparing: what there is, what is already done, what
// remains, in chunks.
type Plan struct {
	Job          string `json:"job"`
	Objects      int64  `json:"objects"` // of the source, after filters
	Bytes        int64  `json:"bytes"`
	Skipped      int64  `json:"skipped"` // already done
	SkippedBytes int64  `json:"skipped_bytes"`

	// Known are the skipped objects by the verdict of an earlier job, those that have
	// nothing in the target; their records are in KnownParts objects, see [Folder.Known].
	Known      map[Outcome]int64 `json:"known,omitempty"`
	KnownParts int               `json:"known_parts,omitempty"`

	Filtered   int64     `json:"filtered"`        // left out by filters
	Links      int64     `json:"links,omitempty"` // symbolic links in the source, which are not followed
	Collisions int64     `json:"collisions"`      // objects with a full target name because two sources share a stem, or a folder has the name
	Unfit      int64     `json:"unfit,omitempty"` // objects that fail because the target can hold no result under their name
	Estimate   *Estimate `json:"estimate,omitempty"`
	Expect     *Expect   `json:"expect,omitempty"` // absent in plans of earlier versions
	Chunks     Chunks    `json:"chunks"`
	At         time.Time `json:"at"`
}

// Work is what the chunks of the plan hold.
func (p *Plan) Work() (w Work) {
	for _, c := range p.Chunks {
		w.Objects += int64(c.Objects)
		w.Bytes += c.Bytes
	}
	return w
}

// Estimate comes from compressing a sample.
type Estimate struct {
	Objects     int     `json:"objects"` // of the sample
	Failed      int     `json:"failed"`
	BytesIn     int64   `json:"bytes_in"`
	BytesOut    int64   `json:"bytes_out"`
	Seconds     float64 `json:"seconds"`      // of one core for the sample
	Saving      float64 `json:"saving"`       // expected share of the source bytes, 0 to 1
	CoreSeconds float64 `json:"core_seconds"` // expected for the whole job

	Kinds []Kind `json:"kinds,omitempty"` // in the order of their bytes, the most first, where the codec is chosen for each source

	WaitSeconds float64 `json:"wait_seconds,omitempty"` // for storage, expected for the whole job, one object after the other
	SameCores   bool    `json:"same_cores,omitempty"`   // storage is on the machine that plans, and so takes of its cores
}
