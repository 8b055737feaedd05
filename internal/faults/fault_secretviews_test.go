package faults_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/storage"
)

// intake starts one with a webhook, and one whose queue is away, and asks the first as senders do, right and wrong.
func (s *secrets) intake(t *testing.T, pelmill string, env []string, source, redis string) *faults.Process {
	t.Helper()
	token, queue, wrong := s.mark("a sender of events"), s.mark("a queue"), s.mark("a sender with a wrong token")
	address := func() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(services.FreePort(t))) }
	webhook, metrics := address(), address()
	p := faults.Start(t, "intake", env, pelmill, "intake", source, "s3://secrets-dst/intake", "--codec", "vq", "-v", "--webhook", webhook, "--webhook-token-file", secretFile(t, token+"\n"),
		"--metrics-listen", metrics)
	faults.Until(t, limit, "the intake", func() bool {
		c, err := net.Dial("tcp", webhook)
		if err == nil {
			c.Close()
		}
		return err == nil || !p.Running()
	})
	for _, url := range []string{"http://" + webhook + "/", "http://any:" + wrong + "@" + webhook + "/", "http://any:" + token + "@" + webhook + "/"} {
		for _, body := range []string{`{"key":"none.png"}`, "{", `{"keys":["a","b.png"]}`} {
			resp, err := http.Post(url, "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(strings.ReplaceAll(strings.ReplaceAll(err.Error(), token, "..."), wrong, "..."))
				continue
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			s.search("an answer of the webhook", fmt.Append(text, resp.Header))
		}
	}
	for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
		s.request(http.DefaultClient, "GET", "http://"+metrics+path, "")
	}
	for _, events := range [][]string{
		{"PELMILL_EVENTS=nats://objects?queue=" + queue, "NATS_SERVER_URL=nats://user:" + queue + "@127.0.0.1:1"},
		{"PELMILL_EVENTS=azuresb://topic?subscription=x", "SERVICEBUS_CONNECTION_STRING=Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=n;SharedAccessKey=" + queue + ";UseDevelopmentEmulator=true"},
		{"PELMILL_EVENTS=amqp://user:" + queue + "@127.0.0.1/x"},
		{"PELMILL_EVENTS=nats://x%zz" + queue},
		{"PELMILL_REDIS=redis://:" + queue + "@" + redis, "PELMILL_EVENTS="},
	} {
		health := address()
		other := faults.Start(t, "intake", append(append([]string(nil), env...), events...), pelmill, "intake", source, "s3://secrets-dst/intake", "--codec", "vq", "-v", "--metrics-listen", health)
		faults.Until(t, limit, "an intake that says that it cannot", func() bool {
			text := other.Stderr()
			return !other.Running() || strings.Contains(text, "cannot") || strings.Contains(text, "WARN") || strings.Contains(text, "receives events") || strings.Contains(text, "invalid")
		})
		if other.Running() {
			if c, err := net.Dial("tcp", health); err == nil { // without Redis it has not come to that
				c.Close()
				s.request(http.DefaultClient, "GET", "http://"+health+"/readyz", "")
			}
			other.Signal(syscall.SIGQUIT)
			other.Wait(t, limit)
		}
		s.search("an intake with a queue that is away", []byte(other.Stdout()+other.Stderr()))
	}
	s.receiver(t, pelmill, env, source)
	return p
}

// receiver starts an intake that receives instances over HTTP, and sends to it, with the token and with a wrong one. What it
// keeps of that is in the target.
func (s *secrets) receiver(t *testing.T, pelmill string, env []string, source string) {
	t.Helper()
	token, wrong := s.mark("a sender of instances"), s.mark("a sender of instances with a wrong token")
	address := func() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(services.FreePort(t))) }
	stow, metrics := address(), address()
	p := faults.Start(t, "receiver", env, pelmill, "intake", source+"/spool", "s3://secrets-dst/received", "--codec", "jpeg2000", "-v", "--stow", stow,
		"--stow-token-file", secretFile(t, fmt.Sprintf("store %x sender\n", sha256.Sum256([]byte(token)))), "--metrics-listen", metrics)
	faults.Until(t, limit, "the receiver", func() bool {
		c, err := net.Dial("tcp", stow)
		if err == nil {
			c.Close()
		}
		return err == nil || !p.Running()
	})
	instance := string(faults.NewInstance(1, 1, 16, 16, faults.Patient{Name: "no^one", ID: "0", Accession: "0"}).Data)
	for _, c := range []struct {
		token, content string
		status         int
	}{{token, instance, http.StatusOK}, {token, "no instance", 0}, {wrong, instance, http.StatusUnauthorized}, {"", instance, http.StatusUnauthorized}} {
		request, err := http.NewRequest(http.MethodPost, "http://"+stow+"/studies", strings.NewReader("--b\r\nContent-Type: application/dicom\r\n\r\n"+c.content+"\r\n--b--\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", `multipart/related; type="application/dicom"; boundary=b`)
		if c.token != "" {
			request.Header.Set("Authorization", "Bearer "+c.token)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			continue
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if c.status != 0 && response.StatusCode != c.status {
			t.Errorf("STOW-RS answered %s, want %d", response.Status, c.status)
		}
		s.search("an answer of the receiver", fmt.Append(text, response.Header))
	}
	for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
		s.request(http.DefaultClient, "GET", "http://"+metrics+path, "")
	}
	p.Signal(syscall.SIGQUIT)
	p.Wait(t, limit)
	if !strings.Contains(p.Stderr(), "goroutine ") {
		t.Errorf("no crash text: %s", p.Stderr())
	}
	s.search("a receiver that crashes", []byte(p.Stdout()+p.Stderr()))
}

// throughTheServer runs verbs that ask the API, with the token of the operator and with a wrong one, and makes a report.
func (s *secrets) throughTheServer(t *testing.T, run func(more []string, args ...string) string, api, ca, operator, target, id string) {
	t.Helper()
	right, wrong := secretFile(t, operator+"\n"), secretFile(t, s.mark("an operator who left")+"\n")
	for _, file := range []string{right, wrong} {
		for _, args := range [][]string{{"jobs"}, {"jobs", "--json"}, {"status", id, "-v"}, {"report", id}, {"retry", id, "-v"}, {"pause", id}, {"workers"}, {"cancel", "20260102-030405-aaaa"}} {
			out := run([]string{"PELMILL_REDIS="}, append(args, "--server", api, "--server-token-file", file, "--server-ca", ca)...)
			if refused := strings.Contains(out, "pelmill:"); args[0] == "jobs" && refused != (file == wrong) {
				t.Errorf("jobs --server is refused: %v: %s", refused, out)
			}
		}
	}
	run([]string{"PELMILL_REDIS="}, "jobs", "--server", "https://user:"+s.marks["an operator who left"][4:8]+"@127.0.0.1:1") // a part: the whole would be on a command line
	html := filepath.Join(t.TempDir(), "report.html")
	run(nil, "report", target, id, "--html", html)
	data, err := os.ReadFile(html)
	if err != nil {
		t.Error(err)
	}
	s.search("report.html", data)
}

// page looks at every view of the page, as an operator who has signed in.
func (s *secrets) page(client *http.Client, base, id, operator string) {
	s.t.Helper()
	inner := "/jobs/" + id
	for _, path := range []string{"/", inner, inner + "/objects", inner + "/objects?outcome=failed", inner + "/object?key=none", inner + "/image?key=none&side=before", inner + "/report", "/workers", "/new", "/none", "/static/none", "/?unknown-token"} {
		request, err := http.NewRequest("GET", base+path, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+operator)
		request.Header.Set("Accept", "text/html")
		response, err := client.Do(request)
		if err != nil {
			s.t.Errorf("GET %s: %v", path, err)
			continue
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if !strings.Contains(path, "none") && !strings.Contains(path, "image") && response.StatusCode >= 400 {
			s.t.Errorf("GET %s: %s", path, response.Status)
		}
		s.search("the view "+path, fmt.Append(body, response.Header))
	}
}

// panics has a worker end with a panic, in the middle of its work and with all that it knows in memory, and searches the
// stacks that the runtime writes then. The other worker has ended when it does.
func (s *secrets) panics(t *testing.T, env []string, source *storage.Bucket, other *faults.Process, submit func()) {
	t.Helper()
	other.Signal(syscall.SIGSTOP)
	defer other.Signal(syscall.SIGCONT)
	odd := faults.Image(1, "odd.png", 36, 36)
	if err := source.WriteAll(t.Context(), odd.Key, odd.Data, nil); err != nil {
		t.Fatal(err)
	}
	submit()
	p := faults.Start(t, "faultworker", append(append([]string(nil), env...), "GOTRACEBACK=all"), program(t, "internal/faults/faultworker"))
	p.Wait(t, limit)
	text := p.Stderr()
	if !strings.Contains(text, "panic: faultworker") || strings.Count(text, "goroutine ") < 10 {
		t.Errorf("no panic with all stacks: %s", text)
	}
	s.search("a panic", []byte(text))
}
