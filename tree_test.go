// Package pelmill_test checks the shape of the tree: who may import whom, and
// that every package says what it is.
package pelmill_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pelmill/pelmill/"

// rule says what the packages of a folder may import besides the standard
// library and their own folder. An entry of ours stands for one package, or with
// "/..." also for those below it; a foreign one stands for all packages below it.
// Test files may import what they like.
type rule struct {
	ours    []string
	foreign []string
}

var zstd = "github.com/klauspost/compress/zstd"

// rules is a statement of policy. A folder that is not listed may not exist.
var rules = map[string]rule{
	"raster":  {ours: []string{"internal/sha256pair"}, foreign: []string{"golang.org/x/sys/cpu"}},
	"jobs":    {ours: []string{"raster"}},
	"gpu":     {foreign: []string{"gorgonia.org/cu"}},
	"imageio": {ours: []string{"raster", "internal/container/...", "codecs/codec", "codecs/jpeg2000", "codecs/pool"}, foreign: []string{"golang.org/x/image", "github.com/klauspost/compress"}},
	"codecs":  {ours: []string{"raster", "gpu", "internal/seed", "internal/comparison", "internal/container/...", "internal/sha256batch"}, foreign: []string{"golang.org/x/sys/cpu", "github.com/klauspost/compress/zlib", "github.com/andybalholm/brotli"}},
	"storage": {foreign: []string{"gocloud.dev", "github.com/aws", "cloud.google.com/go/storage", "google.golang.org/api", "github.com/Azure", "github.com/cenkalti/backoff/v5", "golang.org/x/sys/unix", "github.com/hashicorp/golang-lru/v2", zstd}},
	"queue":   {ours: []string{"jobs"}, foreign: []string{"github.com/hibiken/asynq", "github.com/redis/go-redis/v9", "github.com/alicebob/miniredis/v2"}},
	"scheduler": {ours: []string{"internal/build", "internal/container/dicom", "internal/listener", "internal/plain", "internal/quantity", "internal/sitekey", "internal/thumbnail", "jobs/...", "queue", "storage", "imageio", "codecs", "codecs/codec", "codecs/pool", "raster"},
		foreign: []string{"github.com/bmatcuk/doublestar/v4", "github.com/danielgtaylor/huma/v2", "github.com/prometheus/client_golang", "golang.org/x/sys/unix", "gocloud.dev/pubsub", "github.com/nats-io/nats.go", zstd}},
	"worker": {ours: []string{"internal/build", "internal/container/dicom", "internal/listener", "internal/plain", "internal/sitekey", "jobs/...", "queue", "storage", "imageio", "internal/container/png/device", "internal/sha256batch", "raster", "codecs", "codecs/codec", "codecs/pool", "gpu"},
		foreign: []string{"github.com/prometheus/client_golang", "golang.org/x/sync", "golang.org/x/sys/unix", "golang.org/x/time/rate", "github.com/hashicorp/golang-lru/v2", "github.com/KimMachineGun/automemlimit/memlimit", zstd}},
	"cmd": {ours: []string{"internal/container/dicom", "internal/plain", "internal/quantity", "internal/sitekey", "internal/thumbnail", "internal/build", "raster", "jobs/...", "gpu", "gpu/begin", "imageio", "codecs", "codecs/codec", "storage", "queue", "scheduler/...", "worker", "worker/series"},
		foreign: []string{"github.com/spf13", "github.com/vbauerster/mpb/v8", "go.yaml.in/yaml/v3", "golang.org/x/term", "golang.org/x/sys/unix"}},
	"deploy":                        {},                                                                    // tests only
	"internal/container/png/device": {ours: []string{"gpu", "internal/container/png/...", "codecs/codec"}}, // apart from png because it needs a device
	"internal/container":            {ours: []string{"raster"}, foreign: []string{"golang.org/x/image", "golang.org/x/sys/cpu", "github.com/klauspost/compress/zlib"}},
	"internal": {ours: []string{"jobs/...", "raster", "storage", "codecs", "codecs/codec", "imageio", "queue", "scheduler", "worker", "gpu"},
		foreign: []string{"github.com/redis/go-redis/v9", "github.com/prometheus/client_golang", "github.com/aws", "github.com/Azure", "golang.org/x/sys/cpu", "golang.org/x/sys/unix",
			"github.com/CycloneDX/cyclonedx-go", "github.com/google/licensecheck"}},
}

// rooms are the packages inside a codec by their folder, the lowest first: a package
// imports of its neighbours only those before it.
var rooms = map[string][]string{
	"codecs/jpeg2000/internal": {"slab", "codestream", "mq", "bitplane", "ht", "packet", "volume", "plot"},
	"codecs/jpegxl/internal":   {"bits", "entropy", "modular", "jpegdata", "vardct"},
	"codecs/webp/internal":     {"format", "testimages", "bitstream", "entropy", "transform", "backref", "search"},
}

type goPackage struct {
	ImportPath string
	Dir        string
	Standard   bool
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	// With the tag, which no other file than those of gpu and the codecs knows.
	cmd := exec.Command("go", "list", "-tags", "cuda", "-json=ImportPath,Dir,Standard,GoFiles,CgoFiles,Imports", "./...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p goPackage
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		p.GoFiles = append(p.GoFiles, p.CgoFiles...)
		all = append(all, p)
	}
	return all
}

func TestImportsFollowTheTable(t *testing.T) {
	for _, p := range packages(t) {
		path, ok := strings.CutPrefix(p.ImportPath, module)
		if !ok {
			continue
		}
		folder := folderOf(path)
		r, ok := rules[folder]
		if !ok {
			t.Errorf("%s: the table has no rule for folder %q; a new top-level folder needs a reason and a row", path, folder)
			continue
		}
		for _, imp := range p.Imports {
			if ours, ok := strings.CutPrefix(imp, module); ok {
				if !allowedOurs(path, folder, ours, r) {
					t.Errorf("%s imports %s; the table allows %s to import of ours: %v", path, ours, folder, r.ours)
				}
			} else if first, _, _ := strings.Cut(imp, "/"); strings.Contains(first, ".") && !matches(r.foreign, imp) {
				t.Errorf("%s imports %s; the table allows %s to import foreign packages: %v", path, imp, folder, r.foreign)
			}
		}
	}
}

// folderOf is the folder whose rule holds for a package.
func folderOf(path string) string {
	for _, folder := range []string{"internal/container/png/device", "internal/container"} {
		if path == folder || strings.HasPrefix(path, folder+"/") {
			return folder
		}
	}
	folder, _, _ := strings.Cut(path, "/")
	return folder
}

// TestOneFileKnowsTheDriver keeps the foreign interface to CUDA replaceable.
func TestOneFileKnowsTheDriver(t *testing.T) {
	var with []string
	for _, p := range packages(t) {
		for _, f := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range file.Imports {
				if i.Path.Value == `"gorgonia.org/cu"` {
					with = append(with, filepath.Join(filepath.Base(p.Dir), f))
				}
			}
		}
	}
	if len(with) != 1 {
		t.Errorf("gorgonia.org/cu is imported by %v, want one file", with)
	}
}

// TestRoomsImportDownward holds the packages inside a codec to the order of rooms.
func TestRoomsImportDownward(t *testing.T) {
	for _, p := range packages(t) {
		path, _ := strings.CutPrefix(p.ImportPath, module)
		folder, name := filepath.Split(path)
		order, ok := rooms[strings.TrimSuffix(folder, "/")]
		if !ok {
			continue
		}
		own := slices.Index(order, name)
		if own < 0 {
			t.Errorf("%s is not in the order of its folder: %v", path, order)
		}
		for _, imp := range p.Imports {
			if other, ok := strings.CutPrefix(imp, module+folder); ok && slices.Index(order, other) >= own {
				t.Errorf("%s imports %s; of %v a package imports only those before it", path, other, order)
			}
		}
	}
}

// allowedOurs knows the two rules that a list cannot say: a codec never imports
// another codec, and test services are for tests.
func allowedOurs(path, folder, imp string, r rule) bool {
	if folder == "codecs" && strings.HasPrefix(imp, "codecs/") {
		shared := slices.Contains([]string{"codecs/codec", "codecs/pool", "codecs/codectest"}, imp) || strings.HasPrefix(imp, "codecs/internal/")
		codec, _, _ := strings.Cut(strings.TrimPrefix(path, "codecs/"), "/")
		return shared || path == "codecs" || imp == "codecs/"+codec || strings.HasPrefix(imp, "codecs/"+codec+"/")
	}
	if own := strings.HasPrefix(imp, folder+"/") || imp == folder; own {
		return true
	}
	return slices.ContainsFunc(r.ours, func(entry string) bool {
		root, tree := strings.CutSuffix(entry, "/...")
		return imp == root || tree && strings.HasPrefix(imp, root+"/")
	})
}

func matches(patterns []string, imp string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return imp == p || strings.HasPrefix(imp, p+"/")
	})
}

func TestEveryPackageHasOneComment(t *testing.T) {
	for _, p := range packages(t) {
		var with []string
		for _, f := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if file.Doc != nil && strings.TrimSpace(file.Doc.Text()) != "" {
				with = append(with, f)
			}
		}
		if len(p.GoFiles) > 0 && len(with) != 1 {
			t.Errorf("%s: %d files with a package comment %v, want exactly one", p.ImportPath, len(with), with)
		}
	}
}

func TestNoPackageRegistersItselfInInit(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s: %s has an init function; lists are literals, set-up is a call", p.ImportPath, f)
				}
			}
		}
	}
}

// Each test that SECURITY.md names for a line of its table is there.
func TestSecurityNamesTests(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, row := range strings.Split(string(text), "\n") {
		cells := strings.Split(row, "|")
		if len(cells) != 6 || !strings.Contains(cells[4], ": Test") {
			continue
		}
		for _, part := range strings.Split(cells[4], ";") {
			folder, tests, _ := strings.Cut(strings.TrimSpace(part), ": ")
			source := testsOf(t, folder)
			for _, name := range strings.Split(tests, ", ") {
				named++
				if !regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`).MatchString(source) {
					t.Errorf("SECURITY.md names %s of %s, which has no such test", name, folder)
				}
			}
		}
	}
	if named < 30 {
		t.Errorf("SECURITY.md names %d tests", named)
	}
}

// testsOf is the text of all tests of a package.
func testsOf(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// Two builds of the same sources, made in different folders, are equal to the last byte, also with CUDA support where a C
// compiler is there.
func TestBuildsAreReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short: builds are reproducible")
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(elsewhere, sources{os.DirFS(".")}); err != nil {
		t.Fatal(err)
	}
	t.Run("without CUDA", func(t *testing.T) { equalBuilds(t, "0", elsewhere, "-tags", "disable_grpc_modules") })
	t.Run("with CUDA", func(t *testing.T) {
		if _, err := exec.LookPath("cc"); err != nil {
			t.Skipf("NOT TESTED: CUDA support needs a C compiler: %v", err)
		}
		equalBuilds(t, "1", elsewhere, "-tags", "cuda,disable_grpc_modules")
	})
}

// equalBuilds builds the program here and elsewhere as the Makefile does.
func equalBuilds(t *testing.T, cgo, elsewhere string, flags ...string) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var builds [2][]byte
	for i, dir := range []string{here, elsewhere} {
		file := filepath.Join(t.TempDir(), "pelmill")
		cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-trimpath", "-ldflags", "-buildid=", "-buildvcs=false", "-o", file, "./cmd/pelmill")...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo, "CGO_CFLAGS=-O2", "CPATH="+filepath.Join(dir, "gpu", "driver"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %d: %v\n%s", i+1, err, out)
		}
		if builds[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(builds[0], builds[1]) {
		t.Errorf("two builds differ: %d and %d bytes", len(builds[0]), len(builds[1]))
	}
}

// sources is a checkout without what git and the tests keep in it.
type sources struct{ fs.FS }

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(s.FS, name)
	if name != "." {
		return all, err
	}
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), ".") || e.Name() == "bin" || e.Name() == "out" || e.Name() == "back"
	}), err
}
