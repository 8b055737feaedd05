package notify

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// secret is that of the tests of Standard Webhooks.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func secrets(t testing.TB, texts ...string) Secrets {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(file, []byte(strings.Join(texts, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := ReadSecrets(file)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func newSecret(fill string) string {
	return secretPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fill, 32)))
}

// The vector of the libraries of Standard Webhooks.
func TestSignatureVector(t *testing.T) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil {
		t.Fatal(err)
	}
	other := []byte(strings.Repeat("x", 32))
	got := Secrets{key, other}.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if first, _, _ := strings.Cut(got, " "); first != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" || strings.Count(got, "v1,") != 2 {
		t.Errorf("%s", got)
	}
}

func TestSecretsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "# nothing", "hunter2hunter2hunter2hunter2", "whsec_", "whsec_c2hvcnQ=", "whsec_!!!" + newSecret("a"),
		newSecret("a") + "\n" + newSecret("b") + "\n" + newSecret("c") + "\n" + newSecret("d") + "\n" + newSecret("e"), newSecret("aaa"), strings.Repeat(newSecret("a")+"\n", 200)} {
		file := filepath.Join(t.TempDir(), "secrets")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSecrets(file)
		if err == nil {
			t.Errorf("%.40q: %d secrets, want an error", text, len(got))
		} else if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "whsec_!") || strings.Contains(err.Error(), "YWFh") {
			t.Errorf("the error has the secret: %v", err)
		}
	}
	if _, err := ReadSecrets(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there")
	}
}

func TestAddresses(t *testing.T) {
	allow, err := ParseAllow([]string{"10.1.0.0/16", "192.168.7.7", "fd00:1::/32"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.8.8.8": false, "::1": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false,
		"172.32.0.1": true, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "100.128.0.1": true, "198.18.0.1": false, "224.0.0.1": false,
		"255.255.255.255": false, "240.0.0.1": false, "192.0.0.192": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd12::1": false, "fec0::1": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::7f00:1": false, "64:ff9b::a00:1": false, "64:ff9b:1::1": false, "2002:7f00:1::1": false,
		"2001:0:1::1": false, "2001:db8::1": false, "100::1": false,
		"10.1.2.3": true, "10.2.0.0": false, "192.168.7.7": true, "192.168.7.8": false, "fd00:1::5": true, "::ffff:10.1.2.3": true,
	} {
		if err := checkAddress(netip.MustParseAddr(text), true, allow); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %v", text, err, want)
		}
	}
	if checkAddress(netip.MustParseAddr("8.8.8.8"), false, allow) == nil || checkAddress(netip.MustParseAddr("10.1.2.3"), false, allow) != nil {
		t.Error("without TLS: want what is allowed by name only")
	}
	for _, text := range []string{"", "x", "10.0.0.0/33", "localhost"} {
		if _, err := ParseAllow([]string{text}); err == nil {
			t.Errorf("allowed: %q", text)
		}
	}
}

func TestURLs(t *testing.T) {
	for text, want := range map[string]bool{
		"https://example.com/hook?x=1": true, "http://10.0.0.1:8080/": true, "https://[::1]/x": true,
		"": false, "example.com": false, "ftp://example.com": false, "https://": false, "https:///x": false, "https://:443/": false, "https://user:pass@example.com/": false,
		"https://token@example.com/": false, "https://example.com/#secret": false, "https://example.com/" + strings.Repeat("x", longestURL): false, "https://exa mple.com/": false, "file:///etc/passwd": false,
	} {
		err := CheckURL(text)
		if (err == nil) != want {
			t.Errorf("%q: %v, want allowed %v", text, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "pass") && strings.Contains(err.Error(), "user:") || strings.Contains(err.Error(), "token@")) {
			t.Errorf("the error has more than the host: %v", err)
		}
	}
}

// receiver answers as an answer says and verifies every signature with the library of Standard Webhooks.
func receiver(t *testing.T, key string, answer http.HandlerFunc) (url string, requests *atomic.Int64) {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(key)
	if err != nil {
		t.Fatal(err)
	}
	requests = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = hook.Verify(body, r.Header)
		}
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/cloudevents+json" {
			t.Errorf("%s %v: %v", r.Method, r.Header, err)
		}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

func TestAnswers(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // is not used
	hang := make(chan struct{})
	elsewhere, redirected := receiver(t, newSecret("a"), func(http.ResponseWriter, *http.Request) {})
	code := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", elsewhere)
			w.Header().Set("Retry-After", "77")
			w.WriteHeader(n)
		}
	}
	cases := map[string]struct {
		answer http.HandlerFunc
		ok     bool
		wait   time.Duration
		text   string
	}{
		"200": {code(200), true, 0, ""}, "204": {code(204), true, 0, ""},
		"302": {code(302), false, 0, "redirects are not followed"}, "307": {code(307), false, 0, "redirects are not followed"},
		"400": {code(400), false, 77 * time.Second, "answers 400"}, "429": {code(429), false, 77 * time.Second, "answers 429"}, "500": {code(500), false, 77 * time.Second, "answers 500"},
		"410":   {code(410), false, 0, "410"},
		"hangs": {func(http.ResponseWriter, *http.Request) { <-hang }, false, 0, "Timeout"},
		"an endless body": {func(w http.ResponseWriter, _ *http.Request) {
			for range 1000 {
				if _, err := w.Write(make([]byte, 10_000)); err != nil {
					return
				}
			}
		}, true, 0, ""},
		"endless headers": {func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				w.Header().Add("X", strings.Repeat("x", 10_000))
			}
		}, false, 0, "headers exceeded"},
		"nothing": {func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				c.Close()
			}
		}, false, 0, "EOF"},
	}
	local, err := ParseAllow([]string{"127.0.0.0/8", "::1"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		url, requests := receiver(t, newSecret("a"), c.answer)
		timeout := time.Minute // of a receiver that answers, however busy the machine is
		if name == "hangs" {
			timeout = 2 * time.Second
		}
		s := New(Options{Secrets: secrets(t, newSecret("b"), newSecret("a")), Allow: local, Timeout: timeout})
		wait, err := s.Send(t.Context(), url+"/path-that-is-secret", "msg_1", []byte(`{"a":1}`))
		if (err == nil) != c.ok || wait != c.wait || err != nil && !strings.Contains(err.Error(), c.text) || requests.Load() != 1 {
			t.Errorf("%s: %v, wait %v after %d requests, want ok %v, %v, %q", name, err, wait, requests.Load(), c.ok, c.wait, c.text)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has the path: %v", name, err)
		}
		if errors.Is(err, ErrGone) != (name == "410") {
			t.Errorf("%s: gone: %v", name, err)
		}
	}
	close(hang)
	if n := redirected.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// An address that is not public is not connected to, by whatever name it comes: the check is that of the connection.
func TestPrivateAddressesAreNotConnectedTo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var connections atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	other, err := ParseAllow([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Secrets: secrets(t, newSecret("a")), Allow: other, Timeout: time.Minute})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"} {
		for _, scheme := range []string{"http", "https"} {
			_, err := s.Send(context.Background(), scheme+"://"+host+":"+port+"/x", "msg_1", nil)
			if err == nil {
				t.Errorf("%s://%s: delivered", scheme, host)
			} else if host == "127.0.0.1" && !strings.Contains(err.Error(), "not a public address") {
				t.Errorf("%s://%s: %v", scheme, host, err)
			}
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestNotices(t *testing.T) {
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	make1 := func(event, target, job, occurrence, to string) *Notice {
		n, err := NewNotice(event, target, job, occurrence, to, at, map[string]any{"objects": 3})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	n := make1(Done, "s3://b", "job", "1", "https://x")
	ids := map[string]bool{n.ID: true}
	for _, other := range []*Notice{make1(Failed, "s3://b", "job", "1", "https://x"), make1(Done, "s3://c", "job", "1", "https://x"), make1(Done, "s3://b", "job2", "1", "https://x"),
		make1(Done, "s3://b", "job", "2", "https://x"), make1(Done, "s3://b", "job", "1", "https://y"), make1(Done, "s3://bjob", "", "1", "https://x")} {
		if ids[other.ID] {
			t.Errorf("two events with the id %s", other.ID)
		}
		ids[other.ID] = true
	}
	if again := make1(Done, "s3://b", "job", "1", "https://x"); again.ID != n.ID {
		t.Errorf("the same event has the ids %s and %s", n.ID, again.ID)
	}
	var e Event
	if err := json.Unmarshal(n.Body, &e); err != nil || e.SpecVersion != "1.0" || e.ID != n.ID || e.Type != "com.github.pelmill.job.done" || e.Source != "s3://b" || e.Subject != "job" || !e.Time.Equal(at) || string(e.Data) != `{"objects":3}` {
		t.Errorf("%s: %+v (%v)", n.Body, e, err)
	}
	// The waits grow, and a day is the end.
	down, now, attempts := errors.New("down"), at, 0
	last := time.Duration(0)
	for ; n.Ended == ""; attempts++ {
		n.Attempted(now, 0, down)
		wait := n.Next.Sub(now)
		if n.Ended == "" && (wait > longestWait || wait < last*9/10 && last < longestWait*9/10) {
			t.Errorf("attempt %d: a wait of %v after one of %v", n.Attempts, wait, last)
		}
		last, now = wait, n.Next
	}
	if n.Ended != GivenUp || attempts < 15 || attempts > 40 || now.Sub(at) < 24*time.Hour-longestWait {
		t.Errorf("%s after %d attempts and %v", n.Ended, attempts, now.Sub(at))
	}
	n = make1(Done, "s3://b", "job", "1", "https://x")
	if n.Attempted(at, time.Hour, down); n.Next.Sub(at) != time.Hour || n.Error != "down" {
		t.Errorf("told to wait an hour: %+v", n)
	}
	if n.Attempted(at, 0, nil); n.Ended != Delivered || n.Error != "" || n.Attempts != 2 {
		t.Errorf("%+v", n)
	}
	n = make1(Done, "s3://b", "job", "1", "https://x")
	if n.Attempted(at, 0, ErrGone); n.Ended != Gone {
		t.Errorf("%+v", n)
	}
}

// Whatever a file of secrets holds, it is read or refused without quoting it.
func FuzzSecrets(f *testing.F) {
	for _, s := range []string{secret, newSecret("a"), "#\n\n" + newSecret("a") + "\r\n", "whsec_\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseSecrets(data)
		if (err == nil) != (len(list) > 0) {
			t.Fatalf("%d secrets and %v", len(list), err)
		}
		for _, s := range list {
			if len(s) < leastSecret || len(s) > longestSecret {
				t.Fatalf("a secret of %d bytes", len(s))
			}
		}
	})
}
