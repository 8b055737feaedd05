package dimse

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
	"github.com/pelmill/pelmill/storage"
)

var patient = faults.Patient{Name: "MARK^NAME", ID: "MARKID", Accession: "MARKACC"}

func TestMain(m *testing.M) {
	if dir := os.Getenv("PELMILL_TEST_DIMSE"); dir != "" {
		child(dir, os.Getenv("PELMILL_TEST_DIMSE_ADDRESS"))
	}
	os.Exit(m.Run())
}

// child is a receiver in a process of its own, which a test kills.
func child(dir, address string) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		err = serve(context.Background(), dir, Options{Listen: l}, nil, nil)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// openStore opens a store in dir/spool and dir/target.
func openStore(ctx context.Context, buckets *storage.Buckets, dir string, limits *instances.Options) (*instances.Store, error) {
	spool, err := buckets.Open(ctx, dir+"/spool")
	if err != nil {
		return nil, err
	}
	target, err := buckets.Open(ctx, dir+"/target")
	if err != nil {
		return nil, err
	}
	return instances.Open(ctx, spool, target, limits)
}

// serve receives into dir/spool until ctx ends.
func serve(ctx context.Context, dir string, o Options, limits *instances.Options, change func(*Server)) error {
	buckets := storage.NewBuckets()
	defer buckets.Close()
	store, err := openStore(ctx, buckets, dir, limits)
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := New(store, o)
	if err != nil {
		return err
	}
	if change != nil {
		change(s)
	}
	return s.serve(ctx, o.Listen, func(string) {})
}

// rig is a receiver in this process.
type rig struct {
	t    *testing.T
	dir  string
	port string
}

func newRig(t *testing.T, o Options, limits *instances.Options, change func(*Server)) *rig {
	t.Helper()
	if o.Listen == nil {
		var err error
		if o.Listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	r := &rig{t: t, dir: t.TempDir()}
	_, r.port, _ = net.SplitHostPort(o.Listen.Addr().String())
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- serve(ctx, r.dir, o, limits, change) }()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Errorf("receiver: %v", err)
		}
	})
	return r
}

// stored are the data sets in the spool of a receiver, by transfer syntax and bytes.
func stored(t *testing.T, dir string) map[string]int {
	t.Helper()
	out := map[string]int{}
	files, err := filepath.Glob(dir + "/spool/received/*/*.dcm")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[dataset(t, data)]++
	}
	return out
}

// dataset is the transfer syntax and the data set of a file.
func dataset(t *testing.T, data []byte) string {
	t.Helper()
	syntax, at := "", 132
	for len(data) >= at+8 && binary.LittleEndian.Uint16(data[at:]) == 2 {
		n, head := int(binary.LittleEndian.Uint16(data[at+6:])), 8
		if string(data[at+4:at+6]) == "OB" {
			n, head = int(binary.LittleEndian.Uint32(data[at+8:])), 12
		}
		if binary.LittleEndian.Uint16(data[at+2:]) == 0x10 {
			syntax = strings.TrimRight(string(data[at+head:at+head+n]), "\x00 ")
		}
		at += head + n
	}
	return syntax + "\n" + string(data[at:])
}

// trail is the text of the audit trail.
func trail(t *testing.T, dir string) string {
	t.Helper()
	files, _ := filepath.Glob(dir + "/target/.pelmill/intake/audit/*.jsonl")
	if len(files) != 1 {
		t.Fatalf("%q", files)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// files writes instances into files and gives their names.
func files(t *testing.T, from, to, w int) (names []string) {
	t.Helper()
	dir := t.TempDir()
	for i := from; i < to; i++ {
		name := fmt.Sprintf("%s/%04d.dcm", dir, i)
		if err := os.WriteFile(name, faults.NewInstance(9, i, w, w, patient).Data, 0o666); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// pynetdicom runs testdata/peer.py, whose lines go to said as they come. It gives all output.
func pynetdicom(t *testing.T, said func(line string), args ...string) string {
	t.Helper()
	python := filepath.Join(services.Root(t), ".tools/pynetdicom/bin/python")
	if _, err := os.Stat(python); err != nil {
		services.Missing(t, "pynetdicom is not in .tools/; run make services")
	}
	cmd := exec.Command(python, append([]string{"testdata/peer.py"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&text, lines.Text())
		if said != nil {
			said(lines.Text())
		}
	}
	cmd.Wait()
	return text.String()
}

// dcmtk runs a program of dcmtk and gives its output and whether it succeeded.
func dcmtk(t *testing.T, name string, args ...string) (string, bool) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		services.Missing(t, "%s is not in PATH; run make services", name)
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	return string(out), err == nil
}

// process is a receiver that can be killed and started again.
type process struct {
	t         *testing.T
	dir, port string
	mu        sync.Mutex
	cmd       *exec.Cmd
}

func newProcess(t *testing.T) *process {
	p := &process{t: t, dir: t.TempDir(), port: fmt.Sprint(services.FreePort(t))}
	p.start()
	t.Cleanup(p.kill)
	return p
}

func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), "PELMILL_TEST_DIMSE="+p.dir, "PELMILL_TEST_DIMSE_ADDRESS=127.0.0.1:"+p.port)
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	faults.Until(p.t, time.Minute, "the receiver", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+p.port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}
