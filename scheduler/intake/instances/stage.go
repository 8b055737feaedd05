package instances

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/pelmill/pelmill/storage"
)

// inMemory is the size up to which an instance is staged in memory, in bytes.
const inMemory = 1 << 20

// ErrTooLarge means that an instance has more bytes than one may have.
var ErrTooLarge = errors.New("instances: the instance is too large")

// sourceError is an error of the reader that an instance comes from: its sender stopped.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return "instances: the sender stopped: " + e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// staged is an instance that has arrived and is not stored.
type staged struct {
	s        *Store
	data     []byte   // where it is small
	file     *os.File // else
	size     int64
	reserved int64
	sum      hash.Hash // SHA-256 of all bytes
}

// stage reads an instance to its end. The caller calls close.
func (s *Store) stage(r io.Reader) (st *staged, err error) {
	st = &staged{s: s, sum: sha256.New()}
	defer func() {
		if err != nil {
			st.close(0)
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, rerr := r.Read(buf)
		if n > 0 {
			if err := st.add(buf[:n]); err != nil {
				return st, err
			}
		}
		switch {
		case errors.Is(rerr, io.EOF):
			return st, nil
		case rerr != nil:
			return st, &sourceError{rerr}
		}
	}
}

func (st *staged) add(p []byte) error {
	if st.size+int64(len(p)) > st.s.opts.MostBytes {
		return ErrTooLarge
	}
	if !st.s.budget.reserve(int64(len(p))) {
		return ErrFull
	}
	st.reserved += int64(len(p))
	st.size += int64(len(p))
	st.sum.Write(p)
	if st.file == nil && len(st.data)+len(p) <= inMemory {
		st.data = append(st.data, p...)
		return nil
	}
	if st.file == nil {
		f, err := os.CreateTemp(st.s.staging, "instance-")
		if err != nil {
			return fmt.Errorf("instances: %w", err)
		}
		st.file = f
		if _, err := f.Write(st.data); err != nil {
			return fmt.Errorf("instances: %w", err)
		}
		st.data = nil
	}
	if _, err := st.file.Write(p); err != nil {
		return fmt.Errorf("instances: %w", err)
	}
	return nil
}

// reader reads the bytes from an offset on.
func (st *staged) reader(from int64) io.Reader {
	if st.file != nil {
		return io.NewSectionReader(st.file, from, st.size-from)
	}
	return bytes.NewReader(st.data[from:])
}

// put stores the bytes under a key, create-only.
func (st *staged) put(ctx context.Context, b *storage.Bucket, key string) (storage.PutResult, error) {
	opts := &storage.PutOptions{ContentType: "application/dicom"}
	if st.file == nil {
		return storage.Put(ctx, b, key, st.data, opts)
	}
	return storage.Copy(ctx, st.s.stagingBucket, filepath.Base(st.file.Name()), b, key, nil, opts)
}

func (st *staged) sha256() string { return hex.EncodeToString(st.sum.Sum(nil)) }

// close drops what was staged. stored is how many bytes the store keeps of it.
func (st *staged) close(stored int64) {
	st.s.budget.settle(st.reserved, stored)
	st.reserved = 0
	if st.file != nil {
		os.Remove(st.file.Name())
		st.file.Close()
	}
}
