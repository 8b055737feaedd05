//go:build !nos3

package storage

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gocloud.dev/blob"
)

// answers is a store with one object, which answers the first requests as it is told.
type answers struct {
	asked atomic.Int64
	first []http.HandlerFunc // nil: as a store does
	head  http.Header        // goes with the object

	mu   sync.Mutex // requests come on several connections
	data []byte
}

// holds makes data the object.
func (a *answers) holds(data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.data = data
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if i := int(a.asked.Add(1)) - 1; i < len(a.first) && a.first[i] != nil {
		a.first[i](w, r)
		return
	}
	if r.Method == http.MethodPut {
		a.holds(body)
	}
	a.mu.Lock()
	data := a.data
	a.mu.Unlock()
	sum := md5.Sum(data)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
	w.Header().Set("Last-Modified", "Fri, 27 Nov 2026 08:00:00 GMT")
	for name, values := range a.head {
		w.Header()[name] = values
	}
	if r.Method != http.MethodPut {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data)
	}
}

// at opens the store's bucket.
func (a *answers) at(t *testing.T, query string) *Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	bs := NewBuckets()
	t.Cleanup(func() { bs.Close() })
	bs.Retry = Retry{Attempts: 4, Initial: time.Millisecond, Max: time.Millisecond}
	b, err := bs.Open(t.Context(), "s3://bucket?region=us-east-1&use_path_style=true&endpoint="+server.URL+query)
	if err != nil {
		t.Fatal(err)
	}
	if b.direct.(*objectsS3).requests == nil {
		t.Fatal("its requests are not prepared")
	}
	return b
}

func refuse(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>told so</Message></Error>", code)
		}
	}
}

// breakOff ends the connection without an answer.
func breakOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// After an answer that is no plain success the SDK makes the request, and all others for a while.
func TestTheSDKMakesRequestsThatFail(t *testing.T) {
	for _, c := range []struct {
		name  string
		first http.HandlerFunc
	}{
		{"overloaded", refuse(503, "SlowDown")},
		{"wrong clock", refuse(403, "RequestTimeTooSkewed")},
		{"broken connection", breakOff},
		{"part of an object", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusPartialContent) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &answers{data: []byte("content"), first: []http.HandlerFunc{c.first}}
			b := a.at(t, "")
			if got, err := Get(t.Context(), b, "k", -1, nil); err != nil || string(got.Data) != "content" {
				t.Errorf("%q, %v", got.Data, err)
			}
			if n := a.asked.Load(); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
			requests := b.direct.(*objectsS3).requests
			if resp, err := requests.send(t.Context(), headS3, "k", nil, nil); resp != nil || err != nil || a.asked.Load() != 2 {
				t.Error("the next request is not left to the SDK")
			}
			requests.rest.Store(0)
			if resp, _ := requests.send(t.Context(), headS3, "k", nil, nil); resp == nil {
				t.Error("later ones are left to the SDK")
			} else {
				resp.Body.Close()
			}
		})
	}
}

// That an object is missing, or is there already, is no fault of the store: it is asked once, and says the same as where the
// SDK asks. What else it says with such a status is the SDK's business.
func TestMissingObjectsAreAskedForOnce(t *testing.T) {
	for _, c := range []struct {
		status   int
		code, do string
		requests int64
	}{
		{404, "NoSuchKey", "get", 1},
		{404, "NoSuchBucket", "get", 2},
		{404, "", "get", 2},
		{404, "", "stat", 1},
		{412, "PreconditionFailed", "put", 1},
		{412, "SomethingElse", "put", 2},
		{404, "NoSuchBucket", "put", 2},
	} {
		var texts [2]string
		for i := range texts {
			refused := refuse(c.status, c.code)
			a := &answers{first: []http.HandlerFunc{refused, refused}}
			b := a.at(t, "")
			d := b.direct.(*objectsS3)
			if i == 1 {
				d.requests = nil
			}
			var err error
			switch c.do {
			case "get":
				_, _, err = d.open(t.Context(), "k")
			case "stat":
				_, _, _, err = d.stat(t.Context(), "k")
			case "put":
				_, err = d.put(t.Context(), "k", []byte("content"), &blob.WriterOptions{IfNotExist: true}, "")
			}
			texts[i] = fmt.Sprint(errorCode(err), httpStatus(err), IsNotExist(err), Temporary(err), Unreachable(err), driverCode(err), strings.Contains(err.Error(), "told so"))
			if n := a.asked.Load(); i == 0 && n != c.requests {
				t.Errorf("%+v: %d requests", c, n)
			}
		}
		if texts[0] != texts[1] {
			t.Errorf("%+v: %s, want %s", c, texts[0], texts[1])
		}
	}
}

// A write whose answer was lost is seen to be there, and is this call's own or the same.
func TestAWriteWithoutAnAnswer(t *testing.T) {
	a := &answers{}
	a.first = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		a.holds([]byte("content"))
		panic(http.ErrAbortHandler)
	}, refuse(412, "PreconditionFailed")}
	if res, err := Put(t.Context(), a.at(t, ""), "k", []byte("content"), nil); err != nil || res.Size != 7 {
		t.Errorf("%+v, %v", res, err)
	}
}

// What a store says of an object is read as the SDK reads it.
func TestAnswersAreReadAsTheSDKReadsThem(t *testing.T) {
	for _, head := range []http.Header{
		{},
		{"X-Amz-Meta-Sha256": {"00"}, "X-Amz-Meta-Name": {"a%20b"}, "X-Amz-Meta-Plain": {"a b"}},
		{"X-Amz-Server-Side-Encryption": {"aws:kms"}},
		{"X-Amz-Server-Side-Encryption": {"AES256"}},
		{"X-Amz-Server-Side-Encryption-Customer-Algorithm": {"AES256"}},
		{"Etag": {`"0123456789abcdef0123456789abcdef-2"`}},
		{"Etag": {`W/"x"`}},
	} {
		a := &answers{data: []byte("content"), head: head}
		b := a.at(t, "")
		requests := &b.direct.(*objectsS3).requests
		ours := *requests
		var texts [2]string
		for i := range texts {
			if *requests = ours; i == 1 {
				*requests = nil
			}
			o, metadata, err := Stat(t.Context(), b, "k")
			got, errGet := Get(t.Context(), b, "k", -1, nil)
			texts[i] = fmt.Sprint(o, metadata, err, string(got.Data), got.ETag, got.ModTime, got.Size, errGet)
		}
		if texts[0] != texts[1] {
			t.Errorf("%v:\n%s, want\n%s", head, texts[0], texts[1])
		}
	}
}

// An object that is in parts or encrypted has no MD5 in its ETag; the checksum that the store keeps with it must be that of
// what arrives.
func TestReadsFromS3HaveTheirChecksum(t *testing.T) {
	data := []byte("123456789")
	for _, c := range []struct {
		name, value string
		want        string // in the error; empty: none
	}{
		{"Crc32", base64OfHex("cbf43926"), ""},
		{"Crc32c", base64OfHex("e3069283"), ""},
		{"Crc64nvme", base64OfHex("ae8b14860a799888"), ""},
		{"Sha1", base64OfHex("f7c3bc1d808e04732adf679965ccc34ca7ae3441"), ""},
		{"Sha256", base64OfHex("15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"), ""},
		{"Crc32", base64OfHex("cbf43927"), "CRC32"},
		{"Crc64nvme", base64OfHex("ae8b14860a799889"), "CRC64NVME"},
		{"Sha256", base64OfHex("00"), "SHA256"},
		{"Crc32", base64OfHex("cbf43927") + "-2", ""},
		{"Xxhash64", "a", ""},
	} {
		a := &answers{data: data, head: http.Header{"Etag": {`"0123456789abcdef0123456789abcdef-2"`}, "X-Amz-Checksum-" + c.name: {c.value}}}
		got, err := Get(t.Context(), a.at(t, ""), "k", -1, nil)
		switch {
		case c.want == "" && (err != nil || !bytes.Equal(got.Data, data)):
			t.Errorf("%s %s: %q, %v", c.name, c.value, got.Data, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !Temporary(err)):
			t.Errorf("%s %s: %v", c.name, c.value, err)
		case c.want != "" && a.asked.Load() != 5:
			t.Errorf("%s %s: %d requests, want 5: four after the first, which brought all bytes", c.name, c.value, a.asked.Load())
		}
		if c.want != "" {
			b := a.at(t, "")
			b.direct.(*objectsS3).requests = nil
			if _, err := Get(t.Context(), b, "k", -1, nil); err == nil || !Temporary(err) {
				t.Errorf("%s %s, read by the SDK: %v", c.name, c.value, err)
			}
			a.asked.Store(0)
			if _, err := Get(t.Context(), a.at(t, "&response_checksum_validation=when_required"), "k", -1, nil); err != nil {
				t.Errorf("%s %s, not asked for: %v", c.name, c.value, err)
			}
		}
	}
}

// base64OfHex is a checksum as S3 writes it, from hexadecimal.
func base64OfHex(text string) string {
	sum, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(sum)
}
