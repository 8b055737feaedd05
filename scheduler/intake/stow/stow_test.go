package stow

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
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
	"github.com/pelmill/pelmill/scheduler/tokens"
)

func TestInstancesOfABody(t *testing.T) {
	r := newRig(t, Options{}, nil)
	a, b := faults.NewInstance(1, 0, 8, 8, patient), faults.NewInstance(1, 1, 8, 8, patient)
	other := bytes.Clone(b.Data)
	other[len(other)-1] ^= 1
	none := part{data: []byte("GIF89a")}
	// A header that claims an encoding is wrong: DICOM has none.
	claimed := part{map[string]string{"Content-Type": mediaType, "Content-Transfer-Encoding": "quoted-printable"}, a.Data}
	picture := part{map[string]string{"Content-Type": "image/png"}, b.Data}
	for i, c := range []struct {
		parts  []part
		status int
		stored []string
		failed map[string]float64
	}{
		{[]part{claimed}, 200, []string{a.UID}, nil},
		{[]part{{data: a.Data}, {data: b.Data}}, 200, []string{a.UID, b.UID}, nil},
		{[]part{{data: other}}, 200, []string{b.UID}, nil},
		{[]part{{data: a.Data}, none}, 202, []string{a.UID}, map[string]float64{"": reasonUnreadable}},
		{[]part{none}, 409, nil, map[string]float64{"": reasonUnreadable}},
		{[]part{picture}, 409, nil, map[string]float64{"": reasonProcessing}},
		{[]part{{map[string]string{"X": "y"}, b.Data}}, 200, []string{b.UID}, nil},
		{nil, 400, nil, nil},
	} {
		status, text := r.send(c.parts...)
		if status != c.status {
			t.Errorf("%d: status %d, want %d: %s", i, status, c.status, text)
		}
		if status == 400 {
			continue
		}
		ok, failed := sequences(t, text)
		if fmt.Sprint(ok) != fmt.Sprint(c.stored) || fmt.Sprint(failed) != fmt.Sprint(c.failed) {
			t.Errorf("%d: %s", i, text)
		}
	}
	if got := stored(t, r.dir); len(got) != 2 || got[string(a.Data)] != 1 || got[string(b.Data)] != 1 {
		t.Errorf("%d files", len(got))
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	r := newRig(t, Options{MostBytes: 10_000}, nil)
	a := faults.NewInstance(1, 0, 8, 8, patient)
	media, data := body(part{data: a.Data})
	_, large := body(part{data: make([]byte, 20_000)})
	for i, c := range []struct {
		method, path, media string
		data                []byte
		header              map[string]string
		status              int
	}{
		{"POST", "/studies", media, data, nil, 200},
		{"POST", "/studies/", media, data, nil, 200},
		{"POST", "/a/b/studies/" + a.Study, media, data, nil, 200},
		{"POST", "/studies", strings.Replace(media, `"application/dicom"`, "application/dicom", 1), data, nil, 200},
		{"POST", "/studies/1.2.3", media, data, nil, 409},
		{"POST", "/studies/x", media, data, nil, 404},
		{"POST", "/", media, data, nil, 404},
		{"GET", "/studies", media, nil, nil, 405},
		{"POST", "/studies", "application/dicom", a.Data, nil, 415},
		{"POST", "/studies", `multipart/related; type="application/dicom+json"; boundary=x`, data, nil, 415},
		{"POST", "/studies", `multipart/related; type="application/dicom"`, data, nil, 400},
		{"POST", "/studies", media, data, map[string]string{"Content-Encoding": "gzip"}, 415},
		{"POST", "/studies", media, data[:len(data)-20], nil, 400},
		{"POST", "/studies", media, []byte("text"), nil, 400},
		{"POST", "/studies", media, large, nil, 413},
		{"POST", "/studies", media, data, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
	} {
		req, _ := http.NewRequest(c.method, "http://"+r.at+c.path, bytes.NewReader(c.data))
		req.Header.Set("Content-Type", c.media)
		for k, v := range c.header {
			req.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%d: %s %s: status %d, want %d", i, c.method, c.path, res.StatusCode, c.status)
		}
	}
	if n := len(stored(t, r.dir)); n != 1 {
		t.Errorf("%d files", n)
	}
}

// Without room the answer comes before the body is sent, where its length tells, and else instead of a success.
func TestNoRoom(t *testing.T) {
	a := faults.NewInstance(1, 0, 64, 64, patient)
	r := newRig(t, Options{}, &instances.Options{Budget: 2*int64(len(a.Data)) + 2000})
	media, data := body(part{data: a.Data})
	conn, err := net.Dial("tcp", r.at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /studies HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n", media)
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	if err != nil || !strings.HasPrefix(string(buf[:n]), "HTTP/1.1 503 ") || !strings.Contains(string(buf[:n]), "Retry-After: ") {
		t.Errorf("%v: %s", err, buf[:n])
	}
	for i, want := range []int{200, 200, 503} {
		data := data
		if i > 0 {
			_, data = body(part{data: faults.NewInstance(1, i, 64, 64, patient).Data})
			media, data = body(part{data: faults.NewInstance(1, i, 64, 64, patient).Data})
		}
		res, text, err := post(http.DefaultClient, "http://"+r.at+"/studies", media, data, nil)
		if err != nil || res.StatusCode != want || want == 503 && res.Header.Get("Retry-After") == "" {
			t.Errorf("%d: %v %v %s", i, res, err, text)
		}
	}
	// Of several instances those that found room are told apart.
	r = newRig(t, Options{}, &instances.Options{Budget: 2*int64(len(a.Data)) + 2000})
	media, data = body(part{data: a.Data}, part{data: faults.NewInstance(1, 1, 64, 64, patient).Data}, part{data: faults.NewInstance(1, 2, 64, 64, patient).Data})
	req, _ := http.NewRequest("POST", "http://"+r.at+"/studies", struct{ *bytes.Reader }{bytes.NewReader(data)}) // of unknown length
	req.Header.Set("Content-Type", media)
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 202 {
		t.Fatalf("%v %v", res, err)
	}
	res.Body.Close()
}

func TestTokensAndTLS(t *testing.T) {
	sum := sha256.Sum256([]byte("secret"))
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, fmt.Appendf(nil, "store %x scanner 3\n", sum), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := tokens.Read(file, []string{RoleStore}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, pool := certificate(t)
	r := newRig(t, Options{Tokens: list, Cert: cert, Key: key}, nil)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	media, data := body(part{data: faults.NewInstance(1, 0, 8, 8, patient).Data})
	for token, want := range map[string]int{"": 401, "Bearer other": 401, "Basic secret": 401, "Bearer secret": 200} {
		res, text, err := post(client, "https://"+r.at+"/studies", media, data, map[string]string{"Authorization": token})
		if err != nil || res.StatusCode != want {
			t.Errorf("%q: %v %v %s", token, res, err, text)
		}
	}
	trail, _ := filepath.Glob(r.dir + "/target/.pelmill/intake/audit/*.jsonl")
	if len(trail) != 1 {
		t.Fatalf("%q", trail)
	}
	if text, _ := os.ReadFile(trail[0]); !strings.Contains(string(text), `"name":"scanner 3"`) {
		t.Errorf("%s", text)
	}
}

// certificate makes one for 127.0.0.1 in two files.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool.AppendCertsFromPEM(text)
	dir := t.TempDir()
	cert, key = dir+"/cert", dir+"/key"
	for name, data := range map[string][]byte{cert: text, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, pool
}

func TestWhereItListens(t *testing.T) {
	for address, ok := range map[string]bool{":0": true, "127.0.0.1:0": true, "localhost:0": true, "[::1]:0": true, "0.0.0.0:0": false, "192.0.2.1:80": false, "nothing": false} {
		if _, err := New(nil, Options{Address: address}); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := New(nil, Options{Address: ":0", Cert: "x"}); err == nil {
		t.Error("a certificate without its key")
	}
}

// 100 clients send while the receiver is full at first, and is killed and started again: every instance that was acknowledged
// is there, byte for byte, and none twice. Clients send again what was not, and are told when where there is no room.
func TestClientsAtOnceAndKills(t *testing.T) {
	clients, each, kills := 100, 3, 3
	if testing.Short() {
		clients, kills = 20, 1
	}
	dir, address := t.TempDir(), fmt.Sprintf("127.0.0.1:%d", services.FreePort(t))
	start := func(budget int) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "PELMILL_TEST_STOW="+dir, "PELMILL_TEST_STOW_ADDRESS="+address, fmt.Sprintf("PELMILL_TEST_STOW_BUDGET=%d", budget))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	p := start(clients * each / (kills + 2) * len(faults.NewInstance(3, 0, 24, 24, patient).Data))
	defer func() { p.Process.Kill(); p.Wait() }()
	var mu sync.Mutex
	acknowledged, full := 0, 0
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}, Timeout: time.Minute}
	var sending sync.WaitGroup
	limit := time.Now().Add(3 * time.Minute)
	for c := range clients {
		sending.Go(func() {
			for i := range each {
				media, data := body(part{data: faults.NewInstance(3, c*each+i, 24, 24, patient).Data})
				for {
					res, _, err := post(client, "http://"+address+"/studies", media, data, nil)
					if err == nil && res.StatusCode == 200 {
						break
					}
					if err == nil && res.StatusCode == 503 {
						if res.Header.Get("Retry-After") == "" {
							t.Errorf("no Retry-After: %v", res.Header)
						}
						mu.Lock()
						full++
						mu.Unlock()
					}
					if time.Now().After(limit) {
						t.Errorf("client %d: %v %v", c, res, err)
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
				mu.Lock()
				acknowledged++
				mu.Unlock()
			}
		})
	}
	for k := range kills {
		faults.Until(t, time.Minute, "acknowledgements", func() bool {
			mu.Lock()
			defer mu.Unlock()
			if k == 0 {
				return full > clients // nobody goes on
			}
			return acknowledged > (k+1)*clients*each/(kills+1)
		})
		p.Process.Kill()
		p.Wait()
		p = start(0)
	}
	sending.Wait()
	got := stored(t, dir)
	for i := range clients * each {
		if n := got[string(faults.NewInstance(3, i, 24, 24, patient).Data)]; n != 1 {
			t.Errorf("instance %d is there %d times", i, n)
		}
	}
	if full == 0 {
		t.Error("the spool was never full")
	}
	t.Logf("%d clients, %d instances, %d kills, %d answers of 503", clients, clients*each, kills, full)
	if len(got) != clients*each || acknowledged != clients*each {
		t.Errorf("%d files of %d instances, %d acknowledged", len(got), clients*each, acknowledged)
	}
}

func FuzzBody(f *testing.F) {
	media, data := body(part{data: faults.NewInstance(1, 0, 2, 2, patient).Data})
	f.Add(media, data)
	f.Add(`multipart/related; type="application/dicom"; boundary=x`, []byte("--x\r\n\r\ntext\r\n--x--\r\n"))
	f.Fuzz(func(t *testing.T, media string, data []byte) {
		store := openStore(t, "mem:/") // folders take ten times as long
		defer store.Close()
		s, err := New(store, Options{Address: ":0"})
		if err != nil {
			t.Fatal(err)
		}
		fuzzOne(t, s, media, data)
	})
}
