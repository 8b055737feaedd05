package api_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/api"
)

// schemathesisTime bounds the requests, far above what they take on a quiet machine.
const schemathesisTime = 10 * time.Minute

// schemathesisConfig lets requests reach a job that is there. What a codec takes as an option, and what is a time, is more
// than a schema can say, so 422 is an answer to requests that fit the schema too.
const schemathesisConfig = `
[parameters]
"path.id" = %q

[[operations]]
include-path-regex = "/(results|failures|report)$"
[operations.parameters]
"path.id" = %q

[checks]
positive_data_acceptance.expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "412", "422"]
`

// Schemathesis makes requests from the description of the API, good ones and bad ones: every answer is one that is
// described, none is a fault of the server, what breaks the schema is refused, and nothing is answered without a token.
// The stream of events is left out, as it does not end while its job waits.
func TestSchemathesisFindsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short: schemathesis makes a thousand requests")
	}
	program := filepath.Join(services.Root(t), ".tools", "schemathesis", "bin", "schemathesis")
	if _, err := os.Stat(program); err != nil {
		services.Missing(t, "schemathesis is not in .tools; run make services")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "tokens")
	writeTokens(t, file, map[string]string{"a-token": "operate"})
	tokens, err := api.ReadTokens(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(o *api.Options) { o.Tokens = tokens })
	r.token = "a-token"
	r.fill(6, "bad.png")
	r.work()
	done := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 2 })
	r.untilState(done, "done")
	waits := r.submit(func(s *jobs.Spec) { s.AutoStart, s.Codec = false, "jpeg2000" })
	r.untilState(waits, "planned")
	at := r.listen(api.ServeOptions{})
	config := filepath.Join(dir, "schemathesis.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, schemathesisConfig, waits, done), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.ctx, schemathesisTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--config-file", config, "run", "http://"+at+"/v1/openapi.yaml", "--no-color",
		"--header", "Authorization: Bearer a-token", "--phases", "coverage,fuzzing", "--max-examples", "4", "--seed", "1",
		"--request-timeout", "60", "--generation-database", "none", "--exclude-path", "/v1/jobs/{id}/events")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if i := strings.Index(string(out), "Test cases:"); i >= 0 {
		t.Log(strings.Join(strings.Fields(string(out[i:])), " "))
	}
}
