package page_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/scheduler/api"
	"github.com/pelmill/pelmill/scheduler/page"
)

// browserTime is how long the whole visit may take on a busy machine; it waits for states and takes seconds on
// another.
const browserTime = 10 * time.Minute

// TestInABrowser visits the page of a scheduler on Redis in Chromium, see testdata/browser.mjs. PELMILL_ARTIFACTS names a
// folder for screenshots of all views in light, dark and small.
func TestInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	r := newRig(t, services.Redis(t).URL(), nil, page.Options{})
	for i := range 3 {
		r.write([]string{"one.png", "d/two.png", "d/three.png"}[i], picture(t, i))
	}
	r.write("d/broken.png", picture(t, 4)[:100])
	sum := sha256.Sum256([]byte("operator"))
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("operate "+hex.EncodeToString(sum[:])+" test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := api.ReadTokens(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	cmd := services.Browser(t, "testdata/browser.mjs", r.server.URL, r.serve(tokens).URL, r.source, r.target, os.Getenv("PELMILL_ARTIFACTS"))
	cmd.Stderr = os.Stderr
	answers, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(browserTime, func() { cmd.Process.Kill() })
	defer limit.Stop()
	var last strings.Builder
	lines := bufio.NewScanner(says)
	for lines.Scan() {
		line := lines.Text()
		fmt.Fprintln(&last, line)
		switch line {
		case "please start a worker":
			r.work()
			io.WriteString(answers, "done\n")
		case "please repair the source":
			r.write("d/broken.png", picture(t, 4))
			io.WriteString(answers, "done\n")
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(last.String(), "all well") {
		t.Fatalf("the browser ended with %v:\n%s", err, last.String())
	}
	t.Log(last.String())
}
