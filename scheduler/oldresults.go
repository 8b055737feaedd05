package scheduler

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/pelmill/pelmill/jobs"
)

// oldAtMost bounds the versions of a result that an entry carries: what lies in
// the target is one of the newest, unless somebody restored it.
const oldAtMost = 4

// oldResult is a result of an earlier job: under which key, and what.
type oldResult struct {
	Target string `json:"t"`
	jobs.Version
}

// addOld notes what earlier jobs made of a line, newest first: results under
// the names that it can get, and copies of the source.
func addOld(to *sorter, line int64, key string, extensions jobs.Extensions, records []record) error {
	var old []oldResult
	for _, r := range records {
		stem, ok := extensions.Cut(r.Target)
		compressed := r.Outcome == jobs.OutcomeCompressed && ok && (stem == extensions.Stem(key) || stem == key)
		copied := r.Outcome != jobs.OutcomeCompressed && r.Target == key
		if !compressed && !copied || len(old) == 2*oldAtMost {
			continue
		}
		old = append(old, oldResult{r.Target, jobs.Version{Job: r.Job, Size: r.TargetSize, SHA256: r.TargetSHA256}})
	}
	if len(old) == 0 {
		return nil
	}
	value, err := json.Marshal(old)
	if err != nil {
		return fmt.Errorf("scheduler: earlier results of %q: %w", key, err)
	}
	return to.add(binary.BigEndian.AppendUint64(nil, uint64(line)), value)
}

// oldResults gives what addOld noted, line by line. The zero value has nothing.
type oldResults struct {
	in   stream
	line int64 // of next; after the last one above every line
	next []byte
}

func openOld(from *sorter) (o oldResults, err error) {
	if o.in, err = from.sorted(); err == nil {
		err = o.advance()
	}
	return o, err
}

func (o *oldResults) advance() error {
	p, ok, err := o.in.next()
	if err != nil {
		return err
	}
	o.line, o.next = 1<<62, nil
	if ok {
		o.line, o.next = int64(binary.BigEndian.Uint64(p.key)), append([]byte(nil), p.value...)
	}
	return nil
}

// of gives the versions of a line that had one of the keys. Lines must come in
// order.
func (o *oldResults) of(line int64, keys ...string) (versions []jobs.Version, err error) {
	for o.in != nil && o.line < line {
		if err := o.advance(); err != nil {
			return nil, err
		}
	}
	if o.in == nil || o.line != line {
		return nil, nil
	}
	var old []oldResult
	if err := json.Unmarshal(o.next, &old); err != nil {
		return nil, fmt.Errorf("scheduler: earlier results of line %d: %w", line, err)
	}
	for _, r := range old {
		for _, key := range keys {
			if r.Target == key && len(versions) < oldAtMost {
				versions = append(versions, r.Version)
				break
			}
		}
	}
	return versions, nil
}
