package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pelmill/pelmill/internal/listener"
)

// healthOf runs the verb and gives its exit code and what it printed.
func healthOf(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	p := &program{stdout: &out, stderr: &errs, env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	code = p.run(t.Context(), append([]string{"health"}, args...))
	return code, out.String(), errs.String()
}

func TestHealth(t *testing.T) {
	var reasons []string
	served := httptest.NewServer(listener.Handler(prometheus.NewRegistry(), func(context.Context) []string { return reasons }))
	defer served.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	address := strings.TrimPrefix(served.URL, "http://")
	_, port, _ := net.SplitHostPort(address)
	env := map[string]string{"PELMILL_METRICS_LISTEN": "0.0.0.0:" + port}
	closed := httptest.NewServer(nil)
	closed.Close()

	for _, tt := range []struct {
		name    string
		reasons []string
		env     map[string]string
		args    []string
		code    int
		out     string // within what was printed
	}{
		{"ready", nil, nil, []string{address}, 0, "ready\n"},
		{"a port alone", nil, nil, []string{port}, 0, "ready\n"},
		{"the address that the process was given", nil, env, nil, 0, "ready\n"},
		{"the flag counts more than the variable", nil, env, []string{"--metrics-listen", "127.0.0.1:1"}, 8, "refused\n"},
		{"the argument counts more than both", nil, nil, []string{address, "--metrics-listen", "127.0.0.1:1"}, 0, "ready\n"},
		{"not ready", []string{"Redis: refused", "stopping"}, env, nil, 1, "pelmill: not ready: Redis: refused; stopping\n"},
		{"not ready but alive", []string{"stopping"}, env, []string{"--live"}, 0, "live\n"},
		{"as JSON", nil, env, []string{"--json"}, 0, fmt.Sprintf(`{"type":"health","address":"127.0.0.1:%s","check":"ready","ok":true}`, port)},
		{"not ready as JSON", []string{"stopping"}, env, []string{"--json"}, 1, `"ok":false,"reasons":["stopping"]}`},
		{"silent", nil, env, []string{"-q"}, 0, ""},
		{"nothing listens", nil, nil, []string{strings.TrimPrefix(closed.URL, "http://")}, 8, "refused\n"},
		{"another program", nil, nil, []string{strings.TrimPrefix(other.URL, "http://")}, 1, "is that the --metrics-listen"},
		{"no address", nil, nil, nil, 2, "PELMILL_METRICS_LISTEN"},
		{"a host without a port", nil, nil, []string{"localhost"}, 2, "no address"},
		{"two addresses", nil, nil, []string{address, address}, 2, "too many"},
	} {
		reasons = tt.reasons
		code, stdout, stderr := healthOf(t, tt.env, tt.args...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.out) {
			t.Errorf("%s: code %d, printed %q and %q; want code %d and %q", tt.name, code, stdout, stderr, tt.code, tt.out)
		}
		if tt.out == "" && stdout+stderr != "" {
			t.Errorf("%s: printed %q and %q, want nothing", tt.name, stdout, stderr)
		}
	}
}

func TestAddressesOfHealthAreReachable(t *testing.T) {
	for listens, want := range map[string]string{
		"9090":             "127.0.0.1:9090",
		":9090":            "127.0.0.1:9090",
		"0.0.0.0:9090":     "127.0.0.1:9090",
		"[::]:9090":        "[::1]:9090",
		"10.0.0.7:9090":    "10.0.0.7:9090",
		"worker.local:443": "worker.local:443",
	} {
		if got, err := dialled(listens); got != want || err != nil {
			t.Errorf("listens at %s: asked at %q, %v; want %s", listens, got, err, want)
		}
	}
	for _, listens := range []string{"", "host", "host:", "[::]", "1:2:3", "99999"} {
		if got, err := dialled(listens); err == nil {
			t.Errorf("%q: asked at %q, want an error", listens, got)
		}
	}
}
