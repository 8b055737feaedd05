package deploy_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
)

// TestReceiversAreReached follows the ports from the process to who may send: container, Service, network policy.
func TestReceiversAreReached(t *testing.T) {
	all := objects(t, rendered(t, "intake", "receivers"))
	container := object(find(t, all, "Deployment", "intake").at("spec", "template", "spec", "containers", 0).(map[string]any))
	ports := map[any]any{}
	for i := range container.at("ports").([]any) {
		ports[container.at("ports", i, "name")] = container.at("ports", i, "containerPort")
	}
	service, policy := find(t, all, "Service", "receivers"), find(t, all, "NetworkPolicy", "receivers")
	var served, open []any
	for i := range service.at("spec", "ports").([]any) {
		served = append(served, ports[service.at("spec", "ports", i, "targetPort")])
	}
	for i := range policy.at("spec", "ingress", 0, "ports").([]any) {
		open = append(open, policy.at("spec", "ingress", 0, "ports", i, "port"))
	}
	if want := []any{8042, 11112}; !slices.Equal(served, want) || !slices.Equal(open, want) {
		t.Errorf("the Service leads to %v, the policy lets in to %v, want %v", served, open, want)
	}
	labels := find(t, all, "Deployment", "intake").at("spec", "template", "metadata", "labels")
	for what, selector := range map[string]any{"Service": service.at("spec", "selector"), "NetworkPolicy": policy.at("spec", "podSelector", "matchLabels")} {
		if !within(selector.(map[string]any), labels.(map[string]any)) {
			t.Errorf("the %s selects %v, pods have %v", what, selector, labels)
		}
	}
}

// within reports whether labels have everything that selector wants.
func within(selector, labels map[string]any) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}

// TestReceiversListenAsTheManifestsSay starts the process of the component with the variables that the manifest gives it:
// with other places and ports, but the same names. It takes an instance over both, from who may send only.
func TestReceiversListenAsTheManifestsSay(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	all := objects(t, rendered(t, "intake", "receivers"))
	container := object(find(t, all, "Deployment", "intake").at("spec", "template", "spec", "containers", 0).(map[string]any))
	dir := t.TempDir()
	metrics, stow, scp := fmt.Sprintf("127.0.0.1:%d", services.FreePort(t)), services.FreePort(t), services.FreePort(t)
	const token = "token-of-a-sender"
	files := map[string][]byte{"senders/tokens": fmt.Appendf(nil, "store %x archive\n", sha256.Sum256([]byte(token)))}
	var authority *x509.CertPool
	files["tls/tls.crt"], files["tls/tls.key"], authority = loopbackCertificate(t)
	for name, data := range files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here := strings.NewReplacer("/run/pelmill", dir, "0.0.0.0:8042", fmt.Sprintf("127.0.0.1:%d", stow), "0.0.0.0:11112", fmt.Sprintf("127.0.0.1:%d", scp),
		"@192.0.2.10:104", "@127.0.0.1", "s3:/", dir)
	env := []string{"PELMILL_METRICS_LISTEN=" + metrics}
	for i := range container.at("env").([]any) {
		env = append(env, fmt.Sprintf("%v=%s", container.at("env", i, "name"), here.Replace(fmt.Sprint(container.at("env", i, "value")))))
	}
	var args []string
	for i := range container.at("args").([]any) {
		args = append(args, here.Replace(fmt.Sprint(container.at("args", i))))
	}
	if err := os.Mkdir(filepath.Join(dir, "spool"), 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := faults.Build(t.TempDir(), "cmd/pelmill")
	if err != nil {
		t.Fatal(err)
	}
	process := faults.Start(t, "intake", env, program, args...)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority}, DisableKeepAlives: true}}
	url := fmt.Sprintf("https://127.0.0.1:%d/studies", stow)
	send := func(token string, in faults.Instance) (int, error) {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/dicom"}})
		if err != nil {
			return 0, err
		}
		part.Write(in.Data)
		w.Close()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, &body)
		if err != nil {
			return 0, err
		}
		req.Header.Set("Content-Type", `multipart/related; type="application/dicom"; boundary=`+w.Boundary())
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		return res.StatusCode, err
	}
	patient := faults.Patient{Name: "NO^ONE", ID: "0", Accession: "0"}
	instance := faults.NewInstance(1, 0, 16, 16, patient)
	faults.Until(t, waiting, "the intake takes an instance by STOW-RS", func() bool {
		if !process.Running() {
			t.Fatalf("the intake has ended: %s", process.Stderr())
		}
		status, err := send(token, instance)
		if err == nil && status != http.StatusOK {
			t.Fatalf("STOW-RS: %d", status)
		}
		return err == nil
	})
	if status, err := send("another", faults.NewInstance(1, 1, 16, 16, patient)); status != http.StatusUnauthorized {
		t.Errorf("STOW-RS with another token: %d, %v, want 401", status, err)
	}
	faults.Until(t, waiting, "the probe of the container", func() bool {
		res, err := http.Get("http://" + metrics + fmt.Sprint(container.at("readinessProbe", "httpGet", "path")))
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})

	storescu, err := exec.LookPath("storescu")
	if err != nil {
		services.Missing(t, "storescu is not in PATH")
	}
	file := filepath.Join(dir, "instance.dcm")
	if err := os.WriteFile(file, faults.NewInstance(1, 2, 16, 16, patient).Data, 0o600); err != nil {
		t.Fatal(err)
	}
	// A listener that is not there yet is asked again; one that refuses is not.
	store := func(title string) (string, error) {
		return output(t.Context(), nil, nil, storescu, "-aet", title, "-aec", "PELMILL", "127.0.0.1", fmt.Sprint(scp), file)
	}
	faults.Until(t, waiting, "the intake takes an instance by C-STORE", func() bool { _, err := store("MODALITY"); return err == nil })
	if _, err := store("ANOTHER"); err == nil {
		t.Error("C-STORE from an AE title that is not among the peers was taken")
	}
	stored, err := filepath.Glob(filepath.Join(dir, "spool", "received", "*", "*.dcm"))
	if err != nil || len(stored) != 2 {
		t.Errorf("the spool has %v, %v, want two instances", stored, err)
	}
}

// loopbackCertificate is a certificate for 127.0.0.1 and its key, PEM, and who trusts it.
func loopbackCertificate(t *testing.T) (cert, key []byte, authority *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	der, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	authority = x509.NewCertPool()
	authority.AddCert(s.Certificate())
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.TLS.Certificates[0].Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), authority
}
