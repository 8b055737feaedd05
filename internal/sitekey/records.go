package sitekey

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// seal is a value as JSON, sealed. The types of records have no value without such a form.
func (k *Key) seal(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("sitekey: %w", err)
	}
	return k.Seal(text), nil
}

// SealResult completes the record of a medical image by hashes and the sealed form of what may name a patient; others stay
// as they are.
func (k *Key) SealResult(r *jobs.Result) (err error) {
	if r.Sealed != "" || !r.Medical() {
		return nil
	}
	k.hash(r)
	r.Sealed, err = k.seal(r.Names())
	return err
}

// hash completes a record by hashes alone.
func (k *Key) hash(r *jobs.Result) {
	r.KeyHash = k.Name(r.Key)
	if r.Target != "" {
		r.TargetHash = k.Name(r.Target)
	}
	r.Parts = slices.Clone(r.Parts) // the entry that they are of stays as it is
	for i := range r.Parts {
		r.Parts[i].KeyHash = k.Name(r.Parts[i].Key)
	}
}

// SealIntent makes of an intent what is written.
func (k *Key) SealIntent(i *jobs.Intent) (err error) {
	i.KeyHash = k.Name(i.Key)
	i.Sealed, err = k.seal(jobs.Names{Key: i.Key, Target: i.Target})
	i.Key, i.Target = "", ""
	return err
}

// SealDeleted makes of a deleted result what is written.
func (k *Key) SealDeleted(d *jobs.Deleted) (err error) {
	d.KeyHash = k.Name(d.Key)
	d.Sealed, err = k.seal(jobs.Names{Key: d.Key, Target: d.Target})
	d.Key, d.Target = "", ""
	return err
}

// SealDamage makes of damage what is written.
func (k *Key) SealDamage(d *jobs.Damage) (err error) {
	d.KeyHash = k.Name(d.Key)
	d.Sealed, err = k.seal(struct {
		Key    string   `json:"key"`
		Target string   `json:"target"`
		Error  string   `json:"error,omitempty"`
		Parts  []string `json:"parts,omitempty"`
	}{d.Key, d.Target, d.Error, d.Parts})
	d.Key, d.Target, d.Error, d.Parts = "", "", "", nil
	return err
}

// Reader opens lines of records of a target. It reads the key of the target when the first one comes that is sealed. It is
// safe for concurrent use.
type Reader struct {
	ctx context.Context
	b   *storage.Bucket

	mu   sync.Mutex
	key  *Key
	none bool // the target has no key
}

// NewReader reads records of a target. The context is for the reading of the key.
func NewReader(ctx context.Context, b *storage.Bucket) *Reader { return &Reader{ctx: ctx, b: b} }

// Of is a reader with a key.
func (k *Key) Reader() *Reader { return &Reader{key: k} }

func (r *Reader) open() (*Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.key != nil || r.none {
		return r.key, nil
	}
	key, err := Open(r.ctx, r.b, jobs.SiteKey, false)
	if errors.Is(err, ErrNone) {
		r.none = true
		return nil, nil
	}
	if err == nil {
		r.key = key
	}
	return key, err
}

// sealedStart begins a line whose names are sealed.
var (
	sealedStart = []byte(`{"key_hash":"`)
	sealedText  = []byte(`,"sealed":"`)
)

// Line gives a line of records with the names that are sealed in it, as jobs have them in memory. Any other line stays as it
// is, without work.
func (r *Reader) Line(line []byte) ([]byte, error) {
	if !bytes.HasPrefix(line, sealedStart) {
		return line, nil
	}
	rest := line[len(sealedStart):]
	if end := bytes.IndexByte(rest, '"'); end >= 0 {
		rest = rest[end+1:]
	}
	rest, ok := bytes.CutPrefix(rest, sealedText)
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 0 {
		return line, nil
	}
	key, err := r.open()
	if err != nil {
		return nil, err
	}
	if key == nil {
		return nil, fmt.Errorf("sitekey: %s has lost %s, without which the keys of its records of medical images cannot be read: bring it back", r.b.URL, jobs.SiteKey)
	}
	names, err := r.unseal(key, string(rest[:end]))
	if err != nil && r.b != nil {
		err = fmt.Errorf("%w; if %s of %s was lost and made anew, add the line of the earlier one to it", err, jobs.SiteKey, r.b.URL)
	}
	if err != nil {
		return nil, err
	}
	names = bytes.TrimSpace(names)
	if len(names) < 2 || names[0] != '{' || names[len(names)-1] != '}' {
		return nil, fmt.Errorf("sitekey: %w", ErrSealed)
	}
	opened := make([]byte, 0, len(names)+len(line))
	opened = append(append(opened, names[:len(names)-1]...), ',')
	return append(opened, line[1:]...), nil
}

// Complete gives the record of a medical image that an earlier version wrote its hashes: with the key of the target, or
// that of the process where it has none.
func (r *Reader) Complete(record *jobs.Result) error {
	if record.KeyHash != "" || !record.Medical() {
		return nil
	}
	return r.Hash(record)
}

// Hash gives a record the hashes that those of medical images have, whatever it is of.
func (r *Reader) Hash(record *jobs.Result) error {
	key, err := r.open()
	if err != nil {
		return err
	}
	cmp.Or(key, OfProcess()).hash(record)
	return nil
}

// Seal seals a text with the key of the target, or that of the process where it has none.
func (r *Reader) Seal(text string) (string, error) {
	key, err := r.open()
	if err != nil {
		return "", err
	}
	return cmp.Or(key, OfProcess()).Seal([]byte(text)), nil
}

// Unseal opens a text that Seal has sealed.
func (r *Reader) Unseal(sealed string) (string, error) {
	key, err := r.open()
	if err != nil {
		return "", err
	}
	text, err := r.unseal(cmp.Or(key, OfProcess()), sealed)
	return string(text), err
}

// unseal opens a text with the key, or with one that another process made for the same target at the same time.
func (r *Reader) unseal(key *Key, sealed string) ([]byte, error) {
	text, err := key.Unseal(sealed)
	if err == nil || r.b == nil || r.b.Kind() != "s3" {
		return text, err
	}
	others, lerr := copies(r.ctx, r.b)
	if lerr != nil {
		return nil, errors.Join(err, lerr)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.key == nil {
		return text, err
	}
	with := *r.key
	with.former = append(slices.Clone(with.former), others...)
	if text, err = with.Unseal(sealed); err == nil {
		r.key = &with // the next text of that process is opened at once
	}
	return text, err
}

// Writer seals what is written to a target. It makes the key of the target when the first record of a medical image comes.
// It is safe for concurrent use.
type Writer struct {
	b *storage.Bucket

	mu  sync.Mutex
	key *Key
}

// NewWriter writes records of a target.
func NewWriter(b *storage.Bucket) *Writer { return &Writer{b: b} }

// Key gives the key of the target.
func (w *Writer) Key(ctx context.Context) (*Key, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.key != nil {
		return w.key, nil
	}
	key, err := Open(ctx, w.b, jobs.SiteKey, true)
	if err != nil {
		return nil, storage.RefusedWrite(err, 64)
	}
	w.key = key
	return key, nil
}

// Result is [Key.SealResult] with the key of the target.
func (w *Writer) Result(ctx context.Context, r *jobs.Result) error {
	if r.Sealed != "" || !r.Medical() {
		return nil
	}
	key, err := w.Key(ctx)
	if err != nil {
		return err
	}
	return key.SealResult(r)
}
