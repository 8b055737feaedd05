package corpora_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/corpora"
	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

// runner has the limits of "make corpora".
func runner(t *testing.T) *corpora.Runner {
	t.Helper()
	python := filepath.Join(services.Root(t), ".tools", "pillow", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		services.Missing(t, "Pillow is not in .tools; make services installs it")
	}
	program, err := faults.Build(t.TempDir(), "cmd/pelmill")
	if err != nil {
		t.Fatal(err)
	}
	return &corpora.Runner{Program: program, Python: python, Batch: 50, Memory: 8 << 30, Time: 10 * time.Minute, Log: os.Stdout}
}

// TestCorpora is "make corpora": CORPORA names the folder of the projects, and EVERY=n takes one of n files.
func TestCorpora(t *testing.T) {
	folder := os.Getenv("PELMILL_CORPORA")
	if folder == "" {
		t.Skip("left out without PELMILL_CORPORA, which make corpora sets")
	}
	r := runner(t)
	r.Exceptions, r.Libraries = corpora.Exceptions, corpora.Libraries
	if s := os.Getenv("EVERY"); s != "" {
		var err error
		if r.Every, err = strconv.Atoi(s); err != nil || r.Every < 1 {
			t.Fatalf("EVERY=%q: want a number above 0", s)
		}
	}
	rows, err := r.Run(t.Context(), folder, corpora.Projects)
	corpora.Print(os.Stdout, rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		t.Fatalf("no project of the list lies in %s", folder)
	}
	for _, row := range rows {
		if n := len(row.Unexplained); n > 0 {
			t.Errorf("%s: %d findings without an explanation", row.Project.Name, n)
		}
	}
}

// What the codecs give back for images of the tree's own is what Pillow reads, and what is not is explained by an exception.
func TestImagesOfOurOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short: images through every codec against Pillow")
	}
	t.Parallel()
	r := runner(t)
	folder := t.TempDir()
	dir := filepath.Join(folder, "somebody+images", "data")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"landscape.jpg", "plasma.tiff", "rings.png", "tiles.gif", "text.png"} {
		data, err := os.ReadFile(filepath.Join(services.Root(t), "testdata", "images", name))
		if err != nil {
			t.Fatal(err)
		}
		write(name, data)
		if name == "rings.png" {
			write("cut.png", data[:len(data)/2])
		}
	}
	write("read me.txt", []byte("no image\n"))
	// Pillow spreads the values up to 100 to 255, imageio never scales those of PNM files.
	grey := []byte("P5 32 32 100\n")
	for i := range 32 * 32 {
		grey = append(grey, byte(i/32+i%32))
	}
	write("maxval.pgm", grey)
	// Pillow does not look for bytes behind a picture, and has no PAM.
	write("tail.pgm", []byte("P5 1 1 255\nxtail"))
	write("grey.pam", append([]byte("P7\nWIDTH 32\nHEIGHT 32\nDEPTH 1\nMAXVAL 127\nENDHDR\n"), grey[len(grey)-32*32:]...))

	var log strings.Builder
	r.Log = &log
	project := corpora.Project{Name: "somebody/images", Commit: "0123456789", Images: "data"}
	away := corpora.Project{Name: "nobody/nothing"}
	rows, err := r.Run(t.Context(), folder, []corpora.Project{project, away})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || rows[0].Files != 10 || rows[0].Compared != 6 || rows[0].Differed != 1 || rows[0].Judged != 9 || rows[0].Disagreed != 2 {
		t.Errorf("got %+v", rows)
	}
	for outcome, least := range map[jobs.Outcome]int{"compressed": 15, "kept": 3, "unsupported": 6, "rejected": 6} {
		if got := rows[0].Outcomes[outcome]; got < least {
			t.Errorf("%d %s, want at least %d", got, outcome, least)
		}
	}
	found := map[string]string{}
	for _, f := range rows[0].Unexplained {
		found[f.Path+" "+f.Kind] = f.Detail
	}
	if len(found) != 3 || found["maxval.pgm pixels"] == "" || found["grey.pam read"] == "" ||
		found["tail.pgm rejected"] != "pnm: 4 bytes follow the picture and are none, Pillow reads PPM as L" {
		t.Errorf("findings %q", found)
	}
	if want := "NOT TESTED: nobody/nothing is not in "; !strings.Contains(log.String(), want) {
		t.Errorf("no %q in\n%s", want, &log)
	}

	r.Codecs = []string{"jpeg2000"} // webp does not take the 7 bits
	r.Exceptions = []corpora.Exception{
		{Project: "somebody/images", Path: "max*.pgm", Kind: "pixels", Reason: "Pillow scales"},
		{Kind: "rejected", Detail: `^pnm: \d+ bytes follow the picture`, Reason: "other samples"},
		{Path: "*.pam", Kind: "read", Reason: "no PAM"},
	}
	if rows, err = r.Run(t.Context(), folder, []corpora.Project{project}); err != nil {
		t.Fatal(err)
	}
	if len(rows[0].Unexplained) != 0 || rows[0].Differed != 1 || !strings.Contains(log.String(), "(Pillow scales)") {
		t.Errorf("with an exception: %+v\n%s", rows[0], &log)
	}
	// The library of the format has the last word.
	for line, disagreed := range map[string]int{"true": 1, "false": 1, "echo no sample >&2": 0} {
		r.Libraries = map[string]string{"pnm": line}
		if rows, err = r.Run(t.Context(), folder, []corpora.Project{project}); err != nil || rows[0].Judged != 9 || rows[0].Disagreed != disagreed {
			t.Errorf("with a library that is %q: %+v, %v", line, rows, err)
		}
	}
	var table strings.Builder
	corpora.Print(&table, rows)
	if !strings.Contains(table.String(), "somebody/images  0123456  10 ") {
		t.Errorf("table\n%s", &table)
	}
}

// A file that ends the process of a batch, takes its memory or does not let it end is found, and those beside it are tried.
func TestProcessesThatEnd(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	dir := filepath.Join(folder, "images")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.good", "b.crash", "c.good", "d.memory", "e.hang", "f.failed"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "pelmill")
	if err := os.WriteFile(program, []byte(`#!/bin/sh
for f in "$2"/*; do
	case $f in
	*.crash) echo "panic: index" >&2; exit 2 ;;
	*.memory) echo "fatal error: runtime: cannot allocate memory" >&2; exit 2 ;;
	*.hang) exec sleep 60 ;;
	*.failed) echo "{\"type\":\"object\",\"key\":\"${f##*/}\",\"outcome\":\"failed\",\"class\":\"verify\"}" ;;
	*) echo "{\"type\":\"object\",\"key\":\"${f##*/}\",\"outcome\":\"rejected\"}" ;;
	esac
done
exit 3
`), 0o777); err != nil {
		t.Fatal(err)
	}
	r := &corpora.Runner{Program: program, Codecs: []string{"webp"}, Batch: 4, Memory: 1 << 30, Time: 5 * time.Second, Log: t.Output()}
	rows, err := r.Run(t.Context(), folder, []corpora.Project{{Name: "somebody/images"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range rows[0].Unexplained {
		got = append(got, fmt.Sprint(f.Path, " ", f.Kind))
	}
	if want := []string{"b.crash crash", "d.memory memory", "e.hang hang", "f.failed failed"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if n := rows[0].Outcomes["rejected"]; n != 2 {
		t.Errorf("%d files rejected, want the 2 good ones", n)
	}
}
