package faults_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// secrets are texts that may be nowhere but where they were put, by what they are.
type secrets struct {
	t     *testing.T
	marks map[string]string
	seen  int  // bytes that were searched
	lists bool // keys of objects are secrets, but in lists of work

	mu    sync.Mutex
	found map[string]bool
}

// mark makes a secret.
func (s *secrets) mark(what string) string {
	var b [12]byte
	rand.Read(b[:])
	s.marks[what] = "MARK" + hex.EncodeToString(b[:])
	return s.marks[what]
}

// search looks for every secret, plain, in hexadecimal digits and in base64, wherever in it a secret starts.
func (s *secrets) search(where string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen += len(data)
	lower := bytes.ToLower(data)
	for what, secret := range s.marks {
		forms := []string{strings.ToLower(secret), hex.EncodeToString([]byte(secret))}
		for skip := range 3 { // the middle is the same whatever stands before and behind it
			forms = append(forms, strings.ToLower(base64.RawStdEncoding.EncodeToString([]byte(secret[skip:skip+(len(secret)-skip)/3*3]))))
		}
		for _, form := range forms {
			at := bytes.Index(lower, []byte(form))
			if at < 0 || s.found[where+what] {
				continue
			}
			s.found[where+what] = true
			s.t.Errorf("%s has the secret of %s: %q", where, what, data[max(0, at-100):min(len(data), at+len(form)+40)])
		}
	}
}

// write makes a file with text that only its owner reads.
func secretFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// certificate makes a certificate of loopback and its key, in PEM.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pelmill"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

// TestSecretsStayWhereTheyWere marks the password of Redis, the keys of the store, the tokens of the API and of an intake, the
// secrets of notifications and of a queue, and the key of a certificate, runs what goes well and what fails, and searches
// everything that was written: output and logs, also of processes that crash and of one that panics, metrics, profiles,
// answers of the API and its clients, all views of the page, reports, the target, Redis, what receivers of notifications
// get, and the command lines of all processes.
func TestSecretsStayWhereTheyWere(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	s := &secrets{t: t, marks: map[string]string{}, found: map[string]bool{}}
	gw := services.VersityGW(t)
	for _, e := range gw.Env {
		if value, ok := strings.CutPrefix(e, "AWS_SECRET_ACCESS_KEY="); ok {
			s.marks["the store"] = value
		}
	}
	password := s.mark("Redis")
	r := services.Redis(t, "--requirepass", password)
	h := newHook(t)
	s.marks["notifications"] = strings.TrimPrefix(h.secret, "whsec_")
	cert, key := certificate(t)
	lines := strings.Split(key, "\n")
	s.marks["the certificate's key"] = lines[1]
	reader, operator := s.mark("a reader"), s.mark("an operator")
	hash := func(token string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(token))) }

	pelmill := program(t, "cmd/pelmill")
	gw.NewBucket("secrets-src")
	gw.NewBucket("secrets-dst")
	buckets := storage.NewBuckets()
	t.Cleanup(func() { buckets.Close() })
	from, err := buckets.Open(t.Context(), gw.URL("secrets-src"))
	if err != nil {
		t.Fatal(err)
	}
	for i, image := range faults.Images(5, 12, 40) {
		data := image.Data
		if i == 3 {
			data = data[:len(data)/2]
		}
		if _, err := storage.Put(t.Context(), from, image.Key, data, nil); err != nil {
			t.Fatal(err)
		}
	}
	env := append(append(os.Environ(), gw.Env...), "PELMILL_S3_ENDPOINT="+gw.Endpoint, "PELMILL_REDIS=redis://:"+password+"@"+r.Addr()+"/0")
	source, target := "s3://secrets-src", "s3://secrets-dst"

	var processes []*faults.Process
	address := func() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(services.FreePort(t))) }
	api, metrics, workerMetrics := address(), address(), address()
	start := func(name string, args ...string) *faults.Process {
		p := faults.Start(t, name, env, pelmill, args...)
		processes = append(processes, p)
		return p
	}
	scheduler := start("scheduler", "scheduler", target, "-v", "--listen", api, "--token-file", secretFile(t, "read "+hash(reader)+" reader\noperate "+hash(operator)+" operator\n"),
		"--tls-cert", secretFile(t, cert), "--tls-key", secretFile(t, key), "--metrics-listen", metrics, "--tick", "50ms",
		"--notify-secret-file", h.file, "--notify-allow", "127.0.0.0/8")
	worker := start("worker", "worker", "-v", "--metrics-listen", workerMetrics)
	// run runs a command to its end, whatever that is, with something more in its environment.
	run := func(more []string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, pelmill, args...)
		cmd.Env = append(append([]string(nil), env...), more...)
		out, _ := cmd.CombinedOutput()
		if ctx.Err() != nil {
			t.Errorf("pelmill %s does not end: %s", args[0], out)
		}
		s.search("pelmill "+strings.Join(args, " "), out)
		return string(out)
	}
	// What goes well, or ends with objects that failed.
	submitted := run(nil, "submit", source, target, "--codec", "vq", "-o", "n=16", "-o", "passes=1", "--yes", "--json", "--notify", h.URL+"/a", "--notify", h.URL+"/b")
	id := regexp.MustCompile(`\d{8}-\d{6}-[a-z2-7]{4}`).FindString(submitted)
	if id == "" {
		t.Fatalf("no job: %s", submitted)
	}
	run(nil, "watch", target, "--json")
	faults.Until(t, limit, "the notifications", func() bool { _, n := h.came(); return n == 2 })
	for _, args := range [][]string{{"status", target, "-v"}, {"status", target, "--json"}, {"status"}, {"jobs", "--json"}, {"workers", "--json"}, {"report", target, "--json"}, {"report", target, "--failed"},
		{"doctor", source}, {"doctor", "--json"}, {"verify", target, "-v"}, {"retry", target, "--yes", "-v"}, {"watch", target}, {"prune", target, "--keep-last", "1"}, {"orphans", target}, {"version"},
		{"compress", source, target, "--codec", "webp", "-v", "--redis", ""}} {
		run(nil, args...)
	}
	for _, url := range []string{"http://" + metrics, "http://" + workerMetrics} {
		for _, path := range []string{"/metrics", "/readyz", "/livez", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1", "/none"} {
			s.request(http.DefaultClient, "GET", url+path, "")
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(cert))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: limit}
	of := "/v1/jobs/" + id
	for _, token := range []string{reader, operator, "", s.mark("nobody")} {
		for _, path := range []string{"/", of, of + "/plan", of + "/report", of + "/results", of + "/failures", of + "/events", "/v1/session", "/v1/jobs", "/v1/workers", "/v1/targets", "/v1/codecs", "/openapi.yaml", "/v1/jobs/20260102-030405-aaaa", "/v1/none", "/v1/jobs?token=x", "/debug/pprof/cmdline", "/metrics"} {
			s.request(client, "GET", "https://"+api+path, token)
			s.request(client, "POST", "https://"+api+path, token)
		}
	}
	// What fails, with secrets that are wrong: these are secrets, too.
	wrong := s.mark("a wrong password")
	for _, redisURL := range []string{"redis://:" + wrong + "@" + r.Addr() + "/0", "redis://user:" + wrong + "@" + r.Addr() + "/x", "redis://:" + wrong + "@127.0.0.1:port/0", "redis://:" + wrong + "@127.0.0.1:1/0",
		"rediss://:" + wrong + "@" + r.Addr(), "redis-cluster://:" + wrong + "@" + r.Addr(), "redis-sentinel://:" + wrong + "@" + r.Addr() + "/name", "http://:" + wrong + "@" + r.Addr(), "redis://:" + wrong + "%zz@" + r.Addr(), wrong} {
		for _, args := range [][]string{{"doctor"}, {"status", target}, {"workers"}} {
			run([]string{"PELMILL_REDIS=" + redisURL}, args...)
		}
	}
	for _, verb := range []string{"worker", "scheduler"} {
		p := faults.Start(t, verb, append(append([]string(nil), env...), "PELMILL_REDIS=redis://:"+wrong+"@"+r.Addr()+"/0"), pelmill, verb, "-v")
		processes = append(processes, p)
		faults.Until(t, limit, "a "+verb+" with a wrong password to say so", func() bool { return !p.Running() || p.Stderr() != "" })
	}
	run([]string{"AWS_SECRET_ACCESS_KEY=" + s.mark("another store")}, "compress", source, target, "--codec", "vq", "--redis", "")
	run([]string{"AWS_SECRET_ACCESS_KEY=" + wrong}, "doctor", source)
	run([]string{"PELMILL_S3_ENDPOINT=http://key:" + wrong + "@" + strings.TrimPrefix(gw.Endpoint, "http://")}, "doctor", source)
	file := secretFile(t, "whsec_"+wrong+"\n"+wrong)
	run(nil, "scheduler", "--notify-secret-file", file)
	run(nil, "scheduler", "--listen", address(), "--token-file", file)
	run(nil, "scheduler", "--listen", address(), "--token-file", secretFile(t, "read "+hash(reader)+" reader\n"), "--tls-cert", file, "--tls-key", file)
	run([]string{"PELMILL_NOTIFY=https://user:" + wrong + "@example.com/"}, "submit", source, target, "--codec", "vq")
	run(nil, "compress", source, target, "--codec", "vq", "--redis", "", "--notify", h.URL, "--notify-secret-file", file)

	intake := s.intake(t, pelmill, env, source, r.Addr())
	processes = append(processes, intake)
	s.throughTheServer(t, run, "https://"+api, secretFile(t, cert), operator, target, id)
	s.page(client, "https://"+api, id, operator)

	s.searchCommandLines(t, pelmill)

	// Crashes: the runtime writes the stacks of everything that runs.
	gw.NewBucket("secrets-panic")
	s.panics(t, env, openBucket(t, gw.URL("secrets-panic")), worker, func() {
		run(nil, "submit", "s3://secrets-panic", "s3://secrets-dst/panic", "--codec", "vq", "--sample", "0", "--yes")
	})
	for _, p := range []*faults.Process{scheduler, worker, intake} {
		p.Signal(syscall.SIGQUIT)
		p.Wait(t, limit)
		if !strings.Contains(p.Stderr(), "goroutine ") {
			t.Errorf("no crash text: %s", p.Stderr())
		}
	}
	for _, p := range processes {
		p.Kill()
		s.search("output of a process", []byte(p.Stdout()))
		s.search("the log of a process", []byte(p.Stderr()))
	}
	h.mu.Lock()
	for _, body := range h.bodies {
		s.search("a notification", []byte(body))
	}
	h.mu.Unlock()
	s.searchBucket(t, buckets, gw.URL("secrets-dst"), "", jobs.Root)
	s.searchRedis(t, &redis.Options{Addr: r.Addr(), Password: password})
	if s.seen < 100_000 {
		t.Errorf("only %d bytes were searched", s.seen)
	}
	// The search finds what it looks for.
	probe := &secrets{t: &testing.T{}, marks: s.marks, found: map[string]bool{}}
	for _, text := range []string{password, strings.ToUpper(hex.EncodeToString([]byte(password))), base64.StdEncoding.EncodeToString([]byte("x:" + password + "..")), base64.StdEncoding.EncodeToString([]byte(":" + password))} {
		probe.search("probe "+text, []byte("text before "+text+" and behind"))
	}
	if len(probe.found) != 4 {
		t.Errorf("the search finds %d of 4", len(probe.found))
	}
}

// searchCommandLines searches what every user of the machine sees of the processes of a program.
func (s *secrets) searchCommandLines(t *testing.T, program string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		return // another system
	}
	found := 0
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && bytes.HasPrefix(line, []byte(program+"\x00")) {
			found++
			s.search("a command line", line)
		}
	}
	if found < 2 {
		t.Errorf("%d processes of %s", found, program)
	}
}

// request searches the answer to a request, headers and all. The token of the request must not be in it.
func (s *secrets) request(client *http.Client, method, url, token string) {
	s.t.Helper()
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		s.t.Errorf("%s %s: %v", method, url, err)
		return
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	s.search(method+" "+url, body)
	s.search(method+" "+url+", headers", []byte(fmt.Sprint(response.Header)))
}

// workLists are the objects that say what there is to do: what a bucket lists, before any of it was read.
var workLists = regexp.MustCompile(`^\.pelmill/jobs/[^/]+/(listing\.json$|manifest/|given/|chunks/)`)

// searchBucket searches every object with one of the prefixes in a bucket, inflated where it is compressed, and its key and
// metadata.
func (s *secrets) searchBucket(t *testing.T, buckets *storage.Buckets, url string, prefixes ...string) {
	t.Helper()
	b, err := buckets.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	inflate, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer inflate.Close()
	objects := 0
	search := func(p storage.Page) error {
		for _, o := range p.Objects {
			if s.lists && workLists.MatchString(o.Key) {
				continue
			}
			got, err := storage.Get(t.Context(), b, o.Key, -1, nil)
			if err != nil {
				return err
			}
			_, metadata, err := storage.Stat(t.Context(), b, o.Key)
			if err != nil {
				return err
			}
			data := got.Data
			if strings.HasSuffix(o.Key, ".zst") {
				if data, err = inflate.DecodeAll(data, nil); err != nil {
					return fmt.Errorf("%s: %w", o.Key, err)
				}
			}
			objects++
			s.search("the object "+o.Key, data)
			s.search("the object "+o.Key+" as it is stored", got.Data) // with what inflating passes over
			s.search("metadata of "+o.Key, fmt.Append(nil, o.Key, metadata))
		}
		return nil
	}
	for _, prefix := range prefixes {
		if err := storage.Walk(t.Context(), b, &storage.WalkOptions{Prefix: prefix}, search); err != nil {
			t.Error(err)
		}
	}
	if objects < 10 && !s.lists || objects < 5 { // without the lists there are fewer
		t.Errorf("%d objects", objects)
	}
}

// searchRedis searches all keys and values.
func (s *secrets) searchRedis(t *testing.T, opts *redis.Options) {
	t.Helper()
	c := redis.NewClient(opts)
	defer c.Close()
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("%d keys in Redis: %v", len(keys), err)
	}
	for _, key := range keys {
		var value any
		switch c.Type(t.Context(), key).Val() {
		case "string":
			value = c.Get(t.Context(), key).Val()
		case "hash":
			value = c.HGetAll(t.Context(), key).Val()
		case "list":
			value = c.LRange(t.Context(), key, 0, -1).Val()
		case "set":
			value = c.SMembers(t.Context(), key).Val()
		case "zset":
			value = c.ZRange(t.Context(), key, 0, -1).Val()
		}
		s.search("Redis "+key, fmt.Append(nil, key, value))
	}
}
