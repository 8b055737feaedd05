// Command sbom writes what a program is made of as a bill of materials: a JSON file of CycloneDX with each module, its
// version, its checksum and its licences. It ends with code 1 when a module has no licence, or one that this project
// has not agreed to. TAGS are those of the build, for instance cuda.
//
//	go run ./internal/sbom TAGS PACKAGE FILE
package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom TAGS PACKAGE FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// agreed are the licences under which modules may come into the program: all of them let it be given on with its source or
// without.
var agreed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense", "Zlib"}

func run(tags, program, file string) error {
	modules, err := modulesOf(tags, program)
	if err != nil {
		return err
	}
	var faults []error
	version := strings.TrimPrefix(runtime.Version(), "go")
	components := []cdx.Component{{BOMRef: "std", Type: cdx.ComponentTypeLibrary, Name: "std", Version: version,
		PackageURL: "pkg:golang/std@" + version, Licenses: licences([]string{"BSD-3-Clause"})}}
	for _, m := range modules {
		ids, err := licencesIn(os.DirFS(m.Dir))
		if err == nil {
			err = check(ids)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s %s: %w", m.Path, m.Version, err))
		}
		components = append(components, component(m, ids))
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{BOMRef: program, Type: cdx.ComponentTypeApplication, Name: program, Licenses: licences([]string{"Apache-2.0"})}}
	bom.Components = &components
	var text bytes.Buffer
	if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(file, text.Bytes(), 0o666); err != nil {
		return err
	}
	return errors.Join(faults...)
}

// module is what go list says of one.
type module struct {
	Path, Version, Dir, Sum string
	Main                    bool
	Replace                 *module
}

// modulesOf are those of all packages that a program is made of, by path, without its own.
func modulesOf(tags, program string) ([]module, error) {
	cmd := exec.Command("go", "list", "-tags", tags, "-deps", "-json=Module", program)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // files that need C are read, not compiled
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", program, err)
	}
	found := map[string]module{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list %s: %w", program, err)
		}
		if m := p.Module; m != nil && !m.Main {
			found[m.Path] = *cmp.Or(m.Replace, m)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b module) int { return cmp.Compare(a.Path, b.Path) }), nil
}

// component is the entry of a module. Its checksum is that of go.sum: a SHA-256 over the SHA-256 of its files.
func component(m module, ids []string) cdx.Component {
	c := cdx.Component{BOMRef: m.Path, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version,
		PackageURL: "pkg:golang/" + m.Path + "@" + m.Version, Licenses: licences(ids)}
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	return c
}

func licences(ids []string) *cdx.Licenses {
	var list cdx.Licenses
	for _, id := range ids {
		list = append(list, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	return &list
}

// licencesIn are those whose texts lie at the top of a module, by their SPDX names.
func licencesIn(module fs.FS) (ids []string, err error) {
	files, err := fs.ReadDir(module, ".")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		name := strings.ToUpper(strings.TrimSuffix(f.Name(), filepath.Ext(f.Name())))
		if f.IsDir() || !slices.Contains([]string{"LICENSE", "LICENCE", "UNLICENSE", "COPYING"}, name) {
			continue
		}
		text, err := fs.ReadFile(module, f.Name())
		if err != nil {
			return nil, err
		}
		for _, match := range licensecheck.Scan(text).Match {
			if !match.IsURL {
				ids = append(ids, match.ID)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func check(ids []string) error {
	if len(ids) == 0 {
		return errors.New("no licence that is known lies in it")
	}
	for _, id := range ids {
		if !slices.Contains(agreed, id) {
			return fmt.Errorf("its licence %s is none of %s", id, strings.Join(agreed, ", "))
		}
	}
	return nil
}
