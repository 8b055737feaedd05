package monitoring

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/services"
)

// notShown are the metrics that the dashboard does not show, with the reason.
var notShown = map[string]string{
	"pelmill_leader":                "it joins the metrics of a job with those of the process that leads it",
	"pelmill_job_time_left_seconds": "few jobs have a limit of time; the alert PelmillJobLate compares it with the time that they need",
}

// makers are the functions that the files of metrics make them with, by what they put before a name that does not begin with
// pelmill_. The fields Name of options are read too.
var makers = map[string]map[string]string{
	"worker":                     {"counter": ""},
	"scheduler":                  {"describe": "pelmill_"},
	"scheduler/intake":           {"counter": "pelmill_intake_", "gauge": "pelmill_intake_", "histogram": "pelmill_intake_"},
	"scheduler/intake/instances": {"counter": "pelmill_intake_", "gauge": "pelmill_intake_"},
}

// exported reads the names of all metrics in the sources: a process tells of those with labels only once they have a value.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	names, root := map[string]bool{}, services.Root(t)
	for dir, calls := range makers {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, dir, "metrics.go"), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		add := func(value ast.Expr, prefix string) {
			literal, ok := value.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return
			}
			name, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(name, "pelmill_") {
				name = prefix + name
			}
			names[name] = true
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Name" {
					add(n.Value, "")
				}
			case *ast.CallExpr:
				if called, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 {
					if prefix, ok := calls[called.Name]; ok {
						add(n.Args[0], prefix)
					}
				}
			}
			return true
		})
	}
	return names
}

// Every metric is on the dashboard or among those that need not be, and the dashboard and the alerts ask for no other.
func TestDashboardHasEveryMetric(t *testing.T) {
	names := exported(t)
	if len(names) < 50 {
		t.Fatalf("only %d metrics were found: %v", len(names), slices.Sorted(maps.Keys(names)))
	}
	find, histogram := regexp.MustCompile(`\bpelmill_[a-z0-9_]+`), regexp.MustCompile(`_(bucket|sum|count)$`)
	asked := func(path string) map[string]bool {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]bool{}
		for _, name := range find.FindAllString(string(data), -1) {
			if !names[name] {
				name = histogram.ReplaceAllString(name, "")
			}
			if !names[name] {
				t.Errorf("%s asks for %s, which no process has", filepath.Base(path), name)
			}
			all[name] = true
		}
		return all
	}
	shown := asked(filepath.Join(folder(t, "grafana"), "pelmill.json"))
	asked(filepath.Join(folder(t, "prometheus"), "rules.yaml"))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if _, ok := notShown[name]; ok == shown[name] {
			t.Errorf("%s: on the dashboard: %v; among those that are not shown: %v", name, shown[name], ok)
		}
	}
	for name := range notShown {
		if !names[name] {
			t.Errorf("%s is not shown, and there is no such metric", name)
		}
	}
}

// Metrics are made in the files that makers names.
func TestMetricsAreMadeInTheirFiles(t *testing.T) {
	root := services.Root(t)
	imports := regexp.MustCompile(`"github.com/prometheus/client_golang/prometheus"`)
	makes := regexp.MustCompile(`prometheus\.New(Counter|Gauge|Histogram|Summary|Desc|Untyped)`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if known := makers[filepath.ToSlash(dir)] != nil && d.Name() == "metrics.go"; imports.Match(data) && makes.Match(data) && !known {
			t.Errorf("%s makes metrics of which the dashboard's test does not know", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
