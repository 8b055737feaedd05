package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/api"
	"github.com/pelmill/pelmill/scheduler/page"
)

// TestViews: every view of a job that has ended, with objects of strange names, one that is no
// picture, and one of a patient.
func TestViews(t *testing.T) {
	t.Parallel()
	r := newRig(t, "", nil, page.Options{})
	r.write("a/one.png", picture(t, 1))
	r.write("a/<b>\"&two.png", picture(t, 2))
	r.write("a/broken.png", picture(t, 3)[:100])
	r.write("patient-name.dcm", []byte("no DICOM"))
	r.work()
	id := r.ended(nil)
	res, _ := r.want(200, "/", nil, id, "done", "webp", `href="/new"`)
	if csp := res.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "http") {
		t.Errorf("policy %q", csp)
	}
	r.want(200, "/?state=done&q=WEBP+"+id, nil, id)
	if _, body := r.want(200, "/?q=nothing-like-it", nil, "No job is here that matches"); strings.Contains(body, id) {
		t.Error("the search finds what does not match")
	}
	r.want(200, "/?state=active", nil, "No job is here that matches")
	r.want(200, "/jobs/"+id, nil, "Every object was attempted", "Outcomes", "malformed", "the source is damaged", "Retry these", "Retry all failures", `name="class" value="malformed"`, "pelmill submit file:", "Report", `data-live`)
	r.want(200, "/workers", nil, "working", "cpu")
	r.want(200, "/new", nil, "Allowed places", "webp (lossless)", `name="token" value="page-`)
	_, body := r.want(200, "/jobs/"+id+"/objects", nil, "a/one.png", "&lt;b&gt;", "hmac:")
	if strings.Contains(body, "patient") || strings.Contains(body, "<b>") {
		t.Errorf("the list of objects has what it must not: %s", body)
	}
	if _, body := r.want(200, "/jobs/"+id+"/objects?outcome=failed,rejected", nil, "a/broken.png"); strings.Contains(body, "one.png") {
		t.Error("the list of failures has others")
	}
	key := "key=" + url.QueryEscape(`a/<b>"&two.png`)
	r.want(200, "/jobs/"+id+"/object?"+key, nil, "Before: png", "After: webp", "&lt;b&gt;")
	for _, of := range []string{"source", "result"} {
		res, body := r.want(200, "/jobs/"+id+"/image?of="+of+"&"+key, nil)
		m, err := png.Decode(strings.NewReader(body))
		if err != nil || m.Bounds().Dx() != 24 || res.Header.Get("Content-Type") != "image/png" {
			t.Errorf("picture of the %s: %v", of, err)
		}
	}
	for _, path := range []string{"/object?key=patient-name.dcm", "/object?key=none", "/object", "/nothing"} {
		r.want(404, "/jobs/"+id+path, nil)
	}
	r.want(422, "/jobs/"+id+"/image?of=source&key=patient-name.dcm", nil)
	res, body = r.want(200, "/jobs/"+id+"/report", nil, "verified", "What became of the objects")
	if csp := res.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "sandbox") || !strings.Contains(csp, "style-src 'sha256-") {
		t.Errorf("policy of the report %q", csp)
	}
	r.want(404, "/jobs/20260102-030405-abcd", nil, "Not Found")
	r.want(404, "/elsewhere", nil, "Nothing is here")
}

// TestFormMakesAJobOnce: the job waits for start with its estimate and cost, the form sent twice
// makes one job, and what is wrong is said beside what was given.
func TestFormMakesAJobOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, "", nil, page.Options{})
	r.write("one.png", picture(t, 1))
	form := url.Values{"token": {"page-1"}, "source": {r.source}, "target": {r.target}, "codec": {"webp"}, "options": {"effort=1"}, "sample": {"1"},
		"priority": {"2"}, "device": {"auto"}, "verify": {"full"}, "larger": {"leave"}, "others": {"leave"}}
	res, _ := r.want(303, "/new", form)
	job := res.Header.Get("Location")
	if res, _ := r.want(303, "/new", form); res.Header.Get("Location") != job {
		t.Errorf("sent twice: %s and %s", job, res.Header.Get("Location"))
	}
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		_, body := r.want(200, job, nil)
		if strings.Contains(body, "planned") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("waited four minutes for a plan: %s", body)
		}
	}
	r.want(200, job, nil, "Expected saving", "Expected cost", "EUR", `id="do-start"`, "effort=1")
	r.want(303, job+"/cancel", url.Values{})
	r.want(409, job+"/pause", url.Values{}, "Conflict")
	r.want(404, job+"/jump", url.Values{})
	for field, value := range map[string]string{"source": "", "options": "effort", "sample": "many", "priority": "9", "codec": "none"} {
		wrong := url.Values{}
		for k, v := range form {
			wrong[k] = v
		}
		wrong.Set(field, value)
		wrong.Set("token", "page-"+field)
		r.want(422, "/new", wrong, `role="alert"`, `value="`+r.target+`"`)
	}
	elsewhere := url.Values{}
	for k, v := range form {
		elsewhere[k] = v
	}
	elsewhere.Set("source", "/etc")
	elsewhere.Set("token", "page-2")
	r.want(403, "/new", elsewhere, `role="alert"`)
}

// TestPicturesOfSharedCodebooks: what a result needs beside its file is found in the target.
func TestPicturesOfSharedCodebooks(t *testing.T) {
	t.Parallel()
	r := newRig(t, "", nil, page.Options{})
	noise, random := image.NewGray(image.Rect(0, 0, 64, 64)), rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(random.Uint32())
	}
	var data bytes.Buffer
	if err := png.Encode(&data, noise); err != nil {
		t.Fatal(err)
	}
	r.write("one.png", data.Bytes())
	r.work()
	id := r.ended(func(s *jobs.Spec) { s.Codec, s.Options = "vq", "codebook=job n=4" })
	r.want(200, "/jobs/"+id+"/objects?outcome=compressed", nil, "one.png")
	_, body := r.want(200, "/jobs/"+id+"/image?of=result&key=one.png", nil)
	if _, err := png.Decode(strings.NewReader(body)); err != nil {
		t.Error(err)
	}
}

// TestRoles: without a token there is a form to sign in, and who may read cannot change.
func TestRoles(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for role, token := range map[string]string{"read": "reader", "operate": "operator"} {
		sum := sha256.Sum256([]byte(token))
		fmt.Fprintf(&lines, "%s %s %s\n", role, hex.EncodeToString(sum[:]), role)
	}
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := api.ReadTokens(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "", tokens, page.Options{})
	for _, path := range []string{"/", "/workers", "/new", "/jobs/x", "/elsewhere"} {
		if _, body := r.want(401, path, nil, "Sign in", `action="/v1/session"`); strings.Contains(body, "Workers") {
			t.Errorf("%s says more than how to sign in", path)
		}
	}
	r.want(200, "/static/page.css", nil)
	r.want(404, "/static/none.css", nil)
	res, _ := r.ask("/v1/session", url.Values{"token": {"none"}})
	if at := res.Header.Get("Location"); res.StatusCode != 303 || at != "/?"+api.UnknownToken {
		t.Errorf("a wrong token leads with %d to %q", res.StatusCode, at)
	}
	r.want(401, "/?"+api.UnknownToken, nil, "no such token", `role="alert"`, `action="/v1/session"`)
	r.token = "reader"
	if _, body := r.want(200, "/", nil, "Sign out"); strings.Contains(body, "/new") {
		t.Error("a reader is shown the form")
	}
	r.want(403, "/new", url.Values{}, "may read, not change")
	r.token = "operator"
	r.want(200, "/", nil, `href="/new"`)
}

// TestHashedKeys: with the option no view has a key or a picture.
func TestHashedKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, "", nil, page.Options{HashKeys: true})
	r.write("marked-key.png", picture(t, 1))
	r.write("marked-broken.png", picture(t, 1)[:90])
	r.work()
	id := r.ended(nil)
	for _, path := range []string{"", "/objects", "/objects?prefix=marked", "/report"} {
		if _, body := r.want(200, "/jobs/"+id+path, nil); strings.Contains(strings.ReplaceAll(body, `"marked"`, ""), "marked-") {
			t.Errorf("%s has a key", path)
		}
	}
	r.want(404, "/jobs/"+id+"/object?key=marked-key.png", nil)
	r.want(422, "/jobs/"+id+"/image?of=source&key=marked-key.png", nil)
}

// TestViewsAreSmallAndPlain: with its files the first view is far below 100 KB, names no other
// host, and has no script or style in its text.
func TestViewsAreSmallAndPlain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "", nil, page.Options{})
	total := 0
	for _, path := range []string{"/", "/static/page.css", "/static/page.js", "/static/icon.svg"} {
		_, body := r.want(200, path, nil)
		total += len(body)
		body = strings.ReplaceAll(body, `xmlns="http://www.w3.org/2000/svg"`, "")
		if m := regexp.MustCompile(`(?i)https?://|<style|style="|\son[a-z]+="|@import|url\(`).FindString(body); m != "" {
			t.Errorf("%s has %q", path, m)
		}
		if n := strings.Count(body, "<script"); n > 1 || n == 1 && !strings.Contains(body, `<script src="/static/page.js" defer></script>`) {
			t.Errorf("%s has a script", path)
		}
	}
	t.Logf("%d bytes", total)
	if total > 60_000 {
		t.Errorf("the first view has %d bytes, want at most 60,000", total)
	}
}
