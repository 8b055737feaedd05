package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/services"
)

// The tests of this folder start what an operator starts. What needs a Docker daemon or a Kubernetes API server runs
// with "make test-deploy", which sets PELMILL_DEPLOY to what it wants, separated by commas: compose, images, architectures, kubernetes. "make test" runs the first.
// Manifests are checked against schemas in every run.

// wanted ends a test of a part that nobody asked for.
func wanted(t *testing.T, part string) {
	t.Helper()
	for p := range strings.SplitSeq(os.Getenv("PELMILL_DEPLOY"), ",") {
		if p == part {
			return
		}
	}
	t.Skipf("NOT TESTED: %s; make test-deploy does", part)
}

// tools is the folder of what the Makefile installs, which may be a link: a Docker daemon does not remove volumes where its
// data are behind one.
func tools(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(services.Root(t), ".tools")
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// tool is a file of it. Where it could not be installed the test ends.
func tool(t *testing.T, elements ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{tools(t)}, elements...)...)
	if _, err := os.Stat(path); err != nil {
		services.Missing(t, "%s is not in .tools/; run make deploy-tools", filepath.Join(elements...))
	}
	return path
}

// output runs a program to its end. Its error has what the program wrote.
func output(ctx context.Context, env []string, stdin []byte, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), errors.Join(err, errors.New(strings.Join(cmd.Args, " ")), errors.New(tail(out.String()+errs.String())))
	}
	return out.String(), nil
}

// tail is the end of a text, where errors are.
func tail(s string) string {
	if len(s) > 4000 {
		s = "..." + s[len(s)-4000:]
	}
	return s
}
