package api_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/scheduler/api"
)

func submission(source, target string, more ...string) map[string]any {
	m := map[string]any{"source": source, "target": target, "codec": "webp"}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

// Whoever may use the API cannot have the scheduler read its own files, or request anything of other hosts.
func TestPlacesThatAreNotAllowedAreNotTouched(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer inside.Close()
	r := newRig(t, nil)
	r.fill(1)
	elsewhere := t.TempDir()
	secret := filepath.Join(elsewhere, "secret")
	if err := os.WriteFile(secret, []byte("geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]map[string]any{
		"folder of the pod":         submission("file:///etc", r.target),
		"path of the pod":           submission("/etc", r.target),
		"path that goes up":         submission(r.source+"/../../../etc", r.target),
		"target elsewhere":          submission(r.source, elsewhere),
		"link to elsewhere":         submission(filepath.Join(r.dir, "link"), r.target),
		"bucket at another host":    submission("s3://b?endpoint="+inside.URL+"&use_path_style=true&region=x", r.target),
		"bucket":                    submission("s3://b", r.target),
		"target at another host":    submission(r.source, "s3://b?endpoint="+inside.URL+"&use_path_style=true&region=x"),
		"memory":                    submission("mem://x", r.target),
		"store with a key of a pod": submission("gs://b?private_key_path="+secret, r.target),
	} {
		var problem api.Problem
		r.want(403, &problem, "POST", "/v1/jobs", body)
		if strings.Contains(problem.Detail, "geheim") {
			t.Errorf("%s: %s", name, problem.Detail)
		}
	}
	for name, book := range map[string]string{"file of the pod": secret, "relative file": "../secret", "other host": inside.URL + "/book", "folder elsewhere": "file://" + secret} {
		body := submission(r.source, r.target)
		body["codec"], body["options"] = "vq", map[string]string{"codebook": book}
		res, text := r.ask("POST", "/v1/jobs", body)
		if res.StatusCode != 403 && res.StatusCode != 422 || strings.Contains(text, "geheim") {
			t.Errorf("codebook is a %s: %d %s", name, res.StatusCode, text)
		}
	}
	r.want(422, nil, "POST", "/v1/jobs", submission("http://127.0.0.1/latest/meta-data", r.target))
	if _, err := os.Stat(r.target); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests were made to another host", n)
	}
}

func TestOtherNamesAndOriginsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, host := range []string{"evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1"} {
		r.want(421, nil, "GET", "/v1/codecs", nil, "Host", host)
	}
	for _, host := range []string{"localhost", "localhost:80", "127.0.0.1", "[::1]:80"} {
		r.want(200, nil, "GET", "/v1/codecs", nil, "Host", host)
	}
	r.want(403, nil, "POST", "/v1/jobs", submission(r.source, r.target), "Origin", "http://evil.example")
	r.want(403, nil, "POST", "/v1/jobs", submission(r.source, r.target), "Sec-Fetch-Site", "cross-site")
}

// Bodies are read up to their limit only.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, c := range []struct {
		method, path, begin string
		size, status        int
	}{
		{"PATCH", "/v1/jobs/20200101-000000-aaaa", `{"hours":"`, 1 << 20, 413},
		{"POST", "/v1/jobs/20200101-000000-aaaa/pause", `{"x":"`, 1 << 20, 413},
		{"POST", "/v1/session", `{"token":"`, 1 << 20, 413},
		{"POST", "/v1/jobs", `{"manifest":"`, 33 << 20, 413},
	} {
		body := &counted{r: io.MultiReader(strings.NewReader(c.begin), io.LimitReader(letters{}, int64(c.size)))}
		req := httptest.NewRequest(c.method, "http://localhost"+c.path, body)
		req.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		r.api.Handler().ServeHTTP(answer, req)
		if answer.Code != c.status || body.n > 32<<20+64<<10 {
			t.Errorf("%s %s: %d after %d bytes, want %d: %s", c.method, c.path, answer.Code, body.n, c.status, answer.Body)
		}
	}
	deep := httptest.NewRequest("POST", "http://localhost/v1/jobs", strings.NewReader(strings.Repeat(`{"options":`, 100_000)))
	answer := httptest.NewRecorder()
	r.api.Handler().ServeHTTP(answer, deep)
	if answer.Code/100 != 4 {
		t.Errorf("nested objects: %d", answer.Code)
	}
}

// letters is a text without end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type counted struct {
	r io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func writeTokens(t *testing.T, file string, tokens map[string]string) {
	t.Helper()
	text := "# who may do what\n\n"
	for token, role := range tokens {
		sum := sha256.Sum256([]byte(token))
		text += role + " " + hex.EncodeToString(sum[:]) + " somebody\n"
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lockedBuffer is a log that is read while others write it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestTokensHaveRoles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	writeTokens(t, file, map[string]string{"reader-geheim": "read", "operator-geheim": "operate"})
	tokens, err := api.ReadTokens(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	r := newRig(t, func(o *api.Options) {
		o.Tokens, o.Log = tokens, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	r.fill(1)
	for _, header := range [][]string{nil, {"Authorization", "Bearer nonsense"}, {"Authorization", "Basic operator-geheim"}, {"Authorization", "Bearer"}, {"Cookie", api.Cookie + "=nonsense"}} {
		for _, path := range []string{"/v1/jobs", "/v1/codecs", "/v1/openapi.yaml", "/v1/jobs/20200101-000000-aaaa/events", "/v1/nonsense"} {
			if res := r.want(401, nil, "GET", path, nil, header...); res.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no WWW-Authenticate", path)
			}
		}
	}
	for _, header := range [][]string{{"Authorization", "Bearer reader-geheim"}, {"Authorization", "bearer reader-geheim"}, {"Cookie", api.Cookie + "=reader-geheim"}} {
		r.want(200, nil, "GET", "/v1/jobs", nil, header...)
		r.want(403, nil, "POST", "/v1/jobs", submission(r.source, r.target), header...)
		r.want(403, nil, "PATCH", "/v1/jobs/20200101-000000-aaaa", `{}`, header...)
	}
	r.want(201, nil, "POST", "/v1/jobs", submission(r.source, r.target), "Authorization", "Bearer operator-geheim")
	r.want(200, nil, "GET", "/v1/codecs", nil, "Authorization", "Bearer operator-geheim", "Host", "pelmill.example") // tokens are not known to other names' pages

	// A browser keeps a token in a cookie.
	var session api.Session
	r.want(200, &session, "GET", "/v1/session", nil)
	if session.Role != "none" || session.Open {
		t.Errorf("session without a token: %+v", session)
	}
	r.want(401, nil, "POST", "/v1/session", map[string]string{"token": "nonsense"})
	res := r.want(204, nil, "POST", "/v1/session", map[string]string{"token": "reader-geheim"})
	if c := res.Cookies()[0]; c.Value != "reader-geheim" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
		t.Errorf("cookie %+v", c)
	}
	if c := r.want(204, nil, "DELETE", "/v1/session", nil).Cookies()[0]; c.MaxAge >= 0 {
		t.Errorf("cookie of a session that ended: %+v", c)
	}

	// Tokens that are taken away hold no more; a file that is broken changes nothing.
	writeTokens(t, file, map[string]string{"another-geheim": "read"})
	r.wait("the new tokens", func() bool {
		res, _ := r.ask("GET", "/v1/codecs", nil, "Authorization", "Bearer another-geheim")
		return res.StatusCode == 200
	})
	r.want(401, nil, "GET", "/v1/codecs", nil, "Authorization", "Bearer reader-geheim")
	if strings.Contains(log.String(), "geheim") {
		t.Errorf("a token is in the log: %s", log.String())
	}
}

func (r *rig) wait(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("waited three minutes for %s", what)
		}
	}
}

func TestTokenFiles(t *testing.T) {
	t.Parallel()
	good := "read " + strings.Repeat("ab", 32)
	for text, ok := range map[string]bool{
		good: true, good + " name\n#x\n": true, "": false, "# nothing\n": false, "write " + strings.Repeat("ab", 32): false,
		"read geheim": false, "read": false, "geheim": false, good + "\noperate " + strings.Repeat("ab", 31): false,
	} {
		file := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := api.ReadTokens(file, nil)
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v, want %v", text, err, ok)
		}
	}
}

func TestListenersThatOthersReachNeedToKnowThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o      api.ServeOptions
		tokens bool
		ok     bool
	}{
		{api.ServeOptions{Listen: "127.0.0.1:0"}, false, true},
		{api.ServeOptions{Listen: ":8080"}, false, true},
		{api.ServeOptions{Listen: "[::1]:8080"}, false, true},
		{api.ServeOptions{Listen: "localhost:8080"}, false, true},
		{api.ServeOptions{Listen: "0.0.0.0:8080"}, false, false},
		{api.ServeOptions{Listen: "0.0.0.0:8080"}, true, true},
		{api.ServeOptions{Listen: "scheduler.example:8080"}, false, false},
		{api.ServeOptions{Listen: "0.0.0.0:8080", Cert: "c", Key: "k"}, false, false},
		{api.ServeOptions{Listen: "0.0.0.0:8080", Cert: "c", Key: "k", ClientCA: "ca"}, false, true},
		{api.ServeOptions{Listen: "127.0.0.1:8080", Cert: "c"}, false, false},
		{api.ServeOptions{Listen: "127.0.0.1:8080", ClientCA: "ca"}, true, false},
		{api.ServeOptions{Listen: "8080"}, true, false},
	} {
		if err := c.o.Check(c.tokens); (err == nil) != c.ok {
			t.Errorf("%+v, tokens %v: %v, want %v", c.o, c.tokens, err, c.ok)
		}
	}
}

// listen serves the API as the scheduler does.
func (r *rig) listen(o api.ServeOptions) string {
	r.t.Helper()
	o.Listen = "127.0.0.1:0"
	at, stop, err := r.api.Serve(&o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(stop)
	return at
}

// Headers that do not end cost 64 KiB.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	at := r.listen(api.ServeOptions{})
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /v1/codecs HTTP/1.1\r\nHost: localhost\r\n")
	go func() {
		for range 256 {
			if _, err := fmt.Fprintf(c, "X-%s: %s\r\n", strings.Repeat("a", 20), strings.Repeat("b", 1000)); err != nil {
				return
			}
		}
		fmt.Fprint(c, "\r\n")
	}()
	c.SetReadDeadline(time.Now().Add(time.Minute))
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.Contains(line, "431") {
		t.Errorf("answer to 256 KB of headers: %q (%v), want 431", line, err)
	}
}

// A client that sends nothing, or a byte now and then, loses its connection.
func TestSlowClientsLoseTheirConnection(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("NOT TESTED: -short: it waits for ten seconds")
	}
	r := newRig(t, nil)
	at := r.listen(api.ServeOptions{})
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /v1/codecs HTTP/1.1\r\nHost: localhost\r\n")
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
				fmt.Fprint(c, "X: y\r\n")
			}
		}
	}()
	c.SetReadDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.ReadAll(c); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Error("the connection was kept for two minutes")
	}
}
