package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"google.golang.org/api/googleapi"
)

var errThrottled = &smithy.GenericAPIError{Code: "SlowDown", Message: "reduce your request rate"}

// faulty is a memory bucket whose operations go wrong as told: each hook gets the number of the call, from 0 on.
type faulty struct {
	*memBucket
	onStat func(call int) error
	onRead func(call int, data []byte) io.Reader
	// onWrite returns what is stored instead (nil: nothing, as if the store lied) and what the writer is told.
	onWrite              func(call int, data []byte) ([]byte, error)
	stats, reads, writes int
}

func (f *faulty) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	if f.onStat != nil {
		f.stats++
		if err := f.onStat(f.stats - 1); err != nil {
			return nil, err
		}
	}
	a, err := f.memBucket.Attributes(ctx, key)
	if a != nil {
		a.MD5 = nil // so that Put reads back
	}
	return a, err
}

func (f *faulty) NewRangeReader(ctx context.Context, key string, offset, length int64, opts *driver.ReaderOptions) (driver.Reader, error) {
	r, err := f.memBucket.NewRangeReader(ctx, key, offset, length, opts)
	if err == nil && f.onRead != nil {
		data, _ := io.ReadAll(r)
		f.reads++
		r.(*memReader).Reader = f.onRead(f.reads-1, data)
	}
	return r, err
}

type faultyWriter struct {
	driver.Writer
	f   *faulty
	buf bytes.Buffer
}

func (f *faulty) NewTypedWriter(ctx context.Context, key, contentType string, opts *driver.WriterOptions) (driver.Writer, error) {
	w, err := f.memBucket.NewTypedWriter(ctx, key, contentType, opts)
	return &faultyWriter{Writer: w, f: f}, err
}

func (w *faultyWriter) Write(p []byte) (int, error) { return w.buf.Write(p) }

func (w *faultyWriter) Close() error {
	data, told := w.buf.Bytes(), error(nil)
	if w.f.onWrite != nil {
		w.f.writes++
		data, told = w.f.onWrite(w.f.writes-1, data)
	}
	if data == nil {
		return told
	}
	w.Writer.Write(data)
	if err := w.Writer.Close(); err != nil {
		return err
	}
	return told
}

// open makes a bucket of a faulty driver that retries quickly.
func (f *faulty) open() *Bucket {
	f.memBucket = &memBucket{objects: map[string]*memObject{}}
	retry := Retry{Initial: time.Millisecond, Max: time.Millisecond}
	return &Bucket{Bucket: blob.NewBucket(f), URL: "mem://faulty", kind: "mem", retry: retry.withDefaults()}
}

func content(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * 7)
	}
	return data
}

func TestPutAgainstFaults(t *testing.T) {
	data := content(100000)
	flipped := bytes.Clone(data)
	flipped[77777] ^= 4
	for name, onWrite := range map[string]func(int, []byte) ([]byte, error){
		"throttled twice": func(call int, d []byte) ([]byte, error) {
			if call < 2 {
				return nil, errThrottled
			}
			return d, nil
		},
		"stored, but the answer is lost": func(call int, d []byte) ([]byte, error) {
			if call == 0 {
				return d, syscall.ECONNRESET
			}
			return d, nil
		},
		"a bit flips on the way": func(call int, d []byte) ([]byte, error) {
			if call < 2 {
				return flipped, nil
			}
			return d, nil
		},
		"half of it is stored": func(call int, d []byte) ([]byte, error) {
			if call == 0 {
				return d[:len(d)/2], nil
			}
			return d, nil
		},
		"success without storing": func(call int, d []byte) ([]byte, error) {
			if call == 0 {
				return nil, nil
			}
			return d, nil
		},
	} {
		f := &faulty{onWrite: onWrite}
		b := f.open()
		r, err := Put(t.Context(), b, "k", data, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if o := f.objects["k"]; o == nil || !bytes.Equal(o.data, data) || r.ETag != o.attrs.ETag {
			t.Errorf("%s: wrong object stored, result %+v", name, r)
		}
	}
}

func TestPutGivesUpWithTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		onWrite   func(int, []byte) ([]byte, error)
		temporary bool
		calls     int
	}{
		"always throttled": {func(int, []byte) ([]byte, error) { return nil, errThrottled }, true, 6},
		"always damaged":   {func(int, []byte) ([]byte, error) { return []byte("junk"), nil }, true, 6},
		"never stored":     {func(int, []byte) ([]byte, error) { return nil, nil }, true, 6},
		"forbidden": {func(int, []byte) ([]byte, error) {
			return nil, &smithy.GenericAPIError{Code: "AccessDenied"}
		}, false, 1},
	} {
		f := &faulty{onWrite: c.onWrite}
		_, err := Put(t.Context(), f.open(), "k", []byte("data"), nil)
		if err == nil || Temporary(err) != c.temporary || f.writes != c.calls {
			t.Errorf("%s: %d calls, %v; want %d calls, temporary %v", name, f.writes, err, c.calls, c.temporary)
		}
	}
}

func TestPutDoesNotTakeAStrangerForItsOwn(t *testing.T) {
	f := &faulty{}
	b := f.open()
	if _, err := Put(t.Context(), b, "k", []byte("theirs"), nil); err != nil {
		t.Fatal(err)
	}
	// The first attempt breaks before anything is stored, the second finds the other object.
	f.onWrite = func(call int, d []byte) ([]byte, error) {
		if call == 0 {
			return nil, syscall.ECONNRESET
		}
		return d, nil
	}
	var exists *ExistsError
	if _, err := Put(t.Context(), b, "k", []byte("mine"), nil); !errors.As(err, &exists) {
		t.Errorf("%v, want *ExistsError", err)
	}
	if string(f.objects["k"].data) != "theirs" {
		t.Error("object was replaced")
	}
}

// A damaged upload is replaced by the call that made it, but not once another writer has put something in its place.
func TestPutDoesNotReplaceWhatReplacedItsDamagedUpload(t *testing.T) {
	theirs := &memObject{data: []byte("their")}
	theirs.attrs.Size = int64(len(theirs.data))
	for name, when := range map[string]int{"before it is read back": 0, "while it is read back": 1} {
		f := &faulty{}
		b := f.open()
		f.onWrite = func(int, []byte) ([]byte, error) { return []byte("junk?"), nil }
		come := func() { f.put(theirs, "k", false, &condition{}) }
		if when == 0 {
			f.onStat = func(call int) error {
				if call == 0 {
					come()
				}
				return nil
			}
		} else {
			f.onRead = func(call int, d []byte) io.Reader {
				if call == 0 {
					come()
				}
				return bytes.NewReader(d)
			}
		}
		var exists *ExistsError
		if _, err := Put(t.Context(), b, "k", []byte("mine!"), nil); !errors.As(err, &exists) {
			t.Errorf("%s: %v, want *ExistsError", name, err)
		}
		if got := f.objects["k"].data; string(got) != "their" {
			t.Errorf("%s: %q is stored, want what the other writer left", name, got)
		}
	}
}

func TestPutIsNotFooledByAFlipOnTheWayBack(t *testing.T) {
	f := &faulty{}
	b := f.open()
	data := content(5000)
	if _, err := Put(t.Context(), b, "k", data, nil); err != nil {
		t.Fatal(err)
	}
	f.onRead = func(call int, d []byte) io.Reader {
		if call == 0 {
			d = bytes.Clone(d)
			d[1] ^= 1
		}
		return bytes.NewReader(d)
	}
	if r, err := Put(t.Context(), b, "k", data, nil); err != nil || !r.Existed {
		t.Errorf("%+v, %v; want Existed", r, err)
	}
}

// breaking ends a stream with an error.
type breaking struct {
	io.Reader
	err error
}

func (b *breaking) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = b.err
	}
	return n, err
}

func TestGetAgainstFaults(t *testing.T) {
	data := content(100000)
	for name, onRead := range map[string]func(int, []byte) io.Reader{
		"connection breaks after every 30,000 bytes": func(_ int, d []byte) io.Reader {
			if len(d) > 30000 {
				return &breaking{bytes.NewReader(d[:30000]), syscall.ECONNRESET}
			}
			return bytes.NewReader(d)
		},
		"connection breaks after every 3,000 bytes, more often than an attempt may fail": func(_ int, d []byte) io.Reader {
			if len(d) > 3000 {
				return &breaking{bytes.NewReader(d[:3000]), syscall.ECONNRESET}
			}
			return bytes.NewReader(d)
		},
		"stream ends early without an error": func(call int, d []byte) io.Reader {
			if call < 3 {
				return bytes.NewReader(d[:len(d)/2])
			}
			return bytes.NewReader(d)
		},
		"breaks before the first byte": func(call int, d []byte) io.Reader {
			if call < 2 {
				return &breaking{bytes.NewReader(nil), &url.Error{Op: "Get", URL: "x", Err: io.EOF}}
			}
			return bytes.NewReader(d)
		},
	} {
		f := &faulty{}
		b := f.open()
		if _, err := Put(t.Context(), b, "k", data, nil); err != nil {
			t.Fatal(err)
		}
		f.onRead = onRead
		if g, err := Get(t.Context(), b, "k", -1, nil); err != nil || !bytes.Equal(g.Data, data) {
			t.Errorf("%s: %d bytes, %v", name, len(g.Data), err)
		}
	}
}

// What was read of a damaged or replaced object and is read again is no progress, and neither is a connection that
// brings nothing.
func TestGetGivesUpWithoutProgress(t *testing.T) {
	data := content(10000)
	for name, c := range map[string]struct {
		onRead func(call int, d []byte) io.Reader
		reads  int
	}{
		"brings nothing": {func(int, []byte) io.Reader { return &breaking{bytes.NewReader(nil), syscall.ECONNRESET} }, 6},
		"brings nothing more": {func(_ int, d []byte) io.Reader {
			return &breaking{bytes.NewReader(d[:max(0, len(d)-5000)]), syscall.ECONNRESET}
		}, 1 + 6},
		"always damaged": {func(_ int, d []byte) io.Reader { return bytes.NewReader(append([]byte{1}, d[1:]...)) }, 1 + 6},
	} {
		f := &faulty{}
		b := f.open()
		r, err := Put(t.Context(), b, "k", data, nil)
		if err != nil {
			t.Fatal(err)
		}
		f.onRead = c.onRead
		if _, err := Get(t.Context(), b, "k", -1, &Object{MD5: r.MD5}); !Temporary(err) || f.reads != c.reads {
			t.Errorf("%s: %d reads, %v; want %d and a temporary error", name, f.reads, err, c.reads)
		}
	}
}

func TestProgressHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Retry{}.withDefaults()
		calls := 0
		start := time.Now()
		err := r.do(t.Context(), func(a *attempt) error {
			calls++
			a.advance()
			return io.ErrUnexpectedEOF
		})
		if took := time.Since(start); !errors.Is(err, io.ErrUnexpectedEOF) || took > r.Elapsed || calls <= r.Attempts {
			t.Errorf("%d calls in %v, %v; want more than %d, within %v", calls, took, err, r.Attempts, r.Elapsed)
		}
	})
}

func TestGetChecksTheListedMD5(t *testing.T) {
	f := &faulty{}
	b := f.open()
	r, err := Put(t.Context(), b, "k", content(100), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &Object{MD5: r.MD5}
	f.onRead = func(call int, d []byte) io.Reader {
		if call == 0 {
			d = bytes.Clone(d)
			d[50] ^= 128
		}
		return bytes.NewReader(d)
	}
	if g, err := Get(t.Context(), b, "k", -1, want); err != nil || !bytes.Equal(g.Data, content(100)) {
		t.Errorf("one damaged transfer: %v", err)
	}
	f.onRead = func(_ int, d []byte) io.Reader { return bytes.NewReader(append([]byte{1}, d[1:]...)) }
	if _, err := Get(t.Context(), b, "k", -1, want); !Temporary(err) {
		t.Errorf("damaged for ever: %v", err)
	}
}

func TestGetNoticesAnotherObjectInMidStream(t *testing.T) {
	f := &faulty{}
	b := f.open()
	if _, err := Put(t.Context(), b, "k", bytes.Repeat([]byte("a"), 1000), nil); err != nil {
		t.Fatal(err)
	}
	f.onRead = func(call int, d []byte) io.Reader {
		if call > 0 {
			return bytes.NewReader(d)
		}
		o := &memObject{data: bytes.Repeat([]byte("b"), 1000)}
		o.attrs.Size = 1000
		f.put(o, "k", false, &condition{})
		return &breaking{bytes.NewReader(d[:500]), syscall.ECONNRESET}
	}
	g, err := Get(t.Context(), b, "k", -1, nil)
	if err != nil || string(g.Data) != string(bytes.Repeat([]byte("b"), 1000)) {
		t.Errorf("%.20q, %v; want the new object whole", g.Data, err)
	}
}

func TestStalledAttemptEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Retry{Attempts: 3, Elapsed: time.Hour}.withDefaults()
		calls := 0
		start := time.Now()
		err := r.do(t.Context(), func(a *attempt) error {
			calls++
			a.expect(60 << 20)
			<-a.Done()
			return a.Err()
		})
		if !errors.Is(err, errStalled) || !Temporary(err) || calls != 3 {
			t.Errorf("%d calls, %v", calls, err)
		}
		if took := time.Since(start); took < 6*time.Minute || took > 7*time.Minute {
			t.Errorf("three attempts of 1 min and 60 MB took %v", took)
		}
	})
}

func TestRetryObeysTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := Retry{Attempts: 100, Initial: time.Minute, Max: time.Hour, Elapsed: 1000 * time.Hour}.withDefaults()
		time.AfterFunc(time.Second, cancel)
		if err := r.do(ctx, func(*attempt) error { return errThrottled }); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		calls := 0
		if err := r.do(ctx, func(*attempt) error { calls++; return nil }); !errors.Is(err, context.Canceled) || calls != 0 {
			t.Errorf("after the end: %d calls, %v", calls, err)
		}
	})
}

func TestErrorClasses(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		err                              error
		temporary, unreachable, notExist bool
	}{
		{nil, false, false, false},
		{errors.New("anything"), false, false, false},
		{context.Canceled, false, false, false},
		{context.DeadlineExceeded, true, false, false},
		{io.ErrUnexpectedEOF, true, false, false},
		{ErrChanged, false, false, false},
		{&TooLargeError{}, false, false, false},
		{&ExistsError{}, false, false, false},
		{errThrottled, true, false, false},
		{&smithy.GenericAPIError{Code: "ConditionalRequestConflict"}, true, false, false},
		{&smithy.GenericAPIError{Code: "AccessDenied"}, false, true, false},
		{&smithy.GenericAPIError{Code: "NoSuchBucket"}, false, true, false},
		{&googleapi.Error{Code: 429}, true, false, false},
		{&googleapi.Error{Code: 503}, true, false, false},
		{&googleapi.Error{Code: 409}, true, false, false},
		{&azcore.ResponseError{StatusCode: 409, ErrorCode: "BlobImmutableDueToPolicy"}, false, false, false},
		{&googleapi.Error{Code: 403}, false, true, false},
		{&googleapi.Error{Code: 400}, false, false, false},
		{&azcore.ResponseError{StatusCode: 503, ErrorCode: "ServerBusy"}, true, false, false},
		{&azcore.ResponseError{StatusCode: 404, ErrorCode: "ContainerNotFound"}, false, true, false},
		{azureError(&azcore.ResponseError{StatusCode: 500}), true, false, false},
		{dial, true, true, false},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true, false, false},
		{&net.DNSError{IsNotFound: true}, false, true, false},
		{&url.Error{Op: "Get", URL: "x", Err: io.EOF}, true, false, false},
		{syscall.ENOENT, false, false, true},
		{syscall.ENOTDIR, false, false, true},
		{syscall.EACCES, false, true, false},
		{syscall.EROFS, false, true, false},
		{syscall.ENOSPC, false, false, false},
		{syscall.EIO, false, false, false},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			if c.err == nil {
				err = nil
			}
			if Temporary(err) != c.temporary || Unreachable(err) != c.unreachable || IsNotExist(err) != c.notExist {
				t.Errorf("%v: temporary %v, unreachable %v, not exist %v; want %v %v %v", err,
					Temporary(err), Unreachable(err), IsNotExist(err), c.temporary, c.unreachable, c.notExist)
			}
		}
	}
	if !Full(fmt.Errorf("x: %w", syscall.ENOSPC)) || Full(nil) || Full(syscall.EIO) {
		t.Error("Full is for a full disk only")
	}
}
