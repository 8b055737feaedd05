package faults

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/seed"
)

// Fault is one way in which a store fails its clients.
type Fault int

const (
	Refuse       Fault = iota // 503 SlowDown; the store does not see the call
	CutBody                   // the answer's body ends in the middle and the connection closes
	FlipBit                   // one bit of the answer's body is inverted
	DropWrite                 // a write is answered as done; the store does not have the object
	DropAnswer                // the store does the call, the connection closes without an answer
	Delay                     // the call takes longer
	Forbid                    // 403 AccessDenied; the store does not see the call
	Full                      // 507 XMinioStorageFull; the store does not see the call
	Throttle                  // 429 with Retry-After; the store does not see the call
	Hang                      // half of the answer's body comes, then nothing, and the connection stays open
	Conflict                  // 409, as where two conditional writes race; the store does not see the call
	Precondition              // 412, as where the object exists; the store does not see the call
)

var faultNames = [...]string{"refuse", "cut body", "flip bit", "drop write", "drop answer", "delay", "forbid", "full",
	"throttle", "hang", "conflict", "precondition"}

func (f Fault) String() string { return faultNames[f] }

// Call is what a rule sees of a request, in the words of S3, whatever the store speaks: PUT writes an object, GET with a
// key reads one, HEAD asks what is known of it, GET without a key lists.
type Call struct {
	Method, Bucket, Key string
	Query               url.Values
}

func (c Call) String() string {
	return c.Method + " " + c.Bucket + "/" + c.Key + "?" + c.Query.Encode()
}

// Reads matches the reading of objects.
func Reads(c Call) bool {
	return c.Method == http.MethodGet && c.Key != "" && len(c.Query["uploadId"]) == 0
}

// Writes matches the writing of objects in one call.
func Writes(c Call) bool {
	return c.Method == http.MethodPut && c.Key != "" && !c.Query.Has("uploadId") && !c.Query.Has("partNumber") && c.Query.Get("comp") == ""
}

// Rule does one fault to a share of the calls it matches.
type Rule struct {
	Fault Fault
	Share float64         // of the matching calls, 0 to 1
	Match func(Call) bool // nil: every call
	Wait  time.Duration   // of Delay
	Bare  bool            // FlipBit: take the checksum headers away, as from a store that has none
	After int             // let so many of the matching calls pass first
	Most  int             // stop after so many faults; 0: never
	Each  int             // stop after so many faults on equal calls (method, path and query); 0: never
}

// Objects is a store past the proxy, from which [DropWrite] takes what a store other than S3 has taken.
type Objects interface {
	Remove(bucket, key string) error
	Has(bucket, key string) bool
}

// Proxy forwards calls to a store and does to them what its rules say. Host and path stay as the client sent
// them, so that signatures stay valid. It is safe for concurrent use.
type Proxy struct {
	URL string // http://127.0.0.1:port

	kind    string // scheme of the store: s3, gs or azblob
	objects Objects
	hook    func(Call)

	mu    sync.Mutex
	rng   *rand.Rand
	rules []Rule
	first []int            // matching calls that each rule still lets pass
	left  []int            // faults that each rule may still do; -1: any number
	equal []map[string]int // faults that each rule with Each did, by call
	done  map[Fault]int
	calls int
}

// faultKey carries the fault of a call from the handler to the answer.
type faultKey struct{}

// NewProxy starts a proxy in front of the store at target, an http URL, and stops it when the test ends. The faults
// fall by the seed of the test, in the order of the calls.
func NewProxy(t testing.TB, target string) *Proxy { return NewProxyOf(t, target, "s3", nil) }

// NewProxyOf is NewProxy for a store of a kind: s3, gs or azblob. objects is needed for DropWrite where
// the store is not S3.
func NewProxyOf(t testing.TB, target, kind string, objects Objects) *Proxy {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatalf("faults: proxy target: %v", err)
	}
	p := &Proxy{kind: kind, objects: objects, rng: seed.Rand(t), done: map[Fault]int{}}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			if kind != "gs" { // which signs nothing, and whose emulator answers to its own name only
				r.Out.Host = r.In.Host
			}
		},
		// Compression would add an Accept-Encoding that the client did not sign.
		Transport:      &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
		FlushInterval:  -1,
		ModifyResponse: p.spoil,
		ErrorLog:       log.New(io.Discard, "", 0),
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("faults: proxy: %v", err)
	}
	p.URL = "http://" + listener.Addr().String()
	server := &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(forward, w, r) }),
		ErrorLog: log.New(io.Discard, "", 0),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return p
}

// Set replaces the rules. A call suffers Delay rules and the first other rule that falls on it.
func (p *Proxy) Set(rules ...Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = rules
	p.first = make([]int, len(rules))
	p.left = make([]int, len(rules))
	p.equal = make([]map[string]int, len(rules))
	for i, r := range rules {
		p.equal[i] = map[string]int{}
		p.first[i], p.left[i] = r.After, r.Most
		if r.Most == 0 {
			p.left[i] = -1
		}
	}
}

// Before has fn called before each call is forwarded, from the goroutine of the call.
func (p *Proxy) Before(fn func(Call)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = fn
}

// All is how many faults were done so far.
func (p *Proxy) All() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, done := range p.done {
		n += done
	}
	return n
}

// Done is how often a fault was done so far.
func (p *Proxy) Done(f Fault) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done[f]
}

// Calls is how many calls came so far.
func (p *Proxy) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// draw decides what happens to a call; rule nil is no fault.
func (p *Proxy) draw(c Call) (wait time.Duration, rule *Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	for i, r := range p.rules {
		if r.Match != nil && !r.Match(c) {
			continue
		}
		if p.first[i] > 0 {
			p.first[i]--
			continue
		}
		if rule != nil && r.Fault != Delay || p.left[i] == 0 || p.rng.Float64() >= r.Share {
			continue
		}
		if r.Each > 0 && p.equal[i][c.String()] >= r.Each {
			continue
		}
		p.equal[i][c.String()]++
		if p.left[i] > 0 {
			p.left[i]--
		}
		if r.Fault == Delay {
			wait += r.Wait
			p.done[Delay]++
			continue
		}
		rule = &r
	}
	return wait, rule
}

func (p *Proxy) count(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[f]++
}

func (p *Proxy) serve(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	c := p.callOf(r)
	p.mu.Lock()
	hook := p.hook
	p.mu.Unlock()
	if hook != nil {
		hook(c)
	}
	wait, rule := p.draw(c)
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	if rule == nil {
		forward.ServeHTTP(w, r)
		return
	}
	switch rule.Fault {
	case Refuse, Forbid, Full, Throttle, Conflict, Precondition:
		p.count(rule.Fault)
		p.refuse(w, r, rule.Fault)
	case DropWrite:
		if p.kind == "s3" {
			p.count(DropWrite)
			pretend(w, r)
			return
		}
		p.loseWrite(forward, w, r, c)
	case DropAnswer:
		p.count(DropAnswer)
		forward.ServeHTTP(discard{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	default:
		forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), faultKey{}, rule)))
	}
}

// loseWrite lets the store do a write that creates an object, and removes the object before the client hears of it. What
// replaces an object is only forwarded: a store that loses what it had before keeps no promise that a client could hold.
func (p *Proxy) loseWrite(forward http.Handler, w http.ResponseWriter, r *http.Request, c Call) {
	if p.objects == nil || p.objects.Has(c.Bucket, c.Key) {
		forward.ServeHTTP(w, r)
		return
	}
	answer := finalAnswer{httptest.NewRecorder()}
	forward.ServeHTTP(answer, r)
	if answer.Code/100 == 2 && p.objects.Remove(c.Bucket, c.Key) == nil {
		p.count(DropWrite)
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	w.Write(answer.Body.Bytes())
}

// finalAnswer keeps an answer, without what a store says before it, such as 100 Continue.
type finalAnswer struct{ *httptest.ResponseRecorder }

func (a finalAnswer) WriteHeader(status int) {
	if status >= http.StatusOK {
		a.ResponseRecorder.WriteHeader(status)
	}
}

// refuse answers a call with an error in the store's own words.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, f Fault) {
	answer := map[Fault]struct {
		status             int
		s3, azure, message string
	}{
		Refuse:       {http.StatusServiceUnavailable, "SlowDown", "ServerBusy", "Please reduce your request rate."},
		Forbid:       {http.StatusForbidden, "AccessDenied", "AuthorizationFailure", "Access Denied."},
		Full:         {http.StatusInsufficientStorage, "XMinioStorageFull", "AccountBeingCreated", "Storage backend has reached its minimum free drive threshold."},
		Throttle:     {http.StatusTooManyRequests, "TooManyRequests", "ServerBusy", "Slow down."},
		Conflict:     {http.StatusConflict, "ConditionalRequestConflict", "OperationTimedOut", "A conflicting conditional operation is currently in progress."},
		Precondition: {http.StatusPreconditionFailed, "PreconditionFailed", "ConditionNotMet", "At least one of the preconditions you specified did not hold."},
	}[f]
	io.Copy(io.Discard, r.Body)
	if f == Throttle {
		w.Header().Set("Retry-After", "0")
	}
	if p.kind == "gs" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.status)
		fmt.Fprintf(w, `{"error":{"code":%d,"message":%q}}`, answer.status, answer.message)
		return
	}
	code := answer.s3
	if p.kind == "azblob" {
		code = answer.azure
		w.Header().Set("x-ms-error-code", code)
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(answer.status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, answer.message)
}

// callOf reads a request in the language of the store.
func (p *Proxy) callOf(r *http.Request) Call {
	c := Call{Method: r.Method, Query: r.URL.Query()}
	path := strings.TrimPrefix(r.URL.Path, "/")
	switch p.kind {
	case "gs":
		api, isAPI := strings.CutPrefix(strings.TrimPrefix(strings.TrimPrefix(path, "upload/"), "resumable/upload/"), "storage/v1/b/")
		if !isAPI { // the XML API, by which objects are read
			c.Bucket, c.Key, _ = strings.Cut(path, "/")
			return c
		}
		c.Bucket, c.Key, _ = strings.Cut(api, "/o")
		c.Key = strings.TrimPrefix(c.Key, "/")
		switch {
		case r.Method == http.MethodPost && strings.HasPrefix(path, "upload/"):
			c.Method, c.Key = http.MethodPut, nameOf(r)
		case r.Method == http.MethodGet && c.Key != "" && c.Query.Get("alt") != "media":
			c.Method = http.MethodHead
		}
	case "azblob":
		_, path, _ = strings.Cut(path, "/") // the account
		fallthrough
	default:
		c.Bucket, c.Key, _ = strings.Cut(path, "/")
	}
	return c
}

// nameOf finds the object's name in an upload to Google: in the query, or in the first part of the body.
func nameOf(r *http.Request) string {
	if name := r.URL.Query().Get("name"); name != "" {
		return name
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
	if err != nil {
		return ""
	}
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	part, err := multipart.NewReader(bytes.NewReader(body), params["boundary"]).NextPart()
	if err != nil {
		return ""
	}
	var object struct{ Name string }
	if json.NewDecoder(part).Decode(&object) != nil {
		return ""
	}
	return object.Name
}

// spoil changes the body of an answer that suffers CutBody, FlipBit or Hang.
func (p *Proxy) spoil(resp *http.Response) error {
	rule, _ := resp.Request.Context().Value(faultKey{}).(*Rule)
	if rule == nil || resp.StatusCode/100 != 2 || resp.ContentLength <= 0 {
		return nil
	}
	p.count(rule.Fault)
	switch rule.Fault {
	case CutBody:
		resp.Body = &cutBody{resp.Body, resp.ContentLength / 2}
	case Hang:
		resp.Body = &hungBody{resp.Body, resp.ContentLength / 2, resp.Request.Context()}
	case FlipBit:
		p.mu.Lock()
		bit := p.rng.Int64N(8 * resp.ContentLength)
		p.mu.Unlock()
		resp.Body = &flipBody{resp.Body, bit}
		for name := range resp.Header {
			if rule.Bare && (strings.HasPrefix(name, "X-Amz-Checksum-") || name == "X-Goog-Hash" || name == "Content-Md5") {
				resp.Header.Del(name)
			}
		}
	}
	return nil
}

// hungBody gives left bytes and then nothing, until the client goes.
type hungBody struct {
	io.ReadCloser
	left   int64
	client context.Context
}

func (b *hungBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		<-b.client.Done()
		return 0, b.client.Err()
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// cutBody fails after left bytes.
type cutBody struct {
	io.ReadCloser
	left int64
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.New("faults: body cut")
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// flipBody inverts the bit with number bit.
type flipBody struct {
	io.ReadCloser
	bit int64
}

func (b *flipBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if at := b.bit / 8; b.bit >= 0 && at < int64(n) {
		p[at] ^= 1 << (b.bit % 8)
	}
	b.bit -= 8 * int64(n)
	return n, err
}

// discard takes an answer that nobody gets.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// pretend answers a PUT as a store that had taken it: with the ETag of the payload and the checksums that the client
// sent.
func pretend(w http.ResponseWriter, r *http.Request) {
	body, trailer, err := payload(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for name, values := range r.Header {
		if strings.HasPrefix(name, "X-Amz-Checksum-") {
			w.Header()[name] = values
		}
	}
	for name, value := range trailer {
		w.Header().Set(name, value)
	}
	sum := md5.Sum(body)
	w.Header().Set("ETag", strconv.Quote(hex.EncodeToString(sum[:])))
	w.WriteHeader(http.StatusOK)
}

// payload reads the body of a PUT, plain or in the aws-chunked encoding of signature version 4:
//
//	1f4;chunk-signature=...\r\n 500 bytes \r\n ... 0\r\n x-amz-checksum-crc32:AAAAAA==\r\n \r\n
func payload(r *http.Request) (body []byte, trailer map[string]string, err error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, nil, err
	}
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return raw, nil, nil
	}
	in := bufio.NewReader(bytes.NewReader(raw))
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, nil, fmt.Errorf("faults: aws-chunked body: %w", err)
		}
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 32)
		if err != nil {
			return nil, nil, fmt.Errorf("faults: aws-chunked size %q: %w", size, err)
		}
		if n == 0 {
			break
		}
		chunk := make([]byte, n+2)
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, nil, fmt.Errorf("faults: aws-chunked chunk of %d bytes: %w", n, err)
		}
		body = append(body, chunk[:n]...)
	}
	trailer = map[string]string{}
	for {
		line, err := in.ReadString('\n')
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			trailer[name] = value
		}
		if err != nil {
			return body, trailer, nil
		}
	}
}
