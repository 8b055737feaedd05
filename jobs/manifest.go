package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"time"
)

// Entry is one object of a manifest or a chunk: a line of JSON.
type Entry struct {
	Key     string    `json:"k"`
	Size    int64     `json:"s"` // bytes; -1 where not known
	ETag    string    `json:"e,omitempty"`
	ModTime time.Time `json:"m,omitzero"`
	Target  string    `json:"t,omitempty"` // target key where it is not the default one
	Replace bool      `json:"r,omitempty"` // the target holds an older result of ours, which may be overwritten
	Missing bool      `json:"x,omitempty"` // named by the user's manifest but not found in the source
}

// TargetKey is where the result of e goes: the source key with the codec's
// extension in place of its own, unless the plan chose another name.
func (e Entry) TargetKey(extension string) string {
	if e.Target != "" {
		return e.Target
	}
	return Stem(e.Key) + extension
}

// Stem is a key without its extension. A leading dot of the last element is
// part of the name, not an extension.
func Stem(key string) string {
	ext := path.Ext(key)
	if ext == "" || path.Base(key) == ext {
		return key
	}
	return strings.TrimSuffix(key, ext)
}

// Fingerprint names the work on one object: equal fingerprints give equal
// bytes. It is 32 hexadecimal digits.
func (s *Spec) Fingerprint(e Entry) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%d\x00%s\x00%d\x00%s", e.ETag, e.Size, s.Codec, s.Version, s.Options)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Chunk is a range of the plan: where its entries are and how much they weigh.
// They are one zstd frame of JSON lines inside a part.
type Chunk struct {
	Part    int   `json:"p"`
	Offset  int64 `json:"o"` // of the frame in the part, bytes
	Length  int64 `json:"l"` // of the frame, bytes
	Objects int   `json:"n"`
	Bytes   int64 `json:"b"` // of the sources
}

// Plan is the result of preparing: what there is, what is already done, what
// remains, cut into chunks.
type Plan struct {
	Job          string    `json:"job"`
	Objects      int64     `json:"objects"` // of the source, after filters
	Bytes        int64     `json:"bytes"`
	Skipped      int64     `json:"skipped"` // already done
	SkippedBytes int64     `json:"skipped_bytes"`
	Filtered     int64     `json:"filtered"`   // left out by filters
	Collisions   int64     `json:"collisions"` // objects with a full target name because two sources share a stem
	Estimate     *Estimate `json:"estimate,omitempty"`
	Chunks       []Chunk   `json:"chunks"`
	At           time.Time `json:"at"`
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
}
