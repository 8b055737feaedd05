package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Entry is one line of a manifest or a chunk, in JSON: what becomes one result.
// That is an ordinary object, which Key, Size, ETag and ModTime describe, or a
// series, the objects in Parts, which together become one volume. Key then names
// the series and no object; Size is the sum of the parts, and ETag and ModTime are
// empty.
type Entry struct {
	Key     string    `json:"k"`
	Size    int64     `json:"s"` // bytes; -1 where not known
	ETag    string    `json:"e,omitempty"`
	ModTime time.Time `json:"m,omitzero"`
	Full    bool      `json:"f,omitempty"` // the result has the full name, see TargetKey
	Old     []Version `json:"o,omitempty"` // results that earlier jobs made of it under the target key, newest first; such a one may be replaced
	Missing bool      `json:"x,omitempty"` // named by the user's manifest but not found in the source, or a part of it was not
	Bad     string    `json:"b,omitempty"` // why there can be no such object or no result of it, one sentence; then it is only recorded
	Pin     *Pin      `json:"v,omitempty"` // the version that the user's manifest names; another one is not taken
	Again   bool      `json:"a,omitempty"` // it is done once more whatever earlier jobs recorded, because their result is damaged

	// Parts are the objects of a series in the order of its slices; empty for an
	// ordinary object.
	Parts []Part `json:"p,omitempty"`

	// PlannedTarget is the target key as plans of earlier versions spell it out. It is
	// accepted where it is one of the names that a result of the entry can have.
	PlannedTarget string `json:"t,omitempty"`
}

// Pin is the version of an object that a user's manifest names.
type Pin struct {
	Size int64  `json:"s"` // bytes; -1 where the manifest does not say
	ETag string `json:"e,omitempty"`
}

// Mismatch says in what an object with this size and etag is another version than p
// names; it is empty where it is that version, and where p is nil.
func (p *Pin) Mismatch(size int64, etag string) string {
	switch {
	case p == nil:
	case p.Size >= 0 && size >= 0 && p.Size != size:
		return fmt.Sprintf("the manifest names a version of %d bytes and the source has %d", p.Size, size)
	case p.ETag != "" && etag != "" && p.ETag != etag:
		return fmt.Sprintf("the manifest names the version with etag %.80q and the source has %.80q", p.ETag, etag)
	}
	return ""
}

// Part is one object of a source as it was when it was listed.
type Part struct {
	Key     string    `json:"key,omitempty"`
	Size    int64     `json:"size"` // bytes; -1 where not known
	ETag    string    `json:"etag,omitempty"`
	ModTime time.Time `json:"mod_time,omitzero"`
	Missing bool      `json:"missing,omitempty"` // it was not found in the source
	Pin     *Pin      `json:"pin,omitempty"`     // the version that the user's manifest names; without it the series is not taken
	SHA256  string    `json:"sha256,omitempty"`  // in a record: of its bytes

	KeyHash string `json:"key_hash,omitempty"` // in the record of a medical image: a keyed hash of Key
}

// Bounds of a series. A manifest, a chunk and a record hold it in one line.
const (
	MaxParts    = 10_000
	maxPartText = 1 << 20 // bytes of the keys and etags of its parts
)

// Objects are the objects of the source that e stands for: its parts, or itself.
func (e *Entry) Objects() []Part {
	if len(e.Parts) > 0 {
		return e.Parts
	}
	return []Part{{Key: e.Key, Size: e.Size, ETag: e.ETag, ModTime: e.ModTime, Missing: e.Missing}}
}

// Observe puts in what the source has for object i of [Entry.Objects]. A copy of e
// shares its parts.
func (e *Entry) Observe(i int, p Part) {
	if len(e.Parts) == 0 {
		e.Size, e.ETag, e.ModTime, e.Missing = p.Size, p.ETag, p.ModTime, p.Missing
		return
	}
	p.Key = e.Parts[i].Key
	e.Parts[i] = p
	e.Sum()
}

// Sum makes the size of a series, and whether it is missing, from its parts.
func (e *Entry) Sum() {
	if len(e.Parts) == 0 {
		return
	}
	e.Size, e.Missing = 0, false
	for _, p := range e.Parts {
		if p.Size < 0 || e.Size < 0 {
			e.Size = -1
		} else {
			e.Size += p.Size
		}
		e.Missing = e.Missing || p.Missing
	}
}

// Text is about how many bytes e takes in a line of a manifest.
func (e *Entry) Text() int {
	n := 128 + len(e.Key) + len(e.ETag)
	for i := range e.Parts {
		n += 128 + len(e.Parts[i].Key) + len(e.Parts[i].ETag)
	}
	return n
}

// Check reports why the object of e must not be touched: its key, that of a part or
// that of its result is none that a job may use, its parts are too many or one of
// one of them comes twice, or the plan names a target that follows from the key with none
// of the extensions.
func (e Entry) Check(extensions ...string) error {
	if err := CheckKey(e.Key); err != nil {
		return err
	}
	if err := e.checkParts(); err != nil {
		return err
	}
	keys := e.TargetKeys(extensions)
	if e.PlannedTarget != "" && !slices.Contains(keys, e.PlannedTarget) {
		var can []string
		for _, extension := range extensions {
			can = append(can, fmt.Sprintf("%q or %q", Stem(e.Key, extension)+extension, e.Key+extension))
		}
		return fmt.Errorf("the plan names the target %q for %q, which can only be %s", e.PlannedTarget, e.Key, strings.Join(can, " or "))
	}
	for _, key := range keys {
		if err := CheckKey(key); err != nil {
			return err
		}
	}
	return nil
}

func (e *Entry) checkParts() error {
	if len(e.Parts) > MaxParts {
		return fmt.Errorf("the series %q has %d parts, more than the limit of %d", e.Key, len(e.Parts), MaxParts)
	}
	seen, text := make(map[string]bool, len(e.Parts)), 0
	for i := range e.Parts {
		p := &e.Parts[i]
		if err := CheckKey(p.Key); err != nil {
			return fmt.Errorf("part %d of the series %q: %w", i, e.Key, err)
		}
		if seen[p.Key] {
			return fmt.Errorf("the series %q has the part %q twice", e.Key, p.Key)
		}
		seen[p.Key] = true
		if text += len(p.Key) + len(p.ETag); text > maxPartText {
			return fmt.Errorf("the keys of the parts of the series %q have more than %d bytes", e.Key, maxPartText)
		}
	}
	return nil
}

// Verdict names the question whether one object can be compressed at all: equal
// verdicts of two jobs have the same answer, unsupported or rejected. It is a
// [Spec.Fingerprint] with the version of the readers and the limits.
func (s *Spec) Verdict(e Entry) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%d\x00%+v", s.Fingerprint(e), s.Readers, s.Limits)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// QualityVerdict names the question whether the result of one object reaches the floor
// of PSNR, as [Spec.Verdict] names whether there can be one.
func (s *Spec) QualityVerdict(e Entry) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%v\x00%s", s.Verdict(e), s.MinPSNR, s.Verify)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Fingerprint names the work on one object or series: equal fingerprints give
// equal bytes. Of a series it changes with each part and with their order. It is 32
// hexadecimal digits.
func (s *Spec) Fingerprint(e Entry) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%d\x00%s\x00%d\x00%s", e.ETag, e.Size, s.Codec, s.Version, s.Options)
	if s.Reduce {
		h.Write([]byte("\x00reduce"))
	}
	for _, p := range e.Parts {
		fmt.Fprintf(h, "\x00%s\x00%s\x00%d", p.Key, p.ETag, p.Size)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
