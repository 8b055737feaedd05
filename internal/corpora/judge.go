package corpora

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// Libraries are commands that show a file by the library of its format and say on the standard error what it warns of. They
// are asked where imageio and Pillow do not agree; a format whose program is not there has Pillow's word alone.
var Libraries = map[string]string{
	"bmp":      `bmptopnm -quiet "$1" >&3`,
	"gif":      `gifbuild -d "$1" >&3`,
	"jpeg":     `djpeg "$1" >&3 || test $? -eq 2`,
	"jpeg2000": `opj_decompress -quiet -i "$1" -o "$2.pgx" >&3`,
	"png":      `pngtopam "$1" >&3`,
	"pnm":      `pamtopng "$1" >&3`,
	"tiff":     `tiff2rgba -c none "$1" "$2.tif" || tiffcp -c none "$1" "$2.tif"`,
	"webp":     `dwebp -quiet "$1" -o "$2.png"`,
}

// note keeps what a codec's record says of how imageio took the file. A codec that does not take its kind of picture says
// nothing of that.
func (f *file) note(result *jobs.Result) {
	if reason, ok := strings.CutPrefix(result.Error, "imageio: "); ok {
		f.outcome, f.reason = result.Outcome, reason
	}
	if result.SourceFormat != "" && result.PixelHash != "" {
		f.format = result.SourceFormat
	}
}

// judge compares what became of files with what Pillow does with them, and where that is not the same, with what the
// library of the format does: whether a file that no codec was given is one that they show without a warning, and whether one
// that codecs were given is one that both refuse.
func (x *run) judge(ctx context.Context, files []*file) error {
	var pairs []pair
	for _, f := range files {
		switch {
		case f.format == "dicom" || f.format == "nii": // Pillow has no decoder for them
		case f.format != "" || f.outcome != "":
			pairs = append(pairs, pair{file: f, codec: "imageio", Source: f.name})
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	answers, err := x.compare(ctx, pairs)
	if err != nil {
		return err
	}
	for i, p := range pairs {
		f, said := p.file, answers[i]
		format, _, _ := strings.Cut(f.reason, ": ")
		if said.Result == "none" || said.Result == "refuses" && format == "file" {
			continue // a format that both do not have
		}
		x.row.Judged++
		switch {
		case f.format == "" && said.Result == "reads":
			if f.outcome == jobs.OutcomeRejected {
				if library := x.library(ctx, format, f.name); library != "" && library != "shows" {
					continue
				}
			}
			x.row.Disagreed++
			x.find(f, p.codec, string(f.outcome), "%s, Pillow reads %s", f.reason, said.Detail)
		case f.format != "" && said.Result == "refuses":
			if library := x.library(ctx, f.format, f.name); library == "shows" || library == "warns" {
				continue
			}
			x.row.Disagreed++
			x.find(f, p.codec, "read", "%s, Pillow refuses it: %s", f.format, said.Detail)
		}
	}
	return nil
}

// library says whether the library of a format shows a file, warns or refuses it; empty: its program is not there.
func (x *run) library(ctx context.Context, format, name string) string {
	line := x.Libraries[format]
	if program, _, _ := strings.Cut(line, " "); program == "" {
		return ""
	} else if _, err := exec.LookPath(program); err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	script := fmt.Sprintf(`out=$(mktemp -d) && { %s; } 3>/dev/null; code=$?; rm -r "$out"; exit $code`, strings.ReplaceAll(line, "$2", "$out/shown"))
	warnings, err := x.limited(ctx, "sh", "-c", script, "sh", name).CombinedOutput()
	switch {
	case err != nil:
		return "refuses"
	case len(warnings) > 0:
		return "warns"
	}
	return "shows"
}
