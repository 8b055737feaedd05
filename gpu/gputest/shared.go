package gputest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/pelmill/pelmill/gpu"
)

// Header is what the Go code of a package and its kernels share. The Go side is the
// truth, of which the CUDA side is made.
type Header struct {
	Include   string // header with the fixed-size types: base.cuh of gpu/include
	Constants []Constant
	Structs   []Struct
}

// Constant is a number of Go under its name in CUDA.
type Constant struct {
	Name  string
	Value any    // an integer; int becomes uint32_t
	Note  string // what it is; may be empty
}

// Struct is a struct of Go under its name in CUDA. Fields are fixed-size integers, arrays
// of them, other shared structs, whose tag has their name in CUDA, and [gpu.Ptr], whose
// tag says what it points to: `cuda:"const uint8_t"`. They
// get their names in lower case with underscores, and the comments of the Go source.
type Struct struct {
	Name  string
	Value any
}

// Shared checks the CUDA header in a file of the test's folder: it must be what is made
// of h and of the Go sources in that folder. With PELMILL_KERNELS=write in the
// environment it writes the file instead; "make kernels" does. It is to be called before
// [Kernels] is for sources that include the file.
func Shared(t *testing.T, file string, h Header) {
	t.Helper()
	notes, err := fieldNotes(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	made, err := h.text(notes)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("PELMILL_KERNELS") == "write" {
		if err := os.WriteFile(file, made, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, made) {
		if err := os.WriteFile(file+".got", made, 0o666); err != nil {
			t.Log(err)
		}
		t.Fatalf("%s is not what Go's structs and constants make (now in %s.got); run make kernels", file, file)
	}
}

// note is the comment on a field and the one above its type.
type note struct{ structDoc, field string }

// fieldNotes reads the comments on structs and their fields, by "type.field", in the Go
// files of a folder without tests.
func fieldNotes(dir string) (map[string]note, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	notes := make(map[string]note)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("gputest: comments of shared structs: %w", err)
		}
		docs := make(map[*ast.TypeSpec]string)
		ast.Inspect(file, func(n ast.Node) bool {
			if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				for _, spec := range d.Specs {
					docs[spec.(*ast.TypeSpec)] = spec.(*ast.TypeSpec).Doc.Text()
				}
				if !d.Lparen.IsValid() {
					docs[d.Specs[0].(*ast.TypeSpec)] = d.Doc.Text()
				}
			}
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			list, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range list.Fields.List {
				text := strings.TrimSpace(f.Doc.Text() + f.Comment.Text())
				for i, id := range f.Names {
					if i > 0 {
						text = ""
					}
					notes[spec.Name.Name+"."+id.Name] = note{strings.TrimSpace(docs[spec]), strings.ReplaceAll(text, "\n", " ")}
				}
			}
			return true
		})
	}
	return notes, nil
}

func (h *Header) text(notes map[string]note) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated from Go structs and constants by make kernels. DO NOT EDIT.\n#pragma once\n\n#include %q\n", h.Include)
	for i, c := range h.Constants {
		if i == 0 {
			b.WriteString("\n")
		}
		t := reflect.TypeOf(c.Value)
		name := scalars[t.Kind()]
		if t.Kind() == reflect.Int {
			name = "uint32_t"
		}
		if name == "" {
			return nil, fmt.Errorf("gputest: constant %s is a %v", c.Name, t)
		}
		fmt.Fprintf(&b, "constexpr %s %s = %d;", name, c.Name, c.Value)
		if c.Note != "" {
			fmt.Fprintf(&b, " // %s", c.Note)
		}
		b.WriteString("\n")
	}
	for _, s := range h.Structs {
		if err := s.write(&b, notes); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func (s *Struct) write(b *bytes.Buffer, notes map[string]note) error {
	t := reflect.TypeOf(s.Value)
	if t == nil || t.Kind() != reflect.Struct {
		return fmt.Errorf("gputest: shared struct %s is %v", s.Name, t)
	}
	b.WriteString("\n")
	if t.NumField() > 0 {
		if doc := notes[t.Name()+"."+t.Field(0).Name].structDoc; doc != "" {
			if rest, ok := strings.CutPrefix(doc, t.Name()+" "); ok {
				doc = s.Name + " " + rest
			}
			fmt.Fprintf(b, "// %s\n", strings.ReplaceAll(doc, "\n", "\n// "))
		}
	}
	fmt.Fprintf(b, "struct %s {\n", s.Name)
	end := uintptr(0)
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Offset != end {
			return fmt.Errorf("gputest: shared struct %s: %d bytes of room before %s; name them as a field", s.Name, f.Offset-end, f.Name)
		}
		end += f.Type.Size()
		declared, err := declaration(f)
		if err != nil {
			return fmt.Errorf("gputest: shared struct %s: field %s: %w", s.Name, f.Name, err)
		}
		fmt.Fprintf(b, "\t%s;", declared)
		if n := notes[t.Name()+"."+f.Name].field; n != "" {
			fmt.Fprintf(b, " // %s", n)
		}
		b.WriteString("\n")
	}
	if end != t.Size() {
		return fmt.Errorf("gputest: shared struct %s: %d bytes of room at the end; name them as a field", s.Name, t.Size()-end)
	}
	fmt.Fprintf(b, "};\nstatic_assert(sizeof(%s) == %d, \"%s\");\n", s.Name, t.Size(), s.Name)
	for i := range t.NumField() {
		f := t.Field(i)
		fmt.Fprintf(b, "static_assert(__builtin_offsetof(%s, %s) == %d, \"%s\");\n", s.Name, underscored(f.Name), f.Offset, f.Name)
	}
	return nil
}

var scalars = map[reflect.Kind]string{
	reflect.Int8: "int8_t", reflect.Int16: "int16_t", reflect.Int32: "int32_t", reflect.Int64: "int64_t",
	reflect.Uint8: "uint8_t", reflect.Uint16: "uint16_t", reflect.Uint32: "uint32_t", reflect.Uint64: "uint64_t",
}

// declaration is a field as C++ declares it.
func declaration(f reflect.StructField) (string, error) {
	name, tag, t := underscored(f.Name), f.Tag.Get("cuda"), f.Type
	if t == reflect.TypeFor[gpu.Ptr]() {
		if tag == "" {
			return "", fmt.Errorf("a pointer needs a tag with what it points to")
		}
		return tag + " *" + name, nil
	}
	if t.Kind() == reflect.Struct && tag != "" {
		return tag + " " + name, nil
	}
	if t.Kind() == reflect.Array {
		if scalar := scalars[t.Elem().Kind()]; scalar != "" {
			return fmt.Sprintf("%s %s[%d]", scalar, name, t.Len()), nil
		}
		if t.Elem().Kind() == reflect.Struct && tag != "" {
			return fmt.Sprintf("%s %s[%d]", tag, name, t.Len()), nil
		}
	}
	if scalar := scalars[t.Kind()]; scalar != "" {
		return scalar + " " + name, nil
	}
	return "", fmt.Errorf("a %s is not shared", t)
}

// underscored is the name of a field in CUDA: CacheBits is cache_bits.
func underscored(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
