package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container/dicom"
)

// openDICOM finds the elements of o's file, which has frames, and takes the memory for them: copies is
// how often the native frames are held besides.
func (d *decoding) openDICOM(ctx context.Context, o *object, copies int64) error {
	f, h, err := imageio.OpenDICOM(o.data, nil)
	if err != nil {
		return readFault(err)
	}
	o.dicom = &dicomSource{file: f, photometric: f.Image.Photometric}
	o.head, o.record.Shape, o.record.SourceFormat = *h, h.Shape, h.Format
	o.record.RawBytes = int64(f.Image.Frames) * int64(f.Image.FrameBytes())
	n := h.DecodedBytes + copies*o.record.RawBytes
	return o.held.image(ctx, n, n)
}

// decodedAlready is the call of an attempt whose image was read before.
func decodedAlready(context.Context, codec.Run, []*object) error { return nil }

// verifyDICOM proves a target that is a DICOM file against its record: its bytes are what was recorded;
// now its frames are decoded again.
func (v *verification) verifyDICOM(ctx context.Context, o *object) error {
	if err := v.openDICOM(ctx, o, 0); err != nil {
		return problem(ProblemDecode, "%w", err)
	}
	read := func(o *object) error { return o.in(stageRead, o.decodeDICOM) } // compare hashes it
	return v.attempts(ctx, o, attempt{before: read, call: decodedAlready, after: v.compare})
}

// dicomName reports whether a key has the name of a DICOM file.
func dicomName(key string) bool {
	switch strings.ToLower(path.Ext(key)) {
	case ".dcm", ".dicom":
		return true
	}
	return false
}

// decompressDICOM turns a DICOM file into one with native pixel data in Explicit VR Little Endian, or,
// where a format of picture files is asked for, into such a file.
func (d *decompression) decompressDICOM(ctx context.Context, o *object) error {
	pictures := d.opts.Format != "" && d.opts.Format != formatSource
	if d.view != (codec.View{}) {
		return unsuited("a DICOM file is decoded as a whole")
	}
	if err := d.openDICOM(ctx, o, 3); err != nil {
		return err
	}
	a := attempt{before: func(o *object) error { return o.in(stageRead, o.readDICOM) }, call: decodedAlready, after: d.native}
	if pictures {
		a.after = d.encode
	}
	if err := d.attempts(ctx, o, a); err != nil {
		return err
	}
	return o.in(stageStore, func() error {
		if pictures {
			return d.store(ctx, o)
		}
		return d.storeAs(ctx, o, o.entry.Key)
	})
}

// native makes the file with native pixel data and proves it.
func (d *decompression) native(_ context.Context, _ codec.Run, o *object) error {
	s, r := o.dicom, &o.record
	if s.photometric == "YBR_RCT" {
		s.photometric = "RGB"
	}
	pix := s.file.Image.Containers(o.image)
	err := o.in(stageEncode, func() (err error) {
		o.file, err = s.file.Rewrite(&dicom.Rewriting{Syntax: dicom.ExplicitLittle, Photometric: s.photometric, Native: pix})
		return err
	})
	if err != nil {
		return readFault(err)
	}
	return o.in(stageVerify, func() error {
		proof, err := dicom.Verify(o.data, o.file, &dicom.Expected{Syntax: dicom.ExplicitLittle, Photometric: s.photometric, Samples: s.file.Image.Samples, Native: int64(len(pix))})
		if err == nil && !bytes.Equal(proof.Native, pix) {
			err = errors.New("it holds other samples")
		}
		for z, n := 0, s.file.Image.FrameBytes(); err == nil && z < s.file.Image.Frames; z++ {
			if !proof.SourceHas(z, pix[z*n:(z+1)*n]) {
				err = fmt.Errorf("frame %d has other samples", z+1)
			}
		}
		if err != nil {
			return unverified("the file differs from its source: %w", err)
		}
		r.DecodedHash, r.Verified, r.Exact = r.PixelHash, verifyFull, exactDICOM
		for _, t := range proof.Changed {
			r.Changed = append(r.Changed, t.String())
		}
		return nil
	})
}
