package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// This file is what differs for codecs that keep a source file itself and not its image,
// see [codec.SourceCodec]: the source is not decoded, and the proof of a result is that
// the source's own bytes come back from it.

// acceptsSource refuses sources that are not of the codec's format.
func (k *jobContext) acceptsSource(h *imageio.Header) error {
	if k.exact == nil || h.Format == k.exact.SourceFormat() {
		return nil
	}
	return faultf(jobs.OutcomeUnsupported, class.Format, "%s: the codec takes files of the format %s only, and this one is of the format %s", k.info.Name, k.exact.SourceFormat(), h.Format)
}

// sourceMemory is what encoding a source and restoring it take.
func (k *jobContext) sourceMemory(h *imageio.Header) int64 {
	m := k.codec.Memory(h.Shape, nil, k.options)
	return max(m.Encode, m.Decode) + m.File
}

// sourceFault classifies an error of the Encode of a codec that takes sources: they may be
// damaged.
func sourceFault(err error) error {
	var malformed *codec.FormatError
	if errors.As(err, &malformed) {
		return &fault{outcome: jobs.OutcomeRejected, class: class.Malformed, err: err}
	}
	return codecFault(err)
}

// verifySource restores the source from the result and compares it. No option leaves that
// out. A source that does not come back, because it holds what no decoder looks at, or is
// damaged, stays as it is, and so does one with which the codec is wrong: it would not come
// back from another result either. That is a verdict for good, so all is done twice for it,
// which tells it from a result that a machine has damaged.
func (k *jobContext) verifySource(ctx context.Context, run codec.Run, o *object) error {
	return o.in(stageVerify, func() error {
		back, err := k.comesBack(ctx, run, o)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !back {
			return k.neverComesBack(ctx, run, o, err)
		}
		o.record.Verified, o.record.Exact = "full", k.exact.SourceFormat()
		return nil
	})
}

// comesBack reports whether the source comes back from its result.
func (k *jobContext) comesBack(ctx context.Context, run codec.Run, o *object) (bool, error) {
	source, err := restoreOne(ctx, run, k.exact, o.file)
	return err == nil && bytes.Equal(source, o.data), err
}

// neverComesBack is the fault of an object whose source did not come back, with the error of
// that: of the source, where the same result is made of it again and the source does not come
// back from that either, else of the attempt.
func (k *jobContext) neverComesBack(ctx context.Context, run codec.Run, o *object, first error) error {
	item := codec.Item{Source: codec.Source{Format: o.head.Format, Data: o.data}}
	made := k.codec.Encode(ctx, run, []codec.Item{item}, k.options)
	same := len(made) == 1 && made[0].Err == nil && bytes.Equal(made[0].Data, o.file)
	made = nil // its memory is needed to restore
	back := false
	if same {
		back, _ = k.comesBack(ctx, run, o)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !same:
		return unverified("%s: the file does not come back from what was made of it, and something else is made of it now", k.info.Name)
	case back:
		return unverified("%s: the file came back from what was made of it only when that was tried again", k.info.Name)
	case first != nil:
		return faultf(jobs.OutcomeUnsupported, class.Image, "%s: the file does not come back from what is made of it: %w", k.info.Name, first)
	}
	return faultf(jobs.OutcomeUnsupported, class.Image, "%s: the file has irregular code that the format cannot hold: other bytes would come back", k.info.Name)
}

// restoreOne restores the source of one file.
func restoreOne(ctx context.Context, run codec.Run, c codec.SourceCodec, file []byte) ([]byte, error) {
	out := c.Restore(ctx, run, [][]byte{file})
	if len(out) != 1 {
		return nil, fmt.Errorf("%s: %d sources from one file", c.Info().Name, len(out))
	}
	return out[0].Data, out[0].Err
}

// restoring returns a call that restores the sources of a batch into the files of its
// objects.
func restoring(c codec.SourceCodec) func(context.Context, codec.Run, []*object) error {
	return func(ctx context.Context, run codec.Run, batch []*object) error {
		for _, o := range batch {
			o.failure = o.in(stageRead, func() (err error) {
				if o.file, err = restoreOne(ctx, run, c, o.data); err != nil {
					return decodeFault(ctx, err)
				}
				return nil
			})
		}
		return nil
	}
}

// compareSource holds a restored source against the record.
func (v *verification) compareSource(_ context.Context, _ codec.Run, o *object) error {
	r := &o.claim.Result
	if sum := sumOf(o.file); sum != r.SHA256 {
		return problem(ProblemImage, "the source comes back with the SHA-256 %s, recorded is %s", sum, r.SHA256)
	}
	return nil
}

// wantsSource reports whether sources are given back where files hold them: all of them,
// in the format that they have.
func (d *decompression) wantsSource() bool {
	return (d.opts.Format == "" || d.opts.Format == formatSource) && d.view == (codec.View{})
}

// restore gives a source back. A file that holds none becomes an image.
func (d *decompression) restore(ctx context.Context, o *object, c codec.SourceCodec) error {
	if err := d.header(ctx, o, func(h codec.Header) int64 { return h.Memory }); err != nil {
		return err
	}
	o.batches = nil
	checked := func(context.Context, codec.Run, *object) error { return nil }
	if err := d.attempts(ctx, o, attempt{call: restoring(c), after: checked}); err != nil {
		return err
	}
	r := &o.record
	r.Exact, r.Verified, r.RawBytes = c.SourceFormat(), "full", int64(r.Shape.Size())
	return o.in(stageStore, func() error { return d.storeAs(ctx, o, d.sourceTarget(o, c)) })
}

// sourceExtensions are those that files of a source's format have; the first is given to
// those that have none.
var sourceExtensions = map[string][]string{"jpeg": {".jpg", ".jpeg", ".jpe", ".jfif"}}

// sourceTarget is the key of a source: with Format "source" that of the record, else the
// file's without the codec's extension, and with that of the format.
func (d *decompression) sourceTarget(o *object, c codec.SourceCodec) string {
	if d.opts.Format == formatSource && o.origin.Key != "" {
		return o.origin.Key
	}
	stem := stripExtension(o.record.Key, c.Info())
	own := sourceExtensions[c.SourceFormat()]
	if slices.Contains(own, strings.ToLower(path.Ext(stem))) {
		return stem
	}
	return stem + own[0]
}

// selfTestSource encodes a small source and restores it.
func selfTestSource(ctx context.Context, c codec.SourceCodec) error {
	source := c.SourceSample()
	out := c.Encode(ctx, codec.Run{}, []codec.Item{{Source: codec.Source{Format: c.SourceFormat(), Data: source}}}, nil)
	if len(out) != 1 || out[0].Err != nil {
		return fmt.Errorf("encode a %s file: %d answers, %w", c.SourceFormat(), len(out), errors.Join(errorsOf(out)...))
	}
	back, err := restoreOne(ctx, codec.Run{}, c, out[0].Data)
	if err != nil || !bytes.Equal(back, source) {
		return fmt.Errorf("a %s file does not come back (%v)", c.SourceFormat(), err)
	}
	return nil
}

func errorsOf(out []codec.Encoded) (list []error) {
	for _, e := range out {
		list = append(list, e.Err)
	}
	return list
}
