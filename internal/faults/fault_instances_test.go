package faults_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// TestInstancesSayNothing marks the values and UIDs of DICOM instances, has a cluster compress good, damaged, odd and grouped
// ones, and searches everything that was written about them: output and logs, also of processes that crash, metrics,
// profiles, answers of the API, all views of the page, reports, records, Redis, and what receivers of notifications get.
func TestInstancesSayNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	s := &secrets{t: t, marks: map[string]string{"UIDs": "3680043.10.999.7"}, found: map[string]bool{}}
	patient := faults.Patient{Name: s.mark("a name")[:20], ID: s.mark("a number")[:20], Accession: s.mark("an accession number")[:16]}
	s.marks["a name"], s.marks["a number"], s.marks["an accession number"] = patient.Name, patient.ID, patient.Accession
	folder, file := s.mark("a folder"), s.mark("a file")
	s.lists = true
	r, h := services.Redis(t), newHook(t)
	source, target, grouped := t.TempDir(), t.TempDir(), t.TempDir()
	for i := range 12 {
		data := faults.NewInstance(7, i, 48, 40, patient).Data
		switch i {
		case 8: // in the pixel data
			data = data[:len(data)-100]
		case 9: // in an element
			data = data[:500]
		case 10: // bits above those that are stored
			data[len(data)-1] |= 0xf0
		case 11: // another value representation, and no end
			data = bytes.Replace(data, []byte("PN"), []byte("SQ"), 1)
		}
		name := filepath.Join(source, fmt.Sprintf("%s-%d", folder, i/8), fmt.Sprintf("%s-%02d", file, i))
		if i%3 != 0 { // others are known by their content
			name += ".dcm"
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	pelmill := program(t, "cmd/pelmill")
	env := append(os.Environ(), "PELMILL_REDIS="+r.URL(), "GOTRACEBACK=all")
	address := func() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(services.FreePort(t))) }
	api, metrics, workerMetrics := address(), address(), address()
	var processes []*faults.Process
	start := func(args ...string) *faults.Process {
		p := faults.Start(t, args[0], env, pelmill, args...)
		processes = append(processes, p)
		return p
	}
	allowed := []string{"--allow", source, "--allow", target, "--allow", grouped}
	start(append([]string{"scheduler", target, grouped, "-v", "--listen", api, "--metrics-listen", metrics, "--tick", "50ms", "--notify-secret-file", h.file, "--notify-allow", "127.0.0.0/8"}, allowed...)...)
	start(append([]string{"worker", "-v", "--metrics-listen", workerMetrics}, allowed...)...)
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), pelmill, args...)
		cmd.Env = env
		out, _ := cmd.CombinedOutput()
		said := out
		for _, arg := range args { // a verb may repeat what it was given
			said = bytes.ReplaceAll(said, []byte(arg), nil)
		}
		s.search("pelmill "+strings.Join(args, " "), said)
		return string(out)
	}
	submit := func(to string, more ...string) string {
		t.Helper()
		out := run(append([]string{"submit", source, to, "--codec", "jpeg2000", "--yes", "--json", "--notify", h.URL}, more...)...)
		id := regexp.MustCompile(`\d{8}-\d{6}-[a-z2-7]{4}`).FindString(out)
		if id == "" {
			t.Fatalf("no job: %s", out)
		}
		run("watch", to, id, "--json")
		return id
	}
	id := submit(target, "--others", "copy")
	series := submit(grouped, "--group", "series", "-o", "container=jp3d")
	faults.Until(t, limit, "the notifications", func() bool { _, n := h.came(); return n == 2 })
	failed := run("report", target, id, "--failed")
	if shown, err := exec.CommandContext(t.Context(), pelmill, "report", target, id, "--failed", "--show-keys").Output(); err != nil || strings.Count(string(shown), file) < 3 {
		t.Errorf("--show-keys: %s, %v", shown, err)
	}
	if strings.Count(failed, "rejected") < 3 {
		t.Errorf("want 3 objects that are rejected: %s", failed)
	}
	html, audited, back := filepath.Join(t.TempDir(), "report.html"), t.TempDir(), t.TempDir()
	for _, args := range [][]string{{"report", target, id, "--failed", "--json"}, {"remove-sources", target}, {"remove-sources", target, "--json"}, {"report", target, id, "--all"}, {"report", target, id, "--all", "--json"}, {"report", grouped, series, "--all", "--json"},
		{"report", target, id, "--html", html}, {"status", target, "-v"}, {"status", target, "--json"}, {"jobs", "--json"}, {"workers"}, {"verify", target, "-v"}, {"verify", grouped, "-v", "--json"},
		{"retry", target, id, "--class", "malformed", "--yes", "-v"}, {"watch", target, "-v"}, {"orphans", target}, {"orphans", grouped}, {"doctor", source, target}, {"prune", target, "--keep-last", "1"},
		{"decompress", target, back, "-v"}, {"decompress", grouped, back, "-v", "--overwrite"}, {"decompress", filepath.Join(source, folder+"-1"), back, "-v"},
		{"compress", source, audited, "--codec", "jpeg2000", "--audit", "--redis", "", "-v"}, {"compress", source, audited, "--codec", "webp", "--redis", "", "-v", "--json"}, {"quarantine", source, audited, "--json"},
		{"plan", target, id}, {"submit", source, target, "--codec", "jpeg2000", "--dry-run", "--sample", "8", "--json"}} {
		run(args...)
	}
	files, err := filepath.Glob(filepath.Join(source, "*", "*"))
	results, err2 := filepath.Glob(filepath.Join(target, folder+"*", "*"))
	volumes, err3 := filepath.Glob(filepath.Join(grouped, "*.jp3d"))
	if err != nil || err2 != nil || err3 != nil || len(files) != 12 || len(results) != 12 || len(volumes) == 0 {
		t.Fatalf("%d files, %d results, %d volumes", len(files), len(results), len(volumes))
	}
	for _, file := range append(append(files, results...), volumes...) {
		run("inspect", file)
		run("inspect", file, "--json")
	}
	data, err := os.ReadFile(html)
	if err != nil {
		t.Error(err)
	}
	s.search("report.html", data)
	for _, url := range []string{"http://" + metrics, "http://" + workerMetrics} {
		for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1"} {
			s.request(http.DefaultClient, "GET", url+path, "")
		}
	}
	for _, job := range []string{id, series} {
		of := "http://" + api + "/v1/jobs/" + job
		for _, path := range []string{"", "/plan", "/report", "/results", "/failures", "/events"} {
			s.request(http.DefaultClient, "GET", of+path, "")
		}
		s.page(http.DefaultClient, "http://"+api, job, "")
	}
	for _, path := range []string{"/v1/jobs", "/v1/workers", "/v1/targets"} {
		s.request(http.DefaultClient, "GET", "http://"+api+path, "")
	}

	// A worker that ends while it has instances in memory writes the stacks of all that runs.
	more, killed := t.TempDir(), t.TempDir()
	for i := range 200 {
		if err := os.WriteFile(filepath.Join(more, fmt.Sprintf("%s-%03d", file, i)), faults.NewInstance(7, i, 256, 256, patient).Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	busy := faults.Start(t, "compress", env, pelmill, "compress", more, killed, "--codec", "jpeg2000", "--redis", "", "-v")
	faults.Until(t, limit, "its first results", func() bool { return busy.Stderr() != "" || !busy.Running() })
	processes = append(processes, busy)
	processes = append(processes, s.receives(t, env, pelmill, address(), address(), patient))
	for _, p := range processes {
		p.Signal(syscall.SIGQUIT)
		p.Wait(t, limit)
		if !strings.Contains(p.Stderr(), "goroutine ") {
			t.Errorf("no crash text: %s", p.Stderr())
		}
		s.search("output of a process", []byte(p.Stdout()))
		s.search("the log of a process", []byte(p.Stderr()))
	}
	h.mu.Lock()
	for _, body := range h.bodies {
		s.search("a notification", []byte(body))
	}
	h.mu.Unlock()
	buckets := storage.NewBuckets()
	defer buckets.Close()
	for _, dir := range []string{target, grouped, killed} {
		s.searchBucket(t, buckets, "file://"+dir, jobs.Root)
	}
	s.searchBucket(t, buckets, "file://"+audited, jobs.Root+"jobs/", jobs.Root+"intake/")
	s.searchRedis(t, &redis.Options{Addr: r.Addr()})
	if s.seen < 100_000 {
		t.Errorf("only %d bytes were searched", s.seen)
	}
	// The search finds what it looks for.
	probe := &secrets{t: &testing.T{}, marks: s.marks, found: map[string]bool{}}
	probe.search("a file", append(faults.NewInstance(7, 1, 8, 8, patient).Data, folder+file...))
	if len(probe.found) != len(s.marks) {
		t.Errorf("the search finds %d of %d", len(probe.found), len(s.marks))
	}
}

// receives starts an intake and sends it instances over HTTP, good, again, in conflict, and cut, until one is compressed.
func (s *secrets) receives(t *testing.T, env []string, pelmill, address, metrics string, patient faults.Patient) *faults.Process {
	t.Helper()
	archive := t.TempDir()
	p := faults.Start(t, "intake", env, pelmill, "intake", t.TempDir(), archive, "--redis", "", "--codec", "jpeg2000", "-v", "--stow", address, "--metrics-listen", metrics, "--batch-wait", "50ms")
	for i := range 5 {
		in := faults.NewInstance(7, min(i, 2), 256, 256, patient)
		switch i {
		case 3:
			in.Data[len(in.Data)-1] ^= 1
		case 4:
			in.Data = in.Data[:400]
		}
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/dicom"}})
		if err != nil {
			t.Fatal(err)
		}
		part.Write(in.Data)
		w.Close()
		media := fmt.Sprintf(`multipart/related; type="application/dicom"; boundary=%s`, w.Boundary())
		faults.Until(t, limit, "an answer", func() bool {
			response, err := http.Post("http://"+address+"/studies", media, bytes.NewReader(body.Bytes()))
			if err != nil {
				return !p.Running()
			}
			response.Body.Close()
			return true
		})
	}
	faults.Until(t, limit, "a batch to end", func() bool { return strings.Contains(p.Stderr(), "batch has ended") || !p.Running() })
	for _, path := range []string{"/metrics", "/readyz"} {
		s.request(http.DefaultClient, "GET", "http://"+metrics+path, "")
	}
	held, _ := filepath.Glob(filepath.Join(archive, jobs.Root, "quarantine", "*", "*.json"))
	if len(held) != 2 {
		t.Errorf("%d records in quarantine, want 2: a conflict and a part of an instance", len(held))
	}
	for _, name := range held {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		s.search("a record of quarantine", append(data, name...))
	}
	return p
}
