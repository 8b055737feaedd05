package services

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// PrometheusServer is a Prometheus.
type PrometheusServer struct {
	*process
	URL string
}

// Prometheus starts a Prometheus that scrapes every target, host:port, each second.
func Prometheus(t testing.TB, targets ...string) *PrometheusServer {
	t.Helper()
	path, dir := program(t, "prometheus"), t.TempDir()
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(FreePort(t)))
	config := fmt.Sprintf("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n  - {job_name: pelmill, static_configs: [{targets: [%s]}]}\n", strings.Join(targets, ", "))
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &PrometheusServer{URL: "http://" + addr}
	ready := func() error {
		response, err := http.Get(p.URL + "/-/ready")
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%w: %s", errNotReady, response.Status)
		}
		return nil
	}
	p.process = newProcess(t, path, dir, ready, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr)
	p.Start()
	return p
}

// Promtool runs promtool in a folder with something on its standard input, and gives what it prints and whether it was
// content.
func Promtool(t testing.TB, dir, stdin string, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.Command(program(t, "promtool"), args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}
