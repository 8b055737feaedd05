package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// kubernetesVersion is that of the schemas, the API server's.
const kubernetesVersion = "1.36"

// combinations are all folders beside the base, alone, where they stand alone, and together.
var combinations = map[string][]string{
	"base":       nil,
	"gpu":        {"gpu"},
	"intake":     {"intake"},
	"receivers":  {"intake", "receivers"},
	"keda":       {"keda"},
	"monitoring": {"monitoring"},
	"redis":      {"redis"},
	"all":        {"intake", "receivers", "redis", "keda", "monitoring", "gpu"},
}

// rendered is what kubectl apply -k sends of a base with components.
func rendered(t *testing.T, components ...string) []byte {
	t.Helper()
	return overlaid(t, "", components...)
}

// overlaid is the same with more in the kustomization.
func overlaid(t *testing.T, more string, components ...string) []byte {
	t.Helper()
	kustomize := tool(t, "bin", "kustomize")
	kubernetes, err := filepath.Abs("kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	relative, err := filepath.Rel(dir, kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	text := "resources: [" + filepath.Join(relative, "base") + "]\ncomponents:\n"
	for _, c := range components {
		text += "  - " + filepath.Join(relative, "components", c) + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text+more), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := output(t.Context(), nil, nil, kustomize, "build", dir)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(out)
}

// object is a manifest.
type object map[string]any

func (o object) kind() string { return fmt.Sprint(o["kind"]) }
func (o object) name() string { return fmt.Sprint(o.at("metadata", "name")) }

// at is what lies at the end of a path of keys and indices, nil where there is nothing.
func (o object) at(path ...any) any {
	var v any = map[string]any(o)
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// objects are those of a stream of YAML documents.
func objects(t *testing.T, stream []byte) []object {
	t.Helper()
	var all []object
	for dec := yaml.NewDecoder(bytes.NewReader(stream)); ; {
		var o map[string]any // not object, or the maps below would be, too
		if err := dec.Decode(&o); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if o != nil {
			all = append(all, o)
		}
	}
}

func find(t *testing.T, all []object, kind, name string) object {
	t.Helper()
	for _, o := range all {
		if o.kind() == kind && o.name() == name {
			return o
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return nil
}

// TestManifestsFollowTheSchemas checks every combination against the schemas of Kubernetes and of the custom resources.
func TestManifestsFollowTheSchemas(t *testing.T) {
	check := newSchemas(t)
	var all []byte
	for _, name := range slices.Sorted(maps.Keys(combinations)) {
		all = append(append(all, "---\n"...), rendered(t, combinations[name]...)...)
	}
	if err := check.valid(t, all); err != nil {
		t.Error(err)
	}
	example, err := output(t.Context(), nil, nil, tool(t, "bin", "kustomize"), "build", "kubernetes/example")
	if err != nil {
		t.Fatal(err)
	}
	if err := check.valid(t, []byte(example)); err != nil {
		t.Errorf("example: %v", err)
	}
	for _, o := range objects(t, []byte(example)) {
		if ns := o.at("metadata", "namespace"); ns != "pelmill" && o.kind() != "Namespace" {
			t.Errorf("example: %s %s is in namespace %v", o.kind(), o.name(), ns)
		}
	}
}

// TestREADMEsKustomizationOfReceivers: what deploy/README.md tells an operator to write for modalities outside of the cluster
// is taken, and changes what it should.
func TestREADMEsKustomizationOfReceivers(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(readme), "\n\n    patches:\n")
	block, _, end := strings.Cut(block, "\n\n")
	if !ok || !end {
		t.Fatal("README.md has no such block")
	}
	more := "patches:\n" + strings.ReplaceAll(strings.TrimPrefix(block, "    "), "\n    ", "\n") + "\n"
	stream := overlaid(t, more, "intake", "receivers")
	if err := newSchemas(t).valid(t, stream); err != nil {
		t.Error(err)
	}
	all := objects(t, stream)
	service, policy := find(t, all, "Service", "receivers"), find(t, all, "NetworkPolicy", "receivers")
	if service.at("spec", "type") != "LoadBalancer" || service.at("spec", "externalTrafficPolicy") != "Local" {
		t.Errorf("the Service is %v", service.at("spec"))
	}
	if from, to := policy.at("spec", "ingress", 0, "from", 0, "ipBlock", "cidr"), policy.at("spec", "egress", 0, "to", 0, "ipBlock", "cidr"); from != "10.20.0.0/16" || to != from {
		t.Errorf("the policy lets in %v and out %v", from, to)
	}
	if args := fmt.Sprint(find(t, all, "Deployment", "intake").at("spec", "template", "spec", "containers", 0, "args")); !strings.HasPrefix(args, "[intake s3://hospital-spool s3://hospital-archive ") {
		t.Errorf("arguments %s", args)
	}
	env := fmt.Sprint(find(t, all, "Deployment", "intake").at("spec", "template", "spec", "containers", 0, "env"))
	for _, want := range []string{"CT1@10.20.0.5:104,MR1@10.20.0.6:104", "0.0.0.0:11112", "PELMILL_STOW_TOKEN_FILE"} {
		if !strings.Contains(env, want) {
			t.Errorf("the variables of the receivers lack %s: %s", want, env)
		}
	}
}

// TestSchemasFindMistakes makes sure that the check can fail.
func TestSchemasFindMistakes(t *testing.T) {
	check := newSchemas(t)
	good := rendered(t, "keda")
	for what, change := range map[string][2]string{
		"a misspelt field of a pod":          {"readOnlyRootFilesystem", "readOnlyRootFileSystem"},
		"a misspelt field of a ScaledObject": {"cooldownPeriod", "coolDownPeriod"},
		"a word for a number":                {"maxReplicaCount: 20", "maxReplicaCount: many"},
	} {
		bad := bytes.ReplaceAll(good, []byte(change[0]), []byte(change[1]))
		if bytes.Equal(bad, good) {
			t.Fatalf("%s: nothing to change", what)
		}
		if check.valid(t, bad) == nil {
			t.Errorf("%s: found nothing", what)
		}
	}
}

// schemas check manifests as far as that is possible without a server.
type schemas struct{ validate, kubeconform, custom string }

func newSchemas(t *testing.T) *schemas {
	t.Helper()
	s := &schemas{tool(t, "kubernetes-validate", "bin", "kubernetes-validate"), tool(t, "bin", "kubeconform"), t.TempDir()}
	files, err := filepath.Glob(filepath.Join(tool(t, "crds"), "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("definitions of custom resources: %v, %v", files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects(t, data) {
			s.cut(t, o)
		}
	}
	return s
}

// cut writes the schemas of a definition where kubeconform looks for them.
func (s *schemas) cut(t *testing.T, definition object) {
	t.Helper()
	versions, _ := definition.at("spec", "versions").([]any)
	for i := range versions {
		version := definition.at("spec", "versions", i, "name")
		schema, ok := definition.at("spec", "versions", i, "schema", "openAPIV3Schema").(map[string]any)
		if !ok {
			t.Fatalf("%s has no schema", definition.name())
		}
		// Every object of a server has metadata that a definition does not spell out.
		properties := schema["properties"].(map[string]any)
		closed(schema)
		properties["metadata"] = map[string]any{"type": "object"}
		data, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(s.custom, fmt.Sprint(definition.at("spec", "group")))
		name := strings.ToLower(fmt.Sprint(definition.at("spec", "names", "kind"))) + "_" + fmt.Sprint(version) + ".json"
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// closed forbids fields that a schema does not name, as the server prunes or refuses them.
func closed(schema any) {
	switch v := schema.(type) {
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok && v["additionalProperties"] == nil && v["x-kubernetes-preserve-unknown-fields"] != true {
			v["additionalProperties"] = false
		}
		for _, below := range v {
			closed(below)
		}
	case []any:
		for _, below := range v {
			closed(below)
		}
	}
}

// valid checks built-in kinds with kubernetes-validate, which has their schemas inside, and the others with kubeconform.
func (s *schemas) valid(t *testing.T, stream []byte) error {
	t.Helper()
	var own, custom bytes.Buffer
	for _, o := range objects(t, stream) {
		to := &own
		if group, _, ok := strings.Cut(fmt.Sprint(o["apiVersion"]), "/"); ok && strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
			to = &custom
		}
		data, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		to.WriteString("---\n")
		to.Write(data)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "all.yaml")
	if err := os.WriteFile(file, own.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := output(t.Context(), nil, nil, s.validate, "-k", kubernetesVersion, "--strict", file)
	if err != nil {
		return err
	}
	if strings.Contains(out, "WARN") {
		return fmt.Errorf("not checked: %s", out)
	}
	if custom.Len() == 0 {
		return nil
	}
	_, err = output(t.Context(), nil, custom.Bytes(), s.kubeconform, "-strict", "-schema-location", s.custom+"/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json", "-")
	return err
}

// TestPodsAreLocked checks what schemas do not know: what every pod of ours may and has.
func TestPodsAreLocked(t *testing.T) {
	all := objects(t, rendered(t, combinations["all"]...))
	pods := 0
	for _, o := range all {
		if o.kind() != "Deployment" && o.kind() != "StatefulSet" {
			continue
		}
		pods++
		pod := object(o.at("spec", "template", "spec").(map[string]any))
		container := object(pod.at("containers", 0).(map[string]any))
		for what, ok := range map[string]bool{
			"runs as a user that is not root":           pod.at("securityContext", "runAsNonRoot") == true,
			"has the default seccomp profile":           pod.at("securityContext", "seccompProfile", "type") == "RuntimeDefault",
			"has no token of the cluster":               pod.at("automountServiceAccountToken") == false,
			"takes no services for settings":            pod.at("enableServiceLinks") == false,
			"cannot gain rights":                        container.at("securityContext", "allowPrivilegeEscalation") == false,
			"writes to volumes only":                    container.at("securityContext", "readOnlyRootFilesystem") == true,
			"has no capabilities":                       fmt.Sprint(container.at("securityContext", "capabilities", "drop")) == "[ALL]",
			"has a limit of memory":                     container.at("resources", "limits", "memory") != nil,
			"has a startup probe":                       container.at("startupProbe") != nil,
			"has a liveness probe that is no readiness": container.at("livenessProbe") != nil && container.at("livenessProbe", "httpGet", "path") != "/readyz",
			"carries the labels that policies select":   o.at("spec", "template", "metadata", "labels", "app.kubernetes.io/name") == "pelmill",
		} {
			if !ok {
				t.Errorf("%s %s: it is not so that it %s", o.kind(), o.name(), what)
			}
		}
	}
	if pods != 4 {
		t.Errorf("%d kinds of pods, want scheduler, worker, intake and redis", pods)
	}
	intake := find(t, all, "Deployment", "intake")
	if intake.at("spec", "replicas") != 1 || intake.at("spec", "strategy", "type") != "Recreate" {
		t.Errorf("%v intakes with strategy %v, want one at a time", intake.at("spec", "replicas"), intake.at("spec", "strategy", "type"))
	}
	for _, name := range []string{"scheduler", "worker", "intake"} {
		env := fmt.Sprint(find(t, all, "Deployment", name).at("spec", "template", "spec", "containers", 0, "env"))
		if !strings.Contains(env, "redis://:$(REDIS_PASSWORD)@redis:6379") {
			t.Errorf("the component redis gives no password to %s: %s", name, env)
		}
	}
	worker := find(t, all, "Deployment", "worker")
	if worker.at("spec", "replicas") != nil {
		t.Error("the Deployment of workers has replicas, which would undo what scales it")
	}
	if got := worker.at("spec", "template", "spec", "containers", 0, "resources", "limits", "nvidia.com/gpu"); got != "1" {
		t.Errorf("a worker with the component gpu has %v cards, want 1", got)
	}
	// The time from a signal to the end must fit what the cluster gives.
	grace := fmt.Sprint(worker.at("spec", "template", "spec", "containers", 0, "args"))
	if !strings.Contains(grace, "--grace 150s") || worker.at("spec", "template", "spec", "terminationGracePeriodSeconds") != 180 {
		t.Errorf("worker %s with %v s", grace, worker.at("spec", "template", "spec", "terminationGracePeriodSeconds"))
	}
}
