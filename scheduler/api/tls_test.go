package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api"
	"github.com/pelmill/pelmill/scheduler/api/client"
)

// authority signs certificates and writes them into a folder.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.make("ca", &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// make writes NAME.pem and NAME.key.
func (a *authority) make(name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	by, signer := a.cert, a.key
	if by == nil {
		by, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(a.file(name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) person(name, unit string) {
	a.make(name, &x509.Certificate{Subject: pkix.Name{CommonName: name, OrganizationalUnit: []string{unit}}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

func TestClientCertificatesHaveRoles(t *testing.T) {
	t.Parallel()
	ours, other := newAuthority(t, "ours"), newAuthority(t, "other")
	ours.make("server", &x509.Certificate{Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	ours.person("reader", "people")
	ours.person("operator", "operate")
	other.person("stranger", "operate")
	r := newRig(t, func(o *api.Options) { o.Certificates = true })
	r.fill(1)
	at := r.listen(api.ServeOptions{Cert: ours.file("server.pem"), Key: ours.file("server.key"), ClientCA: ours.file("ca.pem")})

	with := func(a *authority, name string) *client.Client {
		o := &client.Options{CA: ours.file("ca.pem")}
		if name != "" {
			o.Cert, o.Key = a.file(name+".pem"), a.file(name+".key")
		}
		c, err := client.New("https://"+at, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	id := r.submit(nil)
	again := api.Again{}
	for name, c := range map[string]struct {
		client      *client.Client
		read, order bool
	}{
		"nobody": {with(nil, ""), false, false}, "a reader": {with(ours, "reader"), true, false}, "an operator": {with(ours, "operator"), true, true},
	} {
		_, err := c.client.Target(r.ctx, id)
		if (err == nil) != c.read {
			t.Errorf("%s reads: %v, want %v", name, err, c.read)
		}
		_, err = c.client.Retry(r.ctx, id, again)
		var conflict = err != nil && err.Error() == "job "+id+" has not ended, so it has no report"
		if conflict != c.order {
			t.Errorf("%s orders: %v, want %v", name, err, c.order)
		}
	}
	pair, err := tls.LoadX509KeyPair(other.file("stranger.pem"), other.file("stranger.key"))
	if err != nil {
		t.Fatal(err)
	}
	stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }}}}
	if res, err := stranger.Get("https://" + at + "/v1/jobs"); err == nil {
		t.Errorf("a certificate of another authority: %s", res.Status)
	}
	if res, err := http.Get("http://" + at + "/v1/jobs"); err == nil && res.StatusCode < 400 {
		t.Errorf("without TLS: %s", res.Status)
	}
	if _, err := with(ours, "reader").Target(r.ctx, "20200101-000000-aaaa"); err == nil || !errors.Is(err, scheduler.ErrNoJob) {
		t.Errorf("no job: %v", err)
	}
}
