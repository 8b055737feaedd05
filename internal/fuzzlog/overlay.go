package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
)

const loopPackage = "github.com/pelmill/pelmill/internal/fuzzloop"

// overlay writes the files of a package's tests that have fuzz targets into dir, with fuzzloop.Run(f, target) in place of
// f.Fuzz(target), and overlay.json, which has the compiler read them.
func overlay(pkg, dir string) error {
	out, err := testFiles(pkg)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	// A module of its own is no part of ./... here.
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module overlay\n"), 0o666); err != nil {
		return err
	}
	replace := map[string]string{}
	for line := range bytes.Lines(out) {
		_, file, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if !ok {
			continue // between packages
		}
		path := string(file)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		looped, n, err := loopTargets(path, data)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		to, err := filepath.Abs(filepath.Join(dir, strconv.Itoa(len(replace))+"_"+filepath.Base(path)))
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, looped, 0o666); err != nil {
			return err
		}
		replace[path] = to
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "overlay.json"), data, 0o666)
}

// loopTargets replaces the calls of f.Fuzz in a file, where f is the parameter of a fuzz target. Lines keep their numbers.
func loopTargets(path string, data []byte) (looped []byte, n int, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, data, parser.SkipObjectResolution)
	if err != nil {
		return nil, 0, err
	}
	at := func(p token.Pos) int { return files.Position(p).Offset }
	rest := at(file.Name.End())
	looped = append(looped, data[:rest]...)
	looped = append(looped, "; import fuzzloop "+strconv.Quote(loopPackage)...)
	for _, d := range file.Decls {
		target, ok := d.(*ast.FuncDecl)
		if !ok || target.Recv != nil || !declares.MatchString("func "+target.Name.Name+"(") || len(target.Type.Params.List) != 1 || len(target.Type.Params.List[0].Names) != 1 {
			continue
		}
		f := target.Type.Params.List[0].Names[0].Name
		ast.Inspect(target.Body, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			fuzz, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || fuzz.Sel.Name != "Fuzz" || len(call.Args) != 1 {
				return true
			}
			if on, ok := fuzz.X.(*ast.Ident); ok && on.Name == f {
				looped = append(looped, data[rest:at(call.Pos())]...)
				looped = append(looped, "fuzzloop.Run("+f+", "...)
				rest = at(call.Lparen) + 1
				n++
			}
			return true
		})
	}
	return append(looped, data[rest:]...), n, nil
}
