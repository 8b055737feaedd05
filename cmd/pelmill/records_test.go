package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// earlierRecords copies what a build of commit be22827 wrote: a source, a target of an
// ended job and one of a job that was killed when it was planned.
func earlierRecords(t *testing.T) (source, target, planned string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "records"))); err != nil {
		t.Fatal(err)
	}
	source, target, planned = filepath.Join(dir, "source"), filepath.Join(dir, "target"), filepath.Join(dir, "planned")
	places := strings.NewReplacer("file:///RECORDS", "file://"+filepath.ToSlash(dir), "file:///PLANNED", "file://"+filepath.ToSlash(planned))
	listed := time.Unix(1790000000, 0) // with the size it is the etag of a file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case strings.HasPrefix(path, source):
			return os.Chtimes(path, listed, listed)
		case filepath.Ext(path) != ".json":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(places.Replace(string(text))), 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
	return source, target, planned
}

// run is a command's stdout and exit code.
func run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(pelmill(t), args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if errs.Len() > 0 {
		t.Logf("pelmill %s: %s", strings.Join(args, " "), errs.String())
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// What an earlier build recorded is proven, found done, and retried by this one, also
// where its results have names that this build would not give.
func TestRecordsOfAnEarlierBuild(t *testing.T) {
	source, target, _ := earlierRecords(t)
	if out, code := run(t, "verify", target, "--json"); code != 0 || !strings.Contains(out, `"good":5`) {
		t.Errorf("verify: code %d\n%s", code, out)
	}
	out, code := run(t, "compress", source, target, "--codec", "webp", "--json")
	if s := summaryOf(t, out); code != exitFailures || s.Skipped != 6 || s.Rejected != 1 || s.Objects != 7 {
		t.Errorf("the same again: code %d, %+v\n%s", code, s.Counts, out)
	}
	whole, err := os.ReadFile(filepath.Join(source, "a.ppm"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, "broken.png"), whole, 0o666); err != nil {
		t.Fatal(err)
	}
	out, code = run(t, "retry", target, "20261122-014311-dizj", "--json")
	if s := summaryOf(t, out); code != 0 || s.Compressed != 1 || s.Objects != 1 {
		t.Errorf("retry: code %d, %+v\n%s", code, s.Counts, out)
	}
	// With other options every result is made again, under the names of this build.
	out, code = run(t, "compress", source, target, "--codec", "webp", "-o", "effort=0", "--json")
	if s := summaryOf(t, out); code != 0 || s.Compressed != 6 || s.Kept != 1 {
		t.Errorf("other options: code %d, %+v\n%s", code, s.Counts, out)
	}
	for _, name := range []string{"1.2.840.113619.webp", "1.2.840.113619.5.webp", "sub/scan.webp", "sub/scan.v2.webp"} {
		if _, err := os.Stat(filepath.Join(target, name)); err != nil {
			t.Error(err)
		}
	}
	if out, code := run(t, "verify", target, "--json"); code != 0 || strings.Contains(out, `"problem"`) {
		t.Errorf("verify of all jobs: code %d\n%s", code, out)
	}
}

// A job that an earlier build planned is gone on with.
func TestAPlanOfAnEarlierBuild(t *testing.T) {
	source, _, planned := earlierRecords(t)
	out, code := run(t, "compress", source, planned, "--codec", "webp", "--json")
	if s := summaryOf(t, out); code != exitFailures || s.Job != "20261122-014312-ds67" || s.Compressed != 5 || s.Kept != 1 || s.Rejected != 1 {
		t.Errorf("code %d, %+v\n%s", code, s, out)
	}
	if out, code := run(t, "verify", planned, "--json"); code != 0 || !strings.Contains(out, `"good":5`) {
		t.Errorf("verify: code %d\n%s", code, out)
	}
}
