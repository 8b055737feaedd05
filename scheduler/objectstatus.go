package scheduler

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// objectStatus is what the plan knows of each object, which is a line of the
// manifest: a bit for each property, so that a hundred million lines take 25 MB.
// What earlier jobs made of the lines that are not done goes to the local disk.
// close must be called.
type objectStatus struct {
	done    bitset // its result is there
	shared  bitset // needs a full target name
	old     sorter // earlier results by line
	earlier oldResults

	inPlace bool // the target is the source

	known      map[jobs.Outcome]int64 // of the done objects, those with a verdict and nothing in the target
	knownLines merging                // their records, where they are kept
	names      *sitekey.Writer        // of the target

	folders map[string]bool // folders of the source that are called as a result may be: "a.vq" of "a.vq/b.png"

	doneObjects, doneBytes int64
	collisions             int64 // objects with a full name
	unfit                  int64 // objects whose result can have no name
}

// candidateSize is the length of what is sorted of a line that is done if its
// target is as recorded: line, target size, source size, MD5.
const candidateSize = 8 + 8 + 8 + 16

// findStatus joins a manifest with the records of earlier jobs and with one
// listing of the target.
func findStatus(ctx context.Context, spec *jobs.Spec, extensions jobs.Extensions, target *storage.Bucket, all entries, h history, inPlace bool, mem memory, putKnown func(part int, data []byte) error) (*objectStatus, error) {
	f, err := findStatusWithin(ctx, spec, extensions, target, all, h, inPlace, mem, putKnown)
	if errors.Is(err, errOldNames) {
		h.want = nil
		f, err = findStatusWithin(ctx, spec, extensions, target, all, h, inPlace, mem, putKnown)
	}
	return f, err
}

// errOldNames: an object has a result with a shorter stem than it would have now, so that keys outside of the ranges can
// share a name with it.
var errOldNames = errors.New("scheduler: a result has a name of an earlier version")

func findStatusWithin(ctx context.Context, spec *jobs.Spec, extensions jobs.Extensions, target *storage.Bucket, all entries, h history, inPlace bool, mem memory, putKnown func(part int, data []byte) error) (*objectStatus, error) {
	f := &objectStatus{names: sitekey.NewWriter(target), inPlace: inPlace, folders: map[string]bool{}, known: map[jobs.Outcome]int64{}}
	f.knownLines.put, f.knownLines.names = putKnown, sitekey.NewReader(ctx, target)
	check := mem.sorter() // candidates by target key
	defer check.close()
	checked, err := f.join(ctx, spec, extensions, target, all, h, mem, &check)
	if err == nil && checked > 0 {
		var in stream
		if in, err = check.sorted(); err == nil {
			err = f.confirm(ctx, target, in)
		}
	}
	if err == nil {
		err = f.knownLines.end()
	}
	if err == nil {
		f.earlier, err = openOld(&f.old)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *objectStatus) close() {
	f.knownLines.wait()
	f.old.close()
}

// join fills everything but the done bits of lines whose target has to be
// looked up; those go to check.
func (f *objectStatus) join(ctx context.Context, spec *jobs.Spec, extensions jobs.Extensions, target *storage.Bucket, all entries, h history, mem memory, check *sorter) (checked int64, err error) {
	earlierRecords, err := openEarlier(ctx, target, h, mem)
	if err != nil {
		return 0, err
	}
	defer earlierRecords.close()
	names := claims{extensions: extensions}
	mark := func(line int64) {
		if !f.shared.has(line) {
			f.shared.set(line)
			f.collisions++
		}
	}
	old, more, err := earlierRecords.next()
	if err != nil {
		return 0, err
	}
	elsewhere := func() error {
		if hasName(old.records, extensions) {
			names.next(old.key, earlierLine, earlierStems(old, extensions), mark)
		}
		old, more, err = earlierRecords.next()
		return err
	}
	line := int64(-1)
	err = all(ctx, func(e jobs.Entry) error {
		line++
		if line%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for more && old.key < e.Key {
			if err := elsewhere(); err != nil {
				return err
			}
		}
		if e.Bad == "" {
			var earlier []string
			if more && old.key == e.Key {
				if earlier = earlierStems(old, extensions); len(earlier) > 0 && h.want != nil {
					return errOldNames
				}
			}
			names.next(e.Key, line, earlier, mark)
			f.noteFolders(e.Key, extensions)
		}
		if stem, ok := extensions.Cut(e.Key); f.inPlace && ok && stem == extensions.Stem(e.Key) {
			f.shared.set(line) // its own key is taken, by itself
		}
		if !more || old.key != e.Key {
			return nil
		}
		lookUp, err := f.match(ctx, spec, extensions, e, line, old.records, check)
		if err != nil {
			return err
		}
		if lookUp {
			checked++
		}
		old, more, err = earlierRecords.next()
		return err
	})
	for err == nil && more && names.concerns(old.key) {
		err = elsewhere()
	}
	return checked, err
}

// earlierStems gives the stems of results that earlier jobs made of an object, where
// they are other ones than a result would get now.
func earlierStems(p keyRecords, extensions jobs.Extensions) []string {
	var out []string
	for _, r := range p.records {
		stem, ok := extensions.Cut(r.Target)
		if ok && stem != p.key && stem != extensions.Stem(p.key) && strings.HasPrefix(p.key, stem) && !slices.Contains(out, stem) {
			out = append(out, stem)
		}
	}
	return out
}

// hasName reports whether records say, or do not deny, that a result with one of the
// extensions exists.
func hasName(records []record, extensions jobs.Extensions) bool {
	for _, r := range records {
		if _, ok := extensions.Cut(r.Target); ok || r.Target == "" {
			return true
		}
	}
	return false
}

// match looks at the records of one line; true means that its target has to be
// looked up.
func (f *objectStatus) match(ctx context.Context, spec *jobs.Spec, extensions jobs.Extensions, e jobs.Entry, line int64, records []record, check *sorter) (bool, error) {
	if e.Missing || e.Bad != "" || e.Pin.Mismatch(e.Size, e.ETag) != "" {
		return false, nil
	}
	if e.Again {
		return false, addOld(&f.old, line, e.Key, extensions, records)
	}
	r, ok := valid(records, spec, e)
	if !ok {
		return false, addOld(&f.old, line, e.Key, extensions, records)
	}
	if r.Target == "" {
		f.finish(line, e.Size)
		return false, f.remember(ctx, spec, e, &r)
	}
	size := r.TargetSize
	if size == 0 && r.Outcome != jobs.OutcomeCompressed {
		size = r.Size
	}
	var v [candidateSize]byte
	binary.BigEndian.PutUint64(v[0:], uint64(line))
	binary.BigEndian.PutUint64(v[8:], uint64(size))
	binary.BigEndian.PutUint64(v[16:], uint64(max(e.Size, 0)))
	n := 24
	if sum, err := hex.DecodeString(r.TargetMD5); err == nil && len(sum) == 16 {
		n += copy(v[24:], sum)
	}
	return true, check.add([]byte(r.Target), v[:n])
}

// remember counts and keeps the verdict of an earlier job on a line that has nothing
// in the target.
func (f *objectStatus) remember(ctx context.Context, spec *jobs.Spec, e jobs.Entry, r *record) error {
	f.known[r.Outcome]++
	if f.knownLines.put == nil {
		return nil
	}
	known := jobs.Result{
		Key: e.Key, ETag: e.ETag, Size: max(e.Size, 0), ModTime: e.ModTime, Parts: e.Parts,
		SourceFormat: r.SourceFormat, KeyHash: r.KeyHash, Outcome: r.Outcome, Class: r.Class, Error: r.Error, Fingerprint: r.Fingerprint, Verdict: r.Verdict,
		Codec: spec.Codec, Version: spec.Version, Options: spec.Options,
	}
	if err := f.names.Result(ctx, &known); err != nil {
		return err
	}
	known = known.Written()
	line, err := json.Marshal(&known)
	if err != nil {
		return fmt.Errorf("scheduler: verdict on an object: %w", err)
	}
	return f.knownLines.add(append(line, '\n'))
}

func (f *objectStatus) finish(line, size int64) {
	f.done.set(line)
	f.doneObjects++
	f.doneBytes += max(size, 0)
}

// confirm merges the candidates with a listing of the target.
func (f *objectStatus) confirm(ctx context.Context, target *storage.Bucket, in stream) error {
	p, ok, err := in.next()
	if err != nil || !ok {
		return err
	}
	after := before(string(p.key))
	next, stop := iter.Pull2(objects(ctx, target, after))
	defer stop()
	o, err, more := next()
	for ok && more && err == nil {
		switch key := string(p.key); {
		case o.Key < key:
			o, err, more = next()
			continue
		case o.Key == key && o.Size == int64(binary.BigEndian.Uint64(p.value[8:])) &&
			(o.MD5 == nil || len(p.value) == 24 || string(o.MD5) == string(p.value[24:])):
			f.finish(int64(binary.BigEndian.Uint64(p.value)), int64(binary.BigEndian.Uint64(p.value[16:])))
		}
		if p, ok, err = in.next(); err != nil {
			return err
		}
	}
	if storage.IsNotExist(err) && !storage.Unreachable(err) {
		return nil
	}
	return err
}

// before gives a key that sorts before k: its folder.
func before(k string) string { return k[:strings.LastIndexByte(k, '/')+1] }

// target completes an entry with where its result goes and which versions of it
// may be replaced there, or with why there can be no result. Lines must come in order.
func (f *objectStatus) target(e *jobs.Entry, line int64, extensions jobs.Extensions, target *storage.Bucket) (err error) {
	switch stem, ok := extensions.Cut(e.PlannedTarget); {
	case !(e.Again && e.PlannedTarget != ""):
		e.Full = e.Full || f.shared.has(line)
	case ok && stem == e.Key:
		e.Full = true // the name of a damaged result stays, but for an extension that its source has no more
	}
	if e.Bad == "" {
		f.nameTarget(e, extensions, target)
	}
	old, err := f.earlier.of(line, append(e.TargetKeys(extensions), e.Key)...)
	e.Old = append(e.Old, old...)
	return err
}
