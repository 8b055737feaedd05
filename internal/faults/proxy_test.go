package faults_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"io"
	"math/bits"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
)

// store keeps the last body put under each path.
type store struct {
	mu      sync.Mutex
	objects map[string][]byte
	hosts   map[string]bool
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[r.Host] = true
	switch r.Method {
	case http.MethodPut:
		s.objects[r.URL.Path], _ = io.ReadAll(r.Body)
	case http.MethodGet:
		w.Header().Set("X-Amz-Checksum-Crc32", "AAAAAA==")
		w.Write(s.objects[r.URL.Path])
	}
}

func newStore(t *testing.T) (*store, *faults.Proxy) {
	s := &store{objects: map[string][]byte{}, hosts: map[string]bool{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, faults.NewProxy(t, server.URL)
}

func call(t *testing.T, method, url string, body []byte) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return resp, got, err
}

var content = bytes.Repeat([]byte("0123456789abcdef"), 64)

func TestProxyForwardsWhatNoRuleTouches(t *testing.T) {
	s, p := newStore(t)
	if _, _, err := call(t, "PUT", p.URL+"/b/k%20ey", content); err != nil {
		t.Fatal(err)
	}
	_, got, err := call(t, "GET", p.URL+"/b/k%20ey", nil)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("got %d bytes, %v", len(got), err)
	}
	if host := strings.TrimPrefix(p.URL, "http://"); !s.hosts[host] || len(s.hosts) != 1 {
		t.Errorf("the store saw hosts %v, want only the signed one, %s", s.hosts, host)
	}
}

func TestProxyRefusesItsShare(t *testing.T) {
	_, p := newStore(t)
	p.Set(faults.Rule{Fault: faults.Refuse, Share: 0.3})
	refused := 0
	for range 1000 {
		resp, _, err := call(t, "GET", p.URL+"/b/k", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusServiceUnavailable {
			refused++
		}
	}
	if refused < 230 || refused > 370 || refused != p.Done(faults.Refuse) {
		t.Errorf("%d of 1000 calls refused, %d counted; want about 300", refused, p.Done(faults.Refuse))
	}
}

func TestProxyFailsEqualCallsOnlySoOften(t *testing.T) {
	_, p := newStore(t)
	p.Set(faults.Rule{Fault: faults.Refuse, Share: 1, Each: 2})
	for _, c := range []struct {
		path string
		want int
	}{{"/b/k", 503}, {"/b/k", 503}, {"/b/k", 200}, {"/b/k", 200}, {"/b/l", 503}, {"/b/k?versionId=1", 503}} {
		resp, _, err := call(t, "GET", p.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", c.path, resp.StatusCode, c.want)
		}
	}
}

func TestProxyLetsTheFirstCallsPass(t *testing.T) {
	_, p := newStore(t)
	p.Set(faults.Rule{Fault: faults.Refuse, Share: 1, After: 2, Most: 1, Match: faults.Reads})
	for i, want := range []int{200, 200, 503, 200} {
		for _, path := range []string{"/b", "/b/k"} { // the first does not match
			resp, _, err := call(t, "GET", p.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if path == "/b/k" && resp.StatusCode != want {
				t.Errorf("call %d: status %d, want %d", i, resp.StatusCode, want)
			}
		}
	}
}

func TestProxyFaults(t *testing.T) {
	for _, c := range []struct {
		rule  faults.Rule
		check func(t *testing.T, s *store, p *faults.Proxy)
	}{
		{faults.Rule{Fault: faults.CutBody, Share: 1, Match: faults.Reads}, func(t *testing.T, s *store, p *faults.Proxy) {
			_, got, err := call(t, "GET", p.URL+"/b/k", nil)
			if err == nil || len(got) != len(content)/2 {
				t.Errorf("read %d bytes with error %v, want half the body and an error", len(got), err)
			}
		}},
		{faults.Rule{Fault: faults.FlipBit, Share: 1, Match: faults.Reads, Bare: true}, func(t *testing.T, s *store, p *faults.Proxy) {
			resp, got, err := call(t, "GET", p.URL+"/b/k", nil)
			if err != nil || len(got) != len(content) {
				t.Fatalf("read %d bytes, %v", len(got), err)
			}
			n := 0
			for i := range got {
				n += bits.OnesCount8(got[i] ^ content[i])
			}
			if n != 1 {
				t.Errorf("%d bits differ, want 1", n)
			}
			if h := resp.Header.Get("X-Amz-Checksum-Crc32"); h != "" {
				t.Errorf("checksum header %q is still there", h)
			}
		}},
		{faults.Rule{Fault: faults.DropWrite, Share: 1, Match: faults.Writes}, func(t *testing.T, s *store, p *faults.Proxy) {
			resp, _, err := call(t, "PUT", p.URL+"/b/new", content)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%v, %v", resp, err)
			}
			sum := md5.Sum(content)
			if got := strings.Trim(resp.Header.Get("ETag"), `"`); got != hex.EncodeToString(sum[:]) {
				t.Errorf("ETag %q, want the body's", got)
			}
			if s.objects["/b/new"] != nil {
				t.Error("the store has the object")
			}
		}},
		{faults.Rule{Fault: faults.DropAnswer, Share: 1, Match: faults.Writes}, func(t *testing.T, s *store, p *faults.Proxy) {
			if resp, _, err := call(t, "PUT", p.URL+"/b/new", content); err == nil {
				t.Errorf("answer %s, want none", resp.Status)
			}
			if !bytes.Equal(s.objects["/b/new"], content) {
				t.Error("the store has no object")
			}
		}},
		{faults.Rule{Fault: faults.Delay, Share: 1, Wait: time.Millisecond}, func(t *testing.T, s *store, p *faults.Proxy) {
			if _, got, err := call(t, "GET", p.URL+"/b/k", nil); err != nil || !bytes.Equal(got, content) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		}},
	} {
		t.Run(c.rule.Fault.String(), func(t *testing.T) {
			s, p := newStore(t)
			s.objects["/b/k"] = content
			c.rule.Most = 1
			p.Set(c.rule)
			c.check(t, s, p)
			if n := p.Done(c.rule.Fault); n != 1 {
				t.Errorf("fault counted %d times, want 1", n)
			}
			if _, got, err := call(t, "GET", p.URL+"/b/k", nil); err != nil || !bytes.Equal(got, content) {
				t.Errorf("after the last fault: %d bytes, %v", len(got), err)
			}
		})
	}
}

func TestProxyReadsChunkedUploads(t *testing.T) {
	s, p := newStore(t)
	p.Set(faults.Rule{Fault: faults.DropWrite, Share: 1})
	body := "5;chunk-signature=00\r\nhello\r\n6\r\n world\r\n0\r\nx-amz-checksum-crc32:DUoRhQ==\r\n\r\n"
	req, err := http.NewRequest("PUT", p.URL+"/b/k", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	sum := md5.Sum([]byte("hello world"))
	if got := strings.Trim(resp.Header.Get("ETag"), `"`); got != hex.EncodeToString(sum[:]) {
		t.Errorf("ETag %s, want that of the payload without its chunks", got)
	}
	if got := resp.Header.Get("X-Amz-Checksum-Crc32"); got != "DUoRhQ==" {
		t.Errorf("checksum %q, want the client's", got)
	}
	if len(s.objects) != 0 {
		t.Error("the store saw the object")
	}
}
