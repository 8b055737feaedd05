package stow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/intake"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
	"github.com/pelmill/pelmill/storage"
)

var patient = faults.Patient{Name: "MARK^NAME", ID: "MARKID", Accession: "MARKACC"}

func TestMain(m *testing.M) {
	if dir := os.Getenv("PELMILL_TEST_STOW"); dir != "" {
		child(dir, os.Getenv("PELMILL_TEST_STOW_ADDRESS"))
	}
	os.Exit(m.Run())
}

// child is a receiver in a process of its own, which a test kills.
func child(dir, address string) {
	budget, _ := strconv.ParseInt(os.Getenv("PELMILL_TEST_STOW_BUDGET"), 10, 64)
	err := serve(context.Background(), dir, Options{Address: address}, &instances.Options{Budget: budget})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// serve receives into dir/spool until ctx ends.
func serve(ctx context.Context, dir string, o Options, limits *instances.Options) error {
	buckets := storage.NewBuckets()
	defer buckets.Close()
	spool, err := buckets.Open(ctx, dir+"/spool")
	if err != nil {
		return err
	}
	target, err := buckets.Open(ctx, dir+"/target")
	if err != nil {
		return err
	}
	store, err := instances.Open(ctx, spool, target, limits)
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := New(store, o)
	if err != nil {
		return err
	}
	in, err := intake.New(ctx, &scheduler.Client{Buckets: buckets}, jobs.Spec{Source: spool.URL, Target: target.URL, Codec: "jpeg2000"}, nil, s)
	if err != nil {
		return err
	}
	return in.Run(ctx)
}

// rig is a receiver in this process.
type rig struct {
	t   *testing.T
	dir string
	at  string // address
}

func newRig(t *testing.T, o Options, limits *instances.Options) *rig {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Listen = l
	r := &rig{t: t, dir: t.TempDir(), at: l.Addr().String()}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- serve(ctx, r.dir, o, limits) }()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Errorf("receiver: %v", err)
		}
	})
	return r
}

// part is one of a body.
type part struct {
	header map[string]string // nil: Content-Type alone
	data   []byte
}

func body(parts ...part) (media string, data []byte) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		if p.header == nil {
			p.header = map[string]string{"Content-Type": mediaType}
		}
		for k, v := range p.header {
			h.Set(k, v)
		}
		pw, _ := w.CreatePart(h)
		pw.Write(p.data)
	}
	w.Close()
	return `multipart/related; type="application/dicom"; boundary=` + w.Boundary(), b.Bytes()
}

// post sends a body to a receiver and gives status and answer.
func post(client *http.Client, url, media string, data []byte, header map[string]string) (*http.Response, string, error) {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", media)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res, string(text), err
}

// send sends instances and gives the status and the answer.
func (r *rig) send(parts ...part) (int, string) {
	r.t.Helper()
	media, data := body(parts...)
	res, text, err := post(http.DefaultClient, "http://"+r.at+"/dicom-web/studies", media, data, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, text
}

// stored are the files of a receiver that has ended or is idle, by their bytes.
func stored(t *testing.T, dir string) map[string]int {
	t.Helper()
	buckets := storage.NewBuckets()
	defer buckets.Close()
	b, err := buckets.Open(context.Background(), dir+"/spool")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	err = storage.Walk(context.Background(), b, nil, func(p storage.Page) error {
		for _, o := range p.Objects {
			got, err := storage.Get(context.Background(), b, o.Key, -1, nil)
			if err != nil {
				return err
			}
			out[string(got.Data)]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sequences gives the UIDs and reasons that an answer names.
func sequences(t *testing.T, text string) (stored []string, failed map[string]float64) {
	t.Helper()
	var all map[string]struct {
		VR    string `json:"vr"`
		Value []map[string]struct {
			Value []any
		}
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	failed = map[string]float64{}
	for _, item := range all["00081199"].Value {
		stored = append(stored, fmt.Sprint(item["00081155"].Value...))
	}
	for _, item := range all["00081198"].Value {
		failed[strings.TrimSpace(fmt.Sprint(item["00081155"].Value...))] = item["00081197"].Value[0].(float64)
	}
	return stored, failed
}

// openStore opens a spool and a target below a folder, or as buckets in memory below "mem:/".
func openStore(t testing.TB, dir string) *instances.Store {
	t.Helper()
	buckets := storage.NewBuckets()
	t.Cleanup(func() { buckets.Close() })
	var two [2]*storage.Bucket
	for i, name := range []string{"/spool", "/target"} {
		var err error
		if two[i], err = buckets.Open(context.Background(), dir+name); err != nil {
			t.Fatal(err)
		}
	}
	store, err := instances.Open(context.Background(), two[0], two[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// fuzzOne gives a request to a server and checks the form of its answer.
func fuzzOne(t *testing.T, s *Server, media string, data []byte) {
	req := httptest.NewRequest(http.MethodPost, "http://localhost/studies", bytes.NewReader(data))
	req.Header.Set("Content-Type", media)
	rec := httptest.NewRecorder()
	s.handler(func(string) {}).ServeHTTP(rec, req)
	switch rec.Code {
	case 200, 202, 409:
		sequences(t, rec.Body.String())
	case 400, 413, 415, 503:
	default:
		t.Errorf("status %d", rec.Code)
	}
}
