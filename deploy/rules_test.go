package deploy_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write generated files")

// TestMonitoringHasTheRulesOfPrometheus holds the PrometheusRule to deploy/prometheus/rules.yaml, where rules are written
// and tested. -update makes it anew.
func TestMonitoringHasTheRulesOfPrometheus(t *testing.T) {
	const path = "kubernetes/components/monitoring/rules.yaml"
	rules, err := os.ReadFile("prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var groups yaml.Node
	if err := yaml.Unmarshal(rules, &groups); err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	want.WriteString("# Code generated from deploy/prometheus/rules.yaml by go test ./deploy -update. DO NOT EDIT.\n")
	enc := yaml.NewEncoder(&want)
	enc.SetIndent(2)
	type metadata struct {
		Name string `yaml:"name"`
	}
	err = enc.Encode(struct {
		APIVersion string     `yaml:"apiVersion"`
		Kind       string     `yaml:"kind"`
		Metadata   metadata   `yaml:"metadata"`
		Spec       *yaml.Node `yaml:"spec"`
	}{"monitoring.coreos.com/v1", "PrometheusRule", metadata{"pelmill"}, groups.Content[0]})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what deploy/prometheus/rules.yaml says; go test ./deploy -run Rules -update makes it", path)
	}
}
