// Package monitoring tests what deploy has for Prometheus and Grafana on a real Prometheus that scrapes real processes.
package monitoring

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
)

// limit is the longest that anything may take. It tells a hang from slowness.
const limit = 4 * time.Minute

// folder is where deploy has something.
func folder(t *testing.T, name string) string {
	return filepath.Join(services.Root(t), "deploy", name)
}

// The alerts fire where they must.
func TestAlerts(t *testing.T) {
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		if out, ok := services.Promtool(t, folder(t, "prometheus"), "", args...); !ok {
			t.Errorf("promtool %s:\n%s", strings.Join(args, " "), out)
		}
	}
}

// query is an expression of a panel.
type query struct{ panel, expr string }

// dashboard reads the expressions of all panels, and holds the dashboard to what Grafana needs.
func dashboard(t *testing.T) (all []query) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder(t, "grafana"), "pelmill.json"))
	if err != nil {
		t.Fatal(err)
	}
	type source struct{ Type, UID string }
	var d struct {
		UID, Title    string
		SchemaVersion int
		Templating    struct {
			List []struct{ Name, Type, Query string }
		}
		Panels []struct {
			ID         int
			Type       string
			Title      string
			Datasource source
			GridPos    struct{ H, W, X, Y int }
			Targets    []struct {
				RefID      string
				Expr       string
				Datasource source
			}
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if d.UID != "pelmill" || d.SchemaVersion < 36 || len(d.Templating.List) != 1 || d.Templating.List[0].Type != "datasource" {
		t.Errorf("the dashboard's head: %+v", d)
	}
	ids, refs := map[int]bool{}, regexp.MustCompile("^[A-Z]$")
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || p.GridPos.W < 1 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q: its id, title or place: %+v", p.ID, p.Title, p.GridPos)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other := taken[at]; other != "" {
					t.Fatalf("panels %q and %q overlap", p.Title, other)
				}
				taken[at] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.Datasource != (source{"prometheus", "${datasource}"}) {
			t.Errorf("panel %q: %+v", p.Title, p)
		}
		for _, target := range p.Targets {
			if !refs.MatchString(target.RefID) || target.Datasource != p.Datasource {
				t.Errorf("panel %q: target %+v", p.Title, target)
			}
			expr := strings.NewReplacer("$__rate_interval", "15s", "$__range", "5m").Replace(target.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("panel %q: %s has a variable that the dashboard does not define", p.Title, target.Expr)
			}
			all = append(all, query{p.Title, expr})
		}
	}
	return all
}

// labels are all labels that metrics of pelmill may have: none of them has keys, sources, targets or texts.
var labels = []string{"queue", "state", "device", "job", "outcome", "version", "commit", "process", "codec", "mode", "class", "direction", "stage", "result", "protocol", "reason", "le"}

// Every panel has series while a real job runs: Redis with a limit of memory, a scheduler, a worker, an intake that receives
// instances, and a Prometheus that scrapes the three. What they serve is as promtool wants it, and names no object.
func TestDashboardShowsARunningJob(t *testing.T) {
	queries := dashboard(t)
	source, target := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "dst")
	for n := range 24 {
		for i, image := range faults.Images(1, 60, 64) {
			data := image.Data
			if i%6 == 0 {
				data = data[:len(data)/2] // is rejected; everywhere, so that no part of the job passes its limit of failures
			}
			write(t, filepath.Join(source, fmt.Sprintf("patient-%02d", n), filepath.FromSlash(image.Key)), data)
		}
	}
	redis := services.Redis(t, "--maxmemory", "500mb")
	program, err := faults.Build(t.TempDir(), "cmd/pelmill")
	if err != nil {
		t.Fatal(err)
	}
	var addresses []string
	env := []string{"PELMILL_ALLOW=" + source + "," + target, "PELMILL_REDIS=" + redis.URL()}
	for _, verb := range []string{"scheduler", "worker"} {
		addresses = append(addresses, net.JoinHostPort("127.0.0.1", strconv.Itoa(services.FreePort(t))))
		faults.Start(t, verb, env, program, verb, "--metrics-listen", addresses[len(addresses)-1])
	}
	received := startIntake(t, program)
	addresses = append(addresses, received.metrics)
	prometheus := services.Prometheus(t, addresses...)
	// So slowly that it cannot end within the limit: an object takes two requests at least. Once every panel was seen it is
	// cancelled.
	faults.Run(t, 0, env, program, "submit", source, target, "--codec", "vq", "--yes", "--tpslimit", "10", "--chunk-objects", "10", "-o", "passes=1")
	end := time.Now().Add(limit)
	for n := 0; len(queries) > 0; n++ {
		if n%5 == 0 {
			received.send(t, n/5)
		}
		queries = slices.DeleteFunc(queries, func(q query) bool { return series(t, prometheus.URL, q.expr) > 0 })
		if time.Now().After(end) {
			for _, q := range queries {
				t.Errorf("no series in %v: panel %q: %s", limit, q.panel, q.expr)
			}
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	for _, address := range addresses {
		checkMetrics(t, get(t, "http://"+address+"/metrics"))
	}
	faults.Run(t, 0, env, program, "cancel", target)
}

// An intakeProcess is an intake without a cluster, which compresses by itself what it receives by STOW-RS.
type intakeProcess struct {
	process          *faults.Process
	metrics, studies string
}

func startIntake(t *testing.T, program string) *intakeProcess {
	t.Helper()
	spool, archive := filepath.Join(t.TempDir(), "spool"), filepath.Join(t.TempDir(), "archive")
	if err := os.Mkdir(spool, 0o777); err != nil {
		t.Fatal(err)
	}
	local := func() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(services.FreePort(t))) }
	p, stow := &intakeProcess{metrics: local()}, local()
	p.studies = "http://" + stow + "/studies"
	p.process = faults.Start(t, "intake", nil, program, "intake", spool, archive, "--codec", "jpeg2000", "--stow", stow, "--metrics-listen", p.metrics,
		"--every", "2s", "--batch-wait", "200ms", "--spool-size", "100M")
	return p
}

// send sends an instance, once the intake listens; every third one is none, and is put into quarantine.
func (p *intakeProcess) send(t *testing.T, n int) {
	t.Helper()
	data := faults.NewInstance(1, n, 16, 16, faults.Patient{Name: "patient", ID: "patient", Accession: "patient"}).Data
	if n%3 == 2 {
		data = fmt.Appendf(nil, "no instance %d", n)
	}
	body := "--b\r\nContent-Type: application/dicom\r\n\r\n" + string(data) + "\r\n--b--\r\n"
	faults.Until(t, limit, "the intake to listen", func() bool {
		response, err := http.Post(p.studies, `multipart/related; type="application/dicom"; boundary=b`, strings.NewReader(body))
		if err != nil {
			if !p.process.Running() {
				t.Fatal("the intake has ended")
			}
			return false
		}
		response.Body.Close()
		if n%3 != 2 && response.StatusCode != http.StatusOK {
			t.Fatalf("STOW-RS answered %s to instance %d", response.Status, n)
		}
		return true
	})
}

// checkMetrics holds what a process serves to promtool's rules and to the labels that are allowed.
func checkMetrics(t *testing.T, text string) {
	t.Helper()
	if out, ok := services.Promtool(t, "", text, "check", "metrics"); !ok || out != "" {
		t.Errorf("promtool check metrics:\n%s", out)
	}
	if strings.Contains(text, "patient") {
		t.Error("metrics name an object")
	}
	label := regexp.MustCompile(`([a-z_]+)="`)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "pelmill_") {
			continue
		}
		for _, m := range label.FindAllStringSubmatch(line, -1) {
			if !slices.Contains(labels, m[1]) {
				t.Errorf("label %s is not among those that are known to have few values: %s", m[1], line)
			}
		}
	}
}

// series asks Prometheus how many series an expression has now.
func series(t *testing.T, server, expr string) int {
	t.Helper()
	var answer struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	text := get(t, server+"/api/v1/query?query="+url.QueryEscape(expr))
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %s %v", expr, answer.Error, err)
	}
	return len(answer.Data.Result)
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}
