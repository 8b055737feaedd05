package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestLicencesOfAModule(t *testing.T) {
	apache, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	mit := "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files " +
		`(the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, ` +
		"distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the " +
		"following conditions:\n\nThe above copyright notice and this permission notice shall be included in all copies or substantial portions of the " +
		`Software.` + "\n\n" + `THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF ` +
		"MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, " +
		"DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE " +
		"OR OTHER DEALINGS IN THE SOFTWARE.\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
		fails bool
	}{
		{"none", map[string]string{"README.md": "nothing"}, nil, true},
		{"one", map[string]string{"LICENSE": string(apache)}, []string{"Apache-2.0"}, false},
		{"two files", map[string]string{"LICENSE": string(apache), "COPYING.txt": mit}, []string{"Apache-2.0", "MIT"}, false},
		{"words of its own", map[string]string{"LICENSE": "Ask me first."}, nil, true},
	} {
		module := fstest.MapFS{}
		for name, text := range tt.files {
			module[name] = &fstest.MapFile{Data: []byte(text)}
		}
		got, err := licencesIn(module)
		if err != nil || !slices.Equal(got, tt.want) || (check(got) != nil) != tt.fails {
			t.Errorf("%s: %q (%v), want %q", tt.name, got, err, tt.want)
		}
	}
	if err := check([]string{"AGPL-3.0"}); err == nil || !strings.Contains(err.Error(), "AGPL-3.0") {
		t.Errorf("a licence that was not agreed to: %v", err)
	}
}

func TestABillNamesEachModule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bin", "bill.json")
	if err := run("", ".", file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		BOMFormat  string `json:"bomFormat"`
		Components []struct {
			Name, Version string
			Purl          string
			Licenses      []struct{ License struct{ ID string } }
			Hashes        []struct{ Content string }
		}
	}
	if err := json.Unmarshal(data, &bill); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"std": "BSD-3-Clause", "github.com/CycloneDX/cyclonedx-go": "Apache-2.0", "github.com/google/licensecheck": "BSD-3-Clause"}
	for _, c := range bill.Components {
		if id, ok := want[c.Name]; ok && len(c.Licenses) > 0 && c.Licenses[0].License.ID == id && strings.HasPrefix(c.Purl, "pkg:golang/"+c.Name+"@") && (c.Name == "std" || len(c.Hashes) == 1) {
			delete(want, c.Name)
		}
	}
	if bill.BOMFormat != "CycloneDX" || len(want) > 0 {
		t.Errorf("%q are not in it as they should:\n%s", want, data)
	}
	if err := run("", "./none", file); err == nil {
		t.Error("a program that is not there has a bill")
	}
}
