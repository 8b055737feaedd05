package corpora

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
)

// Runner sends files of projects through codecs.
type Runner struct {
	Program    string        // pelmill
	Python     string        // that has Pillow
	Codecs     []string      // names; nil: all
	Every      int           // take one of so many files; 0: all
	Batch      int           // files of a process
	Memory     int64         // bytes of address space of a process
	Time       time.Duration // of a process
	Exceptions []Exception
	Libraries  map[string]string // see [Libraries]
	Log        io.Writer         // of findings and of projects that are not there
}

// Finding is something that should not be.
type Finding struct {
	Project, Path string
	Codec         string // that was first to show it
	Kind          string // see the package comment
	Detail        string
}

// Row is what became of a project's files.
type Row struct {
	Project     Project
	Files       int
	Outcomes    map[jobs.Outcome]int // over all codecs
	Compared    int                  // files that Pillow had a reference for
	Differed    int                  // of them
	Judged      int                  // files whose outcome was compared with what Pillow does with them
	Disagreed   int                  // of them
	Unexplained []Finding
}

// file is one of a project.
type file struct {
	path   string // below the project's images
	name   string // on this machine
	hash   string // of the source's samples
	pixels bool   // what a lossless codec gave back was compared

	format  string       // as imageio calls it, where a codec was given its samples
	outcome jobs.Outcome // where imageio did not read it
	reason  string       // why it did not
}

// Run sends the files of all projects that lie in folder through the codecs.
func (r *Runner) Run(ctx context.Context, folder string, projects []Project) ([]Row, error) {
	var rows []Row
	for _, p := range projects {
		dir, ok := p.dir(folder)
		if !ok {
			fmt.Fprintf(r.Log, "NOT TESTED: %s is not in %s\n", p.Name, folder)
			continue
		}
		row, err := r.project(ctx, p, dir)
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Print writes the table.
func Print(w io.Writer, rows []Row) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	outcomes := []jobs.Outcome{jobs.OutcomeCompressed, jobs.OutcomeKept, jobs.OutcomeUnsupported, jobs.OutcomeRejected, jobs.OutcomeFailed}
	fmt.Fprint(tw, "project\tcommit\tfiles")
	for _, o := range outcomes {
		fmt.Fprintf(tw, "\t%s", o)
	}
	fmt.Fprintln(tw, "\tcompared\tdiffered\tjudged\tdisagreed\tunexplained")
	for _, row := range rows {
		fmt.Fprintf(tw, "%s\t%.7s\t%d", row.Project.Name, row.Project.Commit+"-", row.Files)
		for _, o := range outcomes {
			fmt.Fprintf(tw, "\t%d", row.Outcomes[o])
		}
		fmt.Fprintf(tw, "\t%d\t%d\t%d\t%d\t%d\n", row.Compared, row.Differed, row.Judged, row.Disagreed, len(row.Unexplained))
	}
	tw.Flush()
}

// run is one of a project's.
type run struct {
	*Runner
	row      *Row
	compared map[*file]bool // true: it differed
	found    map[Finding]bool
}

func (r *Runner) project(ctx context.Context, p Project, dir string) (Row, error) {
	files, err := r.files(dir)
	if err != nil {
		return Row{}, err
	}
	row := Row{Project: p, Files: len(files), Outcomes: map[jobs.Outcome]int{}}
	x := &run{r, &row, map[*file]bool{}, map[Finding]bool{}}
	for part := range slices.Chunk(files, r.Batch) {
		for _, c := range codecs.All() {
			info := c.Info()
			if r.Codecs != nil && !slices.Contains(r.Codecs, info.Name) {
				continue
			}
			if err := x.batch(ctx, info.Name, info.Lossless, part); err != nil {
				return row, err
			}
		}
		if err := x.kept(ctx, part); err != nil {
			return row, err
		}
		if err := x.judge(ctx, part); err != nil {
			return row, err
		}
	}
	row.Compared = len(x.compared)
	for _, differed := range x.compared {
		if differed {
			row.Differed++
		}
	}
	return row, nil
}

// files lists one of Every regular file below dir, in the order of their paths.
func (r *Runner) files(dir string) (files []*file, err error) {
	n := 0
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if n++; (n-1)%max(1, r.Every) == 0 {
			rel, _ := filepath.Rel(dir, name)
			files = append(files, &file{path: filepath.ToSlash(rel), name: name})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("corpora: %w", err)
	}
	return files, nil
}

// find notes a finding once: its detail counts, the codec that showed it does not.
func (x *run) find(f *file, codec, kind, format string, args ...any) {
	one := Finding{Project: x.row.Project.Name, Path: f.path, Kind: kind, Detail: fmt.Sprintf(format, args...)}
	if x.found[one] {
		return
	}
	x.found[one] = true
	one.Codec = codec
	known := one.reason(x.Exceptions)
	if known == "" {
		x.row.Unexplained = append(x.row.Unexplained, one)
		known = "UNEXPLAINED"
	}
	fmt.Fprintf(x.Log, "%s %s: %s: %s: %s (%s)\n", one.Project, one.Path, codec, kind, one.Detail, known)
}

// batch compresses and decompresses files by a codec. When a process does not end as it should, it divides them.
func (x *run) batch(ctx context.Context, codec string, lossless bool, files []*file) error {
	temp, err := os.MkdirTemp("", "pelmill-corpora-")
	if err != nil {
		return fmt.Errorf("corpora: %w", err)
	}
	defer os.RemoveAll(temp)
	src, dst, back := filepath.Join(temp, "src"), filepath.Join(temp, "dst"), filepath.Join(temp, "back")
	if err := os.Mkdir(src, 0o777); err != nil {
		return fmt.Errorf("corpora: %w", err)
	}
	for i, f := range files {
		data, err := os.ReadFile(f.name)
		if err == nil {
			err = os.WriteFile(filepath.Join(src, fmt.Sprintf("%05d%s", i, strings.ToLower(filepath.Ext(f.name)))), data, 0o666)
		}
		if err != nil {
			return fmt.Errorf("corpora: %w", err)
		}
	}
	results, trouble, err := x.pelmill(ctx, len(files), "compress", src, dst, "--codec", codec, "--verify", "full", "--fail-ratio", "1", "--device", "cpu")
	if err != nil {
		return err
	}
	written := slices.ContainsFunc(results, func(r *jobs.Result) bool { return r != nil && r.Outcome == jobs.OutcomeCompressed })
	var decoded []*jobs.Result
	if trouble == nil && written {
		if decoded, trouble, err = x.pelmill(ctx, len(files), "decompress", dst, back, "--device", "cpu"); err != nil {
			return err
		}
	}
	if trouble != nil && len(files) > 1 {
		half := len(files) / 2
		return errors.Join(x.batch(ctx, codec, lossless, files[:half]), x.batch(ctx, codec, lossless, files[half:]))
	}
	if trouble != nil {
		x.find(files[0], codec, trouble.kind, "%s", trouble.detail)
		return nil
	}
	var pairs []pair
	for i, f := range files {
		result := results[i]
		if result == nil {
			x.find(f, codec, "crash", "no outcome")
			continue
		}
		x.row.Outcomes[result.Outcome]++
		f.note(result)
		if result.Outcome == jobs.OutcomeFailed {
			x.find(f, codec, "failed", "%s: %s", result.Class, result.Error)
		}
		if lossless && result.PixelHash != "" && result.Exact == "" {
			if f.hash == "" {
				f.hash = result.PixelHash
			} else if f.hash != result.PixelHash {
				x.find(f, codec, "hash", "%s, an earlier codec had %s", result.PixelHash, f.hash)
			}
		}
		if result.Outcome != jobs.OutcomeCompressed {
			continue
		}
		if decoded[i] == nil || decoded[i].Outcome != jobs.OutcomeCompressed {
			x.find(f, codec, "decompress", "%s", describe(decoded[i]))
			continue
		}
		name := filepath.Join(back, decoded[i].Target)
		if result.Exact == "jpeg" {
			if same, err := equal(f.name, name); err != nil || !same {
				x.find(f, codec, "bytes", "another file came back: %v", err)
			}
		} else if lossless && filepath.Ext(name) != ".nii" { // Pillow does not read NIfTI; kept has these in another format
			pairs = append(pairs, pair{f, codec, f.name, name})
		}
	}
	return x.pixels(ctx, pairs)
}

// kept compares the pictures that no lossless codec has given back in a format that Pillow reads.
func (x *run) kept(ctx context.Context, files []*file) error {
	temp, err := os.MkdirTemp("", "pelmill-corpora-")
	if err != nil {
		return fmt.Errorf("corpora: %w", err)
	}
	defer os.RemoveAll(temp)
	var pairs []pair
	for i, f := range files {
		if f.pixels || f.hash == "" {
			continue
		}
		data, err := os.ReadFile(f.name)
		if err != nil {
			return fmt.Errorf("corpora: %w", err)
		}
		m, err := imageio.Decode(data, nil)
		if err != nil || m.Hash() != f.hash {
			x.find(f, "imageio", "hash", "not what codecs were given: %v", err)
			continue
		}
		format := imageio.FormatFor(m)
		if format == "nii" {
			format = "tiff"
		}
		if data, err = imageio.Encode(m, format); err != nil {
			x.find(f, "imageio", "decompress", "%v", err)
			continue
		}
		name := filepath.Join(temp, strconv.Itoa(i)+"."+format)
		if err := os.WriteFile(name, data, 0o666); err != nil {
			return fmt.Errorf("corpora: %w", err)
		}
		pairs = append(pairs, pair{f, "imageio", f.name, name})
	}
	return x.pixels(ctx, pairs)
}

// pixels compares what came back with what Pillow reads from the sources.
func (x *run) pixels(ctx context.Context, pairs []pair) error {
	if len(pairs) == 0 {
		return nil
	}
	answers, err := x.compare(ctx, pairs)
	if err != nil {
		return err
	}
	for i, p := range pairs {
		p.file.pixels = true
		if answers[i].Result == "none" {
			continue
		}
		differs := answers[i].Result == "differs"
		x.compared[p.file] = x.compared[p.file] || differs
		if differs {
			x.find(p.file, p.codec, "pixels", "%s", answers[i].Detail)
		}
	}
	return nil
}

// trouble is an end of a process that is none of the documented ones.
type trouble struct{ kind, detail string }

// pelmill runs a command on a folder of n files, whose keys begin with their numbers, and returns what it says of each.
func (r *Runner) pelmill(ctx context.Context, n int, args ...string) ([]*jobs.Result, *trouble, error) {
	limit, cancel := context.WithTimeout(ctx, r.Time)
	defer cancel()
	cmd := r.limited(limit, r.Program, append(args, "--json", "--show-keys", "-v", "--memory", strconv.FormatInt(r.Memory/4, 10))...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if _, ended := err.(*exec.ExitError); err != nil && !ended && limit.Err() == nil {
		return nil, nil, fmt.Errorf("corpora: %w", err)
	}
	code := cmd.ProcessState.ExitCode()
	switch text := stderr.String(); {
	case limit.Err() != nil:
		return nil, &trouble{"hang", fmt.Sprintf("%s does not end within %v", args[0], r.Time)}, nil
	case strings.Contains(text, "out of memory") || strings.Contains(text, "cannot allocate memory"):
		return nil, &trouble{"memory", fmt.Sprintf("%s: %s", args[0], fatal(text))}, nil
	case code != 0 && code != 3 && code != 4 && code != 5: // all well, some not done, nothing to do, a result that is not its image
		return nil, &trouble{"crash", fmt.Sprintf("%s: exit code %d: %s", args[0], code, fatal(text))}, nil
	}
	results, err := outcomes(&stdout, n)
	if err != nil {
		return nil, nil, fmt.Errorf("corpora: output of %s: %w", args[0], err)
	}
	return results, nil, nil
}

// outcomes reads what a command says of n objects. Its other events have fields of the same names and other types.
func outcomes(in io.Reader, n int) ([]*jobs.Result, error) {
	results := make([]*jobs.Result, n)
	for dec := json.NewDecoder(in); ; {
		var event json.RawMessage
		if err := dec.Decode(&event); err == io.EOF {
			return results, nil
		} else if err != nil {
			return nil, err
		}
		var kind struct{ Type, Key string }
		if err := json.Unmarshal(event, &kind); err != nil {
			return nil, err
		}
		number, _, _ := strings.Cut(kind.Key, ".")
		i, err := strconv.Atoi(number)
		if kind.Type != "object" || err != nil || i < 0 || i >= n {
			continue
		}
		results[i] = &jobs.Result{}
		if err := json.Unmarshal(event, results[i]); err != nil {
			return nil, err
		}
	}
}

// limited is a command whose address space is limited, by the shell, so that no other process is.
func (r *Runner) limited(ctx context.Context, name string, args ...string) *exec.Cmd {
	script := fmt.Sprintf(`ulimit -v %d && exec "$0" "$@"`, r.Memory>>10)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, name}, args...)...)
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// fatal is the line of a process's last words that says why, or the last one.
func fatal(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return line
		}
	}
	return lines[len(lines)-1]
}

func describe(r *jobs.Result) string {
	if r == nil {
		return "no outcome"
	}
	return fmt.Sprintf("%s: %s: %s", r.Outcome, r.Class, r.Error)
}

func equal(a, b string) (bool, error) {
	x, err := os.ReadFile(a)
	if err != nil {
		return false, err
	}
	y, err := os.ReadFile(b)
	return bytes.Equal(x, y), err
}
