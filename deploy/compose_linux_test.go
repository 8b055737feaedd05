package deploy_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/services"
)

// objectsOfJob are more than the limit of requests lets one worker do until the test kills it.
const objectsOfJob = 240

// stack is docker-compose.yml, brought up.
type stack struct {
	*daemon
	data   string // folders are buckets
	tokens string // file of who may use the API
	intake string // what the profile intake does
}

// operator is the made-up token of who may.
const operator = "token-of-the-test"

// TestComposeLosesNothing brings up docker-compose.yml as an operator does, submits a job, kills the worker in the middle
// of it without a warning, starts another one, and compares every result with its source.
func TestComposeLosesNothing(t *testing.T) {
	wanted(t, "compose")
	d := newDaemon(t)
	d.build("cpu", "pelmill:cpu")
	d.servers()
	// What the file says by itself, but that a listing each minute would be long to wait for.
	s := &stack{d, t.TempDir(), filepath.Join(t.TempDir(), "tokens"), "s3://photos s3://results --codec webp --every 3s"}
	hash := sha256.Sum256([]byte(operator))
	if err := os.WriteFile(s.tokens, fmt.Appendf(nil, "operate %x me\n", hash), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.data, 0o755); err != nil {
		t.Fatal(err)
	}
	photos := s.photos(objectsOfJob)
	if err := os.Mkdir(filepath.Join(s.data, "results"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := s.compose("logs", "--no-color", "--tail", "100")
			t.Log(tail(out))
		}
		s.must("--profile", "*", "down", "--volumes", "--timeout", "60")
		if left := d.docker("ps", "-aq") + d.docker("volume", "ls", "-q"); left != "" {
			t.Errorf("compose down left %q", left)
		}
	})

	s.must("--profile", "gpu", "--profile", "intake", "--profile", "receivers", "config", "--quiet") // the worker on cards cannot start here
	s.must("up", "-d", "--wait", "--wait-timeout", "300", "--pull", "never", "--no-build")
	if out := s.must("exec", "-T", "worker", "/usr/bin/pelmill", "health"); !strings.Contains(out, "ready") {
		t.Errorf("health says %q", out)
	}
	s.pelmill("submit", "s3://photos", "s3://results", "--codec", "webp", "--chunk-objects", "20", "--sample", "4", "--tpslimit", "30", "--yes")
	s.until("running with some of it done", func(st status) bool { return st.Done > 0 })
	s.must("kill", "--signal", "KILL", "worker")
	st := s.status()
	t.Logf("killed the worker at %d of %d objects, %s", st.Done, st.Objects, st.State)
	if st.State != "running" || st.Done >= objectsOfJob {
		t.Errorf("the job was %s with %d of %d objects when its worker was killed, too late", st.State, st.Done, st.Objects)
	}
	s.must("up", "-d", "--wait", "--wait-timeout", "300", "--pull", "never", "--no-build")
	s.pelmill("set", "s3://results", "tpslimit=0")
	s.pelmill("watch", "s3://results")

	st = s.status()
	if st.State != "done" || st.Compressed != objectsOfJob || st.Failed != 0 {
		t.Errorf("the job ended %+v", st)
	}
	s.pelmill("verify", "s3://results")
	s.compare(photos)

	// The API and the page are published on loopback, for who has the token.
	if code, _ := s.get("/v1/jobs", ""); code != http.StatusUnauthorized {
		t.Errorf("GET /v1/jobs without a token: %d, want 401", code)
	}
	if code, body := s.get("/v1/jobs", operator); code != http.StatusOK || !strings.Contains(body, "s3://results") {
		t.Errorf("GET /v1/jobs: %d, %s", code, body)
	}

	s.takesIn(photos)

	// A worker that is asked to stop ends in good order.
	s.must("stop", "worker")
	id := strings.TrimSpace(s.must("ps", "-aq", "worker"))
	if code := strings.TrimSpace(d.docker("inspect", "-f", "{{.State.ExitCode}}", id)); code != "0" {
		t.Errorf("the worker ended with code %s on SIGTERM", code)
	}
}

// takesIn starts the profile intake on a bucket that was compressed before, and puts a new object into it: it becomes a
// result, by a batch of its own, and nothing else is done again.
func (s *stack) takesIn(before []string) {
	s.t.Helper()
	s.must("--profile", "intake", "up", "-d", "--wait", "--wait-timeout", "300", "--pull", "never", "--no-build", "intake")
	// Whole at once, as by a PUT.
	const key = "year/arrival.png"
	data, err := os.ReadFile(filepath.Join(s.data, "photos", before[0]))
	if err != nil {
		s.t.Fatal(err)
	}
	beside := filepath.Join(s.data, "arrival.part")
	if err := os.WriteFile(beside, data, 0o644); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(beside, filepath.Join(s.data, "photos", key)); err != nil {
		s.t.Fatal(err)
	}
	result := filepath.Join(s.data, "results", strings.TrimSuffix(key, ".png")+".webp")
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if _, err := os.Stat(result); err == nil {
			break
		}
		if time.Now().After(deadline) {
			s.t.Fatal("what came into the bucket has no result")
		}
	}
	s.compare([]string{key})
	// The batch ends after its result is there.
	s.until("done with a batch of one object", func(st status) bool { return st.State == "done" && st.Objects == 1 && st.Compressed == 1 })
	s.must("--profile", "intake", "stop", "intake")
	id := strings.TrimSpace(s.must("--profile", "intake", "ps", "-aq", "intake"))
	if code := strings.TrimSpace(s.docker("inspect", "-f", "{{.State.ExitCode}}", id)); code != "0" {
		s.t.Errorf("the intake ended with code %s on SIGTERM", code)
	}
}

// get asks the scheduler's published port.
func (s *stack) get(path, token string) (code int, body string) {
	s.t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: s.dial, DisableKeepAlives: true}, Timeout: time.Minute}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://127.0.0.1:8080"+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// photos fills a bucket and returns its keys.
func (s *stack) photos(n int) []string {
	s.t.Helper()
	dir := filepath.Join(s.data, "photos", "year")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	var keys []string
	for i := range n {
		img := image.NewNRGBA(image.Rect(0, 0, 160+i%7, 120+i%5))
		r := rand.New(rand.NewPCG(uint64(i), 1))
		for y := range img.Rect.Dy() {
			for x := range img.Rect.Dx() {
				img.SetNRGBA(x, y, color.NRGBA{uint8(x + i + r.IntN(8)), uint8(y*2 + r.IntN(8)), uint8(x*y/16 + i), 255})
			}
		}
		key := fmt.Sprintf("year/photo-%03d.png", i)
		f, err := os.Create(filepath.Join(s.data, "photos", key))
		if err != nil {
			s.t.Fatal(err)
		}
		if err := png.Encode(f, img); err != nil {
			s.t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			s.t.Fatal(err)
		}
		keys = append(keys, key)
	}
	return keys
}

// compare decodes every result, and every source as it is now.
func (s *stack) compare(keys []string) {
	s.t.Helper()
	for _, key := range keys {
		source := s.hash("photos", key)
		if result := s.hash("results", strings.TrimSuffix(key, ".png")+".webp"); result != source {
			s.t.Errorf("%s: the result is another picture", key)
		}
	}
}

func (s *stack) hash(bucket, key string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.data, bucket, filepath.FromSlash(key)))
	if err != nil {
		s.t.Error(err)
		return ""
	}
	img, err := imageio.Decode(data, nil)
	if err != nil {
		s.t.Errorf("%s: %v", key, err)
		return ""
	}
	return img.Hash()
}

// status is what the test wants to know of pelmill status --json.
type status struct {
	State      string `json:"state"`
	Objects    int    `json:"total"`
	Done       int    `json:"-"`
	Compressed int    `json:"compressed"`
	Failed     int    `json:"failed"`
}

func (s *stack) status() status {
	s.t.Helper()
	out, err := s.compose("exec", "-T", "scheduler", "/usr/bin/pelmill", "status", "s3://results", "--json")
	if err != nil {
		s.t.Log(err)
		return status{}
	}
	var st status
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"type":"status"`) {
			if err := json.Unmarshal([]byte(line), &st); err != nil {
				s.t.Fatalf("status %s: %v", line, err)
			}
		}
	}
	st.Done = st.Compressed + st.Failed
	return st
}

func (s *stack) until(what string, ok func(status) bool) {
	s.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		st := s.status()
		if ok(st) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the job is not %s: %+v", what, st)
		}
	}
}

// pelmill runs a verb as the file says: in a container of its own.
func (s *stack) pelmill(args ...string) string {
	s.t.Helper()
	return s.must(append([]string{"run", "--rm", "--no-deps", "-T", "--pull", "never", "scheduler"}, args...)...)
}

func (s *stack) must(args ...string) string {
	s.t.Helper()
	out, err := s.compose(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *stack) compose(args ...string) (string, error) {
	env := append(slices.Clone(s.env), "PELMILL_DATA="+s.data, "PELMILL_TOKENS="+s.tokens, "PELMILL_INTAKE="+s.intake)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), 10*time.Minute)
	defer cancel()
	return output(ctx, env, nil, s.program("docker"), append([]string{"compose", "--progress", "plain", "-f", filepath.Join(services.Root(s.t), "docker-compose.yml")}, args...)...)
}
