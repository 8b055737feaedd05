package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pelmill/pelmill/internal/services"
)

// An apiServer is a Kubernetes API server with its store, and nothing that acts on what it holds.
type apiServer struct {
	t          *testing.T
	kubectl    string
	kubeconfig string
}

// newAPIServer starts one on loopback, with the custom resources of KEDA and of the Prometheus operator.
func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{t: t}
	for _, path := range []string{"bin/kube-apiserver", "bin/kubectl", "docker/root/usr/bin/etcd"} {
		if _, err := os.Stat(filepath.Join(tools(t), path)); err != nil {
			t.Skipf("NOT TESTED: kubernetes: %s is not in .tools/; run make deploy-tools", path)
		}
	}
	s.kubectl = tool(t, "bin", "kubectl")
	dir := t.TempDir()
	store, peers, port := local(t), local(t), services.FreePort(t)
	s.run(dir, tool(t, "docker", "root", "usr", "bin", "etcd"), "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", store, "--advertise-client-urls", store, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
		"--initial-cluster", "default="+peers)
	key, tokens := filepath.Join(dir, "sa.key"), filepath.Join(dir, "tokens.csv")
	if _, err := output(t.Context(), nil, nil, "openssl", "genrsa", "-out", key, "2048"); err != nil {
		services.Missing(t, "openssl: %v", err)
	}
	// A made-up token of a server that lives as long as the test.
	const token = "deploytest"
	if err := os.WriteFile(tokens, []byte(token+`,admin,admin,"system:masters"`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(dir, tool(t, "bin", "kube-apiserver"), "--etcd-servers", store, "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
		"--secure-port", strconv.Itoa(port), "--cert-dir", filepath.Join(dir, "certificates"), "--service-cluster-ip-range", "10.0.0.0/24",
		"--service-account-issuer", "https://localhost", "--service-account-key-file", key, "--service-account-signing-key-file", key,
		"--token-auth-file", tokens, "--authorization-mode", "RBAC", "--allow-privileged", "--endpoint-reconciler-type", "none")
	s.kubeconfig = filepath.Join(dir, "kubeconfig")
	config := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: it, contexts: [{name: it, context: {cluster: it, user: it}}],
clusters: [{name: it, cluster: {server: "https://127.0.0.1:%d", insecure-skip-tls-verify: true}}], users: [{name: it, user: {token: %s}}]}`, port, token)
	if err := os.WriteFile(s.kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.eventually("ready", func() error { return s.do(nil, "get", "--raw", "/readyz") })
	definitions, err := filepath.Glob(filepath.Join(tool(t, "crds"), "*.yaml"))
	if err != nil || len(definitions) == 0 {
		t.Fatalf("definitions of custom resources: %v, %v", definitions, err)
	}
	if err := s.do(nil, "apply", "--server-side", "-f", tool(t, "crds")); err != nil {
		t.Fatal(err)
	}
	if err := s.do(nil, "wait", "--for=condition=Established", "--all", "crd", "--timeout=120s"); err != nil {
		t.Fatal(err)
	}
	return s
}

func local(t *testing.T) string { return "http://127.0.0.1:" + strconv.Itoa(services.FreePort(t)) }

// run starts a server that ends with the test.
func (s *apiServer) run(dir, name string, args ...string) {
	s.t.Helper()
	log, err := os.Create(filepath.Join(dir, filepath.Base(name)+".log"))
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, log, log, dieWithParent()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if s.t.Failed() {
			said, _ := os.ReadFile(log.Name())
			s.t.Logf("%s: %s", filepath.Base(name), tail(string(said)))
		}
		cmd.Process.Kill()
		cmd.Wait()
		log.Close()
	})
}

// eventually waits for what may take minutes on a machine that does a lot besides.
func (s *apiServer) eventually(what string, try func() error) {
	s.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(300 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the API server is not %s: %v", what, err)
		}
	}
}

// do runs kubectl.
func (s *apiServer) do(stdin []byte, args ...string) error {
	_, err := output(s.t.Context(), nil, stdin, s.kubectl, append([]string{"--kubeconfig", s.kubeconfig}, args...)...)
	return err
}

func (s *apiServer) apply(manifests []byte, flags ...string) error {
	return s.do(manifests, append([]string{"apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-"}, flags...)...)
}

// podsOf makes Pods of pod templates, changed by change: the server refuses a pod that breaks the namespace's profile, but
// only warns of a Deployment whose pods will.
func podsOf(t *testing.T, all []object, change func(pod, container object)) []byte {
	t.Helper()
	var pods bytes.Buffer
	for _, o := range all {
		template, ok := o.at("spec", "template").(map[string]any)
		if !ok || o.kind() != "Deployment" && o.kind() != "StatefulSet" {
			continue
		}
		spec := template["spec"].(map[string]any)
		volumes, _ := spec["volumes"].([]any)
		claims, _ := o.at("spec", "volumeClaimTemplates").([]any)
		for i := range claims { // which a controller would bind
			volumes = append(volumes, map[string]any{"name": o.at("spec", "volumeClaimTemplates", i, "metadata", "name"), "emptyDir": map[string]any{}})
		}
		spec["volumes"] = volumes
		change(spec, object(spec).at("containers", 0).(map[string]any))
		pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec,
			"metadata": map[string]any{"name": o.name(), "namespace": "pelmill", "labels": object(template).at("metadata", "labels")}}
		data, err := yaml.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		pods.WriteString("---\n")
		pods.Write(data)
	}
	return pods.Bytes()
}

// TestAPIServerTakesTheManifests applies every combination, twice, to a real API server, and its pods as Pods.
func TestAPIServerTakesTheManifests(t *testing.T) {
	wanted(t, "kubernetes")
	s := newAPIServer(t)
	example, err := output(t.Context(), nil, nil, s.kubectl, "kustomize", "kubernetes/example")
	if err != nil {
		t.Fatal(err)
	}
	var namespace bytes.Buffer
	for _, o := range objects(t, []byte(example)) {
		if o.kind() == "Namespace" {
			if err := yaml.NewEncoder(&namespace).Encode(map[string]any(o)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.apply(namespace.Bytes()); err != nil {
		t.Fatal(err)
	}
	// Made by the controllers of a whole cluster.
	account := "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default, namespace: pelmill}\n"
	if err := s.apply([]byte(account)); err != nil {
		t.Fatal(err)
	}
	for name, components := range combinations {
		if err := s.apply(rendered(t, components...)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 2 {
		if err := s.apply([]byte(example)); err != nil {
			t.Errorf("example: %v", err)
		}
	}
	all := rendered(t, combinations["all"]...)
	if err := s.apply(podsOf(t, objects(t, all), func(object, object) {}), "--dry-run=server"); err != nil {
		t.Errorf("pods: %v", err)
	}

	for what, wrong := range map[string]struct{ from, to, says string }{
		"a misspelt field of a ScaledObject":  {"cooldownPeriod", "coolDownPeriod", "coolDownPeriod"},
		"a misspelt field of a Deployment":    {"terminationGracePeriodSeconds", "terminationGracePeriod", "terminationGracePeriod"},
		"fewer workers at most than at least": {"minReplicaCount: 0", "minReplicaCount: 30", "minReplicaCount"},
	} {
		bad := bytes.ReplaceAll(all, []byte(wrong.from), []byte(wrong.to))
		if bytes.Equal(bad, all) {
			t.Errorf("%s: nothing to change", what)
		}
		s.refuses(what, bad, wrong.says)
	}
	for what, change := range map[string]func(pod, container object){
		"a privileged pod": func(_, c object) {
			c["securityContext"].(map[string]any)["privileged"] = true
			delete(c["securityContext"].(map[string]any), "allowPrivilegeEscalation")
		},
		"a pod of root": func(pod, _ object) { pod["securityContext"].(map[string]any)["runAsNonRoot"] = false },
		"a pod with a folder of the node": func(pod, _ object) {
			pod["volumes"] = append(pod["volumes"].([]any), map[string]any{"name": "node", "hostPath": map[string]any{"path": "/var"}})
		},
		"a pod in the network of the node": func(pod, _ object) { pod["hostNetwork"] = true },
	} {
		s.refuses(what, podsOf(t, objects(t, all), change), `violates PodSecurity "restricted`)
	}
}

// refuses looks that the server does not take manifests, for the right reason.
func (s *apiServer) refuses(what string, manifests []byte, says string) {
	s.t.Helper()
	if err := s.apply(manifests, "--dry-run=server"); err == nil {
		s.t.Errorf("%s: the server took it", what)
	} else if !strings.Contains(err.Error(), says) {
		s.t.Errorf("%s: refused for another reason: %v", what, err)
	}
}
