// Generate writes the data dictionary of package dicom (PS3.6, chapters 6 to 9) as Go. Its input is the
// dictionary of pydicom, the file pydicom/_dicom_dict.py, which pydicom makes from the DocBook
// text of PS3.6. To make it anew:
//
//	pip download --no-deps pydicom==3.0.2 && unzip -p pydicom-*.whl pydicom/_dicom_dict.py >dict.py
//	go run ./internal/container/dicom/generate dict.py internal/container/dicom/dictionary_table.go
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"log"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// line is an entry of the input: the tag, its value representations and its keyword. A tag of
// a repeating group has "xx" for the digits that vary.
var line = regexp.MustCompile(`^\s+(?:0x([0-9A-F]{8})|'([0-9A-Fx]{8})'): \('([A-Za-z ]*)', '[^']*', (?:"[^"]*"|'[^']*'), '[^']*', '([^']*)'\)`)

type entry struct {
	tag, mask   uint32
	vr, keyword string
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: generate DICT.PY OUT.GO")
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var single, repeating []entry
	for _, l := range strings.Split(string(text), "\n") {
		m := line.FindStringSubmatch(l)
		if m == nil || m[3] == "NONE" || strings.HasPrefix(m[1], "FFFE") {
			continue
		}
		e := entry{mask: 0xffffffff, vr: m[3], keyword: m[4]}
		digits := m[1]
		if m[2] != "" {
			digits, e.mask = strings.ReplaceAll(m[2], "x", "0"), 0
			for _, d := range m[2] {
				e.mask <<= 4
				if d != 'x' {
					e.mask |= 15
				}
			}
		}
		v, err := strconv.ParseUint(digits, 16, 32)
		if err != nil {
			log.Fatal(err)
		}
		if e.tag = uint32(v); m[2] != "" {
			repeating = append(repeating, e)
		} else {
			single = append(single, e)
		}
	}
	if len(single) < 5000 || len(repeating) < 50 {
		log.Fatalf("%d and %d entries: the input is not the dictionary", len(single), len(repeating))
	}
	sort.Slice(single, func(i, j int) bool { return single[i].tag < single[j].tag })
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated from PS3.6 by internal/container/dicom/generate. DO NOT EDIT.\n\npackage dicom\n\n")
	fmt.Fprintf(&b, "// dictionary has the elements of PS3.6 in the order of their tags.\nvar dictionary = [...]definition{\n")
	for _, e := range single {
		fmt.Fprintf(&b, "{0x%08x, %q, %q},\n", e.tag, short(e.vr), e.keyword)
	}
	fmt.Fprintf(&b, "}\n\n// repeating has those of repeating groups: the digits of a tag that count, then as above.\nvar repeating = [...]struct {\n\tmask uint32\n\tdefinition\n}{\n")
	for _, e := range repeating {
		fmt.Fprintf(&b, "{0x%08x, definition{0x%08x, %q, %q}},\n", e.mask, e.tag, short(e.vr), e.keyword)
	}
	fmt.Fprint(&b, "}\n")
	out, err := format.Source(b.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], out, 0o644); err != nil {
		log.Fatal(err)
	}
}

// short writes "US or SS" as "US|SS".
func short(vr string) string { return strings.ReplaceAll(vr, " or ", "|") }
