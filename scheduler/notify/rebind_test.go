package notify

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a server for names on loopback that says at each question what it is told to say then; the last answer stays.
type names struct {
	mu      sync.Mutex
	answers [][]string
	asked   int // questions for addresses of IPv4
}

func (n *names) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		for buf := make([]byte, 1500); ; {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
				continue
			}
			if answer, err := n.answer(m); err == nil {
				conn.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}
}

func (n *names) answer(question dnsmessage.Message) ([]byte, error) {
	q := question.Questions[0]
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: question.ID, Response: true, Authoritative: true, RecursionAvailable: true}, Questions: question.Questions}
	if q.Type == dnsmessage.TypeA {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.asked++
		for _, a := range n.answers[0] {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}, // of no lifetime
				Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(a).To4())},
			})
		}
		if len(n.answers) > 1 {
			n.answers = n.answers[1:]
		}
	}
	return m.Pack()
}

func (n *names) questions() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked
}

// A name that means an allowed address first and a private one then is no way to the private one: what is checked is the
// address that is connected to, at each attempt.
func TestNamesThatChange(t *testing.T) {
	const allowed, private = "127.0.0.2", "127.0.0.3"
	var came sync.Map // number of requests by address
	serve := func(address string) {
		l, err := net.Listen("tcp4", address)
		if err != nil {
			t.Skipf("NOT TESTED: %v", err) // a system with only one address of loopback
		}
		host, _, _ := net.SplitHostPort(address)
		n := &atomic.Int64{}
		came.Store(host, n)
		s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n.Add(1) })}}
		s.Start()
		t.Cleanup(s.Close)
	}
	free, err := net.Listen("tcp4", allowed+":0")
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	serve(net.JoinHostPort(allowed, port))
	serve(net.JoinHostPort(private, port))
	count := func(host string) int64 {
		n, _ := came.Load(host)
		return n.(*atomic.Int64).Load()
	}
	allow, err := ParseAllow([]string{allowed})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		answers [][]string
		ok      []bool // of attempts
	}{
		{"the private one next", [][]string{{allowed}, {private}}, []bool{true, false, false}},
		{"back again", [][]string{{private}, {allowed}}, []bool{false, true}},
		{"both at once", [][]string{{private, allowed}}, []bool{true}},
		{"mapped to others", [][]string{{"0.0.0.0", "169.254.169.254", private}}, []bool{false}},
	} {
		n := &names{answers: c.answers}
		s := New(Options{Secrets: secrets(t, newSecret("a")), Allow: allow, Timeout: time.Minute, resolver: n.resolver(t)})
		for i, ok := range c.ok {
			before := count(allowed)
			_, err := s.Send(t.Context(), "http://receiver.example.com.:"+port+"/", "msg_1", []byte("{}"))
			if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "is not a public address") {
				t.Errorf("%s, attempt %d: %v, want delivered %v", c.name, i, err, ok)
			}
			if delivered := count(allowed)-before == 1; delivered != ok {
				t.Errorf("%s, attempt %d: the allowed address got it: %v", c.name, i, delivered)
			}
			if asked := n.questions(); asked != i+1 {
				t.Errorf("%s: %d questions for %d attempts", c.name, asked, i+1)
			}
		}
	}
	if n := count(private); n != 0 {
		t.Errorf("%d requests came to the private address", n)
	}
}
