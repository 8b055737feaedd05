package deploy_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/services"
)

// The images that the Dockerfile and docker-compose.yml name come from registries, which tests do not ask. Stand-ins with
// the same names hold what the real ones are used for.
const (
	golangImage = "golang:1.26-bookworm"
	staticImage = "gcr.io/distroless/static-debian12:nonroot"
	baseImage   = "gcr.io/distroless/base-debian12:nonroot"
	redisImage  = "redis:7-alpine"
	s3Image     = "versity/versitygw:v1.8.0"
)

// nobody is the user of distroless images.
const nobody = 65532

// image imports a file system as an image.
func (d *daemon) image(name string, changes []string, fill func(*layer)) {
	d.t.Helper()
	r, w := io.Pipe()
	go func() {
		l := &layer{w: tar.NewWriter(w), links: map[string]bool{}}
		fill(l)
		w.CloseWithError(errors.Join(l.err, l.w.Close()))
	}()
	args := []string{"import"}
	for _, c := range changes {
		args = append(args, "-c", c)
	}
	cmd := exec.CommandContext(d.t.Context(), d.program("docker"), append(args, "-", name)...)
	cmd.Env = append(os.Environ(), d.env...)
	cmd.Stdin = r
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("import of the stand-in %s: %v\n%s", name, err, out)
	}
}

// layer writes the files of an image.
type layer struct {
	w     *tar.Writer
	links map[string]bool // directories that were written
	err   error           // the first
}

func (l *layer) entry(h tar.Header, content io.Reader) {
	if l.err == nil {
		l.err = l.w.WriteHeader(&h)
	}
	if l.err == nil && content != nil {
		_, l.err = io.Copy(l.w, content)
	}
}

func (l *layer) directory(name string, mode int64, owner int) {
	l.entry(tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, Uid: owner, Gid: owner}, nil)
}

func (l *layer) text(name, content string) {
	l.entry(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}, strings.NewReader(content))
}

// file copies a file of this machine, what links lead to.
func (l *layer) file(from, to string) {
	f, err := os.Open(from)
	if err != nil {
		l.err = errors.Join(l.err, err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		l.err = errors.Join(l.err, err)
		return
	}
	l.entry(tar.Header{Typeflag: tar.TypeReg, Name: to, Mode: int64(info.Mode().Perm()), Size: info.Size()}, f)
}

func (l *layer) tree(from, to string) {
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case e.Type().IsRegular():
			l.file(path, filepath.Join(to, name))
		}
		return l.err
	})
	l.err = errors.Join(l.err, err)
}

// archive copies a tar file.
func (l *layer) archive(path string) {
	f, err := os.Open(path)
	if err != nil {
		l.err = errors.Join(l.err, err)
		return
	}
	defer f.Close()
	for r := tar.NewReader(f); l.err == nil; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			l.err = err
			return
		}
		l.entry(*h, r)
	}
}

// program copies an executable with the libraries that it is linked to.
func (l *layer) program(from, to string) {
	l.file(from, to)
	out, _ := exec.Command("ldd", from).Output() // fails for static ones
	for line := range strings.Lines(string(out)) {
		for _, field := range strings.Fields(line) {
			if strings.HasPrefix(field, "/") && !l.links[field] {
				l.links[field] = true
				l.file(field, strings.TrimPrefix(field, "/"))
			}
		}
	}
}

// certificates are where this machine keeps them.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// standIns makes those of the images that builds start from, unless an earlier run did.
func (d *daemon) standIns() {
	d.t.Helper()
	have := d.docker("images", "--format", "{{.Repository}}:{{.Tag}}")
	goRoot := strings.TrimSpace(d.host("go", "env", "GOROOT"))
	if !strings.Contains(have, golangImage) {
		debian := tool(d.t, "debian-rootfs.tar")
		// As the real one: Go, a C compiler, and nothing that looks for another toolchain.
		d.image(golangImage, []string{"ENV PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin GOTOOLCHAIN=local GOPATH=/go", "WORKDIR /go"}, func(l *layer) {
			l.archive(debian)
			l.tree(goRoot, "usr/local/go")
		})
	}
	passwd := fmt.Sprintf("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/home/nonroot:/sbin/nologin\n", nobody, nobody)
	small := func(l *layer) {
		l.text("etc/passwd", passwd)
		l.file(certificates, strings.TrimPrefix(certificates, "/"))
		l.directory("tmp", 0o1777, 0)
	}
	if !strings.Contains(have, staticImage) {
		d.image(staticImage, []string{"USER 65532:65532"}, small)
	}
	if !strings.Contains(have, baseImage) {
		d.image(baseImage, []string{"USER 65532:65532"}, func(l *layer) {
			small(l)
			arch := debianArchitecture[runtime.GOARCH]
			l.file(filepath.Join("/lib", arch, "libc.so.6"), filepath.Join("lib", arch, "libc.so.6"))
			loader := map[string]string{"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}[runtime.GOARCH]
			l.file(loader, strings.TrimPrefix(loader, "/"))
		})
	}
}

// servers makes the stand-ins of the images that Compose starts besides pelmill's.
func (d *daemon) servers() {
	d.t.Helper()
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		services.Missing(d.t, "redis-server is not in PATH")
	}
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		services.Missing(d.t, "redis-cli is not in PATH")
	}
	d.image(redisImage, []string{"ENV PATH=/usr/bin", "WORKDIR /data", "VOLUME /data"}, func(l *layer) {
		l.program(redis, "usr/bin/redis-server")
		l.program(cli, "usr/bin/redis-cli")
		l.directory("data", 0o755, 999)
		l.directory("tmp", 0o1777, 0)
	})
	gateway := tool(d.t, "bin", "versitygw")
	d.image(s3Image, []string{"ENV PATH=/usr/local/bin"}, func(l *layer) {
		l.program(gateway, "usr/local/bin/versitygw")
		l.directory("data", 0o755, 0)
		l.directory("tmp", 0o1777, 0)
	})
}

// host runs a program in the project's folder.
func (d *daemon) host(name string, args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), name, args...)
	cmd.Dir = services.Root(d.t)
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("%s: %v", strings.Join(cmd.Args, " "), err)
	}
	return string(out)
}

// proxyAddress is where builds find modules, in the daemon's network, which has no way out. Their hashes are checked
// against go.sum as ever.
const proxyAddress = "127.0.0.1:3000"

// proxy serves the modules of this machine's cache until the test ends.
func (d *daemon) proxy() {
	d.t.Helper()
	d.host("go", "mod", "download")
	cache := filepath.Join(strings.TrimSpace(d.host("go", "env", "GOMODCACHE")), "cache", "download")
	var l net.Listener
	err := d.inside(func() (err error) {
		l, err = net.Listen("tcp", proxyAddress)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(cache))}
	go server.Serve(l)
	d.t.Cleanup(func() { server.Close() })
}

// testVersion is what the built image says of itself.
const testVersion, testCommit = "v0.0.0-deploytest", "0123456789ab"

// build builds a target of the Dockerfile, as an operator does.
func (d *daemon) build(target, tag string, args ...string) {
	d.t.Helper()
	d.standIns()
	d.proxy()
	all := append([]string{"build", "--network", "host", "-q", "-f", filepath.Join(services.Root(d.t), "deploy", "Dockerfile"), "--target", target, "-t", tag,
		"--build-arg", "VERSION=" + testVersion, "--build-arg", "COMMIT=" + testCommit,
		"--build-arg", "GOPROXY=http://" + proxyAddress}, args...)
	d.docker(append(all, services.Root(d.t))...)
}

// sizeOf is that of an image in bytes.
func (d *daemon) sizeOf(tag string) int64 {
	d.t.Helper()
	n, err := strconv.ParseInt(strings.TrimSpace(d.docker("image", "inspect", "-f", "{{.Size}}", tag)), 10, 64)
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// TestImages builds both targets and looks at what they are.
func TestImages(t *testing.T) {
	wanted(t, "images")
	d := newDaemon(t)
	for _, target := range []string{"cpu", "cuda"} {
		t.Run(target, func(t *testing.T) {
			d := *d
			d.t = t
			tag := "pelmill:" + target
			d.build(target, tag)

			var list []struct {
				Config struct {
					User        string
					Env         []string
					Entrypoint  []string
					Labels      map[string]string
					Healthcheck struct{ Test []string }
				}
			}
			if err := json.Unmarshal([]byte(d.docker("image", "inspect", tag)), &list); err != nil {
				t.Fatal(err)
			}
			c := list[0].Config
			if c.User != "65532:65532" || c.Labels["org.opencontainers.image.version"] != testVersion || c.Labels["org.opencontainers.image.revision"] != testCommit ||
				strings.Join(c.Healthcheck.Test, " ") != "CMD /usr/bin/pelmill health" {
				t.Errorf("image %+v", c)
			}
			locked := []string{"run", "--rm", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none", tag}
			version := d.docker(append(locked, "version", "--json")...)
			cuda := `"cuda":` + strconv.FormatBool(target == "cuda")
			if !strings.Contains(version, testVersion) || !strings.Contains(version, testCommit) || !strings.Contains(version, cuda) {
				t.Errorf("version %s", version)
			}
			if out := d.docker(append(locked, "doctor")...); !strings.Contains(out, "CPU") && !strings.Contains(out, "cpu") {
				t.Errorf("doctor says %s", out)
			}

			// The image is the program and what its base has: certificates, users and, for CUDA, the C library.
			base := map[string]string{"cpu": staticImage, "cuda": baseImage}[target]
			var binary bytes.Buffer
			id := strings.TrimSpace(d.docker("create", tag))
			cmd := exec.CommandContext(t.Context(), d.program("docker"), "cp", id+":/usr/bin/pelmill", "-")
			cmd.Env, cmd.Stdout = append(os.Environ(), d.env...), &binary
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			d.docker("rm", id)
			h, err := tar.NewReader(&binary).Next()
			if err != nil {
				t.Fatal(err)
			}
			image, below := d.sizeOf(tag), d.sizeOf(base)
			t.Logf("image %s: %d bytes, of which the program %d and the base %d", tag, image, h.Size, below)
			if image != h.Size+below {
				t.Errorf("the image has %d bytes besides its program and base", image-h.Size-below)
			}
		})
	}
}

// TestTheImageBuildsForOtherArchitectures compiles for arm64, which cannot run here.
func TestTheImageBuildsForOtherArchitectures(t *testing.T) {
	wanted(t, "architectures")
	d := newDaemon(t)
	d.build("build-cpu", "pelmill:arm64", "--build-arg", "TARGETARCH=arm64")
}
