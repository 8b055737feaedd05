package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// leftOut are the build tags that leave out a store, each with its scheme and the client's modules.
var leftOut = []struct{ tag, scheme, client string }{
	{"nos3", "s3", "github.com/aws/aws-sdk-go-v2"},
	{"nogcs", "gs", "cloud.google.com/go/storage"},
	{"noazure", "azblob", "github.com/Azure/azure-sdk-for-go"},
}

// TestStoresCanBeLeftOut looks that each tag leaves out the client, and that a program without any store says so.
func TestStoresCanBeLeftOut(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	var tags []string
	for _, l := range leftOut {
		tags = append(tags, l.tag)
		out, err := output(t.Context(), []string{"CGO_ENABLED=0"}, nil, "go", "list", "-deps", "-tags", l.tag, "../cmd/pelmill")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, l.client) {
				t.Errorf("with the tag %s the program still has %s", l.tag, line)
				break
			}
		}
		if _, err := output(t.Context(), []string{"CGO_ENABLED=0"}, nil, "go", "build", "-tags", l.tag, "../storage/..."); err != nil {
			t.Error(err)
		}
	}
	program := filepath.Join(t.TempDir(), "pelmill")
	if _, err := output(t.Context(), []string{"CGO_ENABLED=0"}, nil, "go", "build", "-tags", strings.Join(tags, ","), "-o", program, "../cmd/pelmill"); err != nil {
		t.Fatal(err)
	}
	for _, l := range leftOut {
		out, err := exec.CommandContext(t.Context(), program, "compress", l.scheme+"://bucket", t.TempDir(), "--codec", "vq").CombinedOutput()
		if want := "built without " + l.scheme + ":// (build tag " + l.tag + ")"; err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s://: %v, %s; want %q", l.scheme, err, out, want)
		}
	}
	if out, err := exec.CommandContext(t.Context(), program, "compress", "../testdata/images", t.TempDir(), "--codec", "vq", "-q").CombinedOutput(); err != nil {
		t.Errorf("folders: %v, %s", err, out)
	}
}

// lean is the build tag that leaves out what Google's client brings for direct paths over gRPC, which its JSON API never uses.
const lean = "disable_grpc_modules"

// TestProgramsAreLean: whatever builds programs for users has the tag, and without it they would hold what it leaves out.
func TestProgramsAreLean(t *testing.T) {
	for name, want := range map[string][]string{
		"../Makefile": {"LEAN      := " + lean, "-tags $(LEAN)\n", "-tags cuda,$(LEAN)\n", "./internal/sbom cuda,$(LEAN) "},
		"Dockerfile":  {`-tags "` + lean + `,$TAGS"`, `-tags "cuda,` + lean + `,$TAGS"`},
	} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(string(data), text) {
				t.Errorf("%s has no %q", name, text)
			}
		}
	}
	for _, tag := range []string{"", lean} {
		out, err := output(t.Context(), []string{"CGO_ENABLED=0"}, nil, "go", "list", "-deps", "-tags", tag, "../cmd/pelmill")
		if err != nil {
			t.Fatal(err)
		}
		for _, left := range []string{"github.com/envoyproxy/go-control-plane/", "google.golang.org/grpc/xds/"} {
			if got, want := strings.Contains(out, "\n"+left), tag == ""; got != want {
				t.Errorf("with the tag %q: packages of %s: %v, want %v", tag, left, got, want)
			}
		}
	}
}

// BenchmarkSize prints the size of the program as images have it, without each store and without all.
func BenchmarkSize(b *testing.B) {
	for _, tags := range []string{"", "nos3", "nogcs", "noazure", "nogcs,noazure", "nos3,noazure", "nos3,nogcs", "nos3,nogcs,noazure"} {
		name := tags
		if name == "" {
			name = "all"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				program := filepath.Join(b.TempDir(), "pelmill")
				if _, err := output(b.Context(), []string{"CGO_ENABLED=0"}, nil, "go", "build", "-tags", lean+","+tags, "-trimpath", "-ldflags", "-s -w", "-o", program, "../cmd/pelmill"); err != nil {
					b.Fatal(err)
				}
				info, err := os.Stat(program)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(info.Size())/1e6, "MB")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
