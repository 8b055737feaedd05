package worker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/jobs"
)

// BenchmarkDICOM compares whole jobs over instances of 512 x 512 samples of 16 bits, fetched, decoded,
// hashed, coded, proved and stored, with gdcmconv of the same files, a process for each, which proves
// nothing. Rates are native bytes per second of CPU time, of the system's too, so that they are those of one core
// and what else runs on the machine counts little; "x-gdcmconv" is the rate over that of gdcmconv --j2k in the
// same run. The files of both lie in TMPDIR, whose file system's time counts. "us/create" is the CPU time in which it
// creates an empty file: each result needs one. ext4 without a journal looks for that at the files that were deleted
// in the last 35 seconds, so that it is tens of microseconds where nothing was, and hundreds after other benchmarks. The
// instance is 693_UNCR of the test data, without it one that is made.
func BenchmarkDICOM(b *testing.B) {
	const instances = 32
	file, err := os.ReadFile("../../shared/data/dicom/693_UNCR.dcm")
	if err != nil {
		b.Log("NO MR INSTANCE in ../shared/data/dicom: it is made instead")
		file = mr(512, 512).file()
	}
	const native = instances * 512 * 512 * 2
	dir := b.TempDir()
	for i := range instances {
		writeFile(b, filepath.Join(dir, fmt.Sprintf("%02d.dcm", i)), file)
	}
	gdcmconv, _ := exec.LookPath("gdcmconv")
	folders := b // of all parts, so that none pays for the deletion of the files of the part before it
	for _, option := range []string{"syntax=j2k", "syntax=htj2k"} {
		b.Run(option, func(b *testing.B) {
			var ours, theirs, created float64
			for b.Loop() {
				created += createSeconds(b, folders.TempDir())
				j := newJob(b, dir, folders.TempDir(), jpeg2000.Codec{}, func(s *jobs.Spec) {
					o, err := jpeg2000.Codec{}.Options([]string{option})
					if err != nil {
						b.Fatal(err)
					}
					s.Options = o.String()
				})
				j.plan()
				start := cpuSeconds(b, syscall.RUSAGE_SELF)
				j.compress(jpeg2000.Codec{})
				ours += cpuSeconds(b, syscall.RUSAGE_SELF) - start
				for key, r := range j.results() {
					if r.Outcome != jobs.OutcomeCompressed {
						b.Fatalf("%s: %s %s", key, r.Outcome, r.Error)
					}
				}
				if gdcmconv == "" {
					continue
				}
				converted := folders.TempDir()
				start = cpuSeconds(b, syscall.RUSAGE_CHILDREN)
				for i := range instances {
					name := fmt.Sprintf("%02d.dcm", i)
					if out, err := exec.Command(gdcmconv, "--j2k", filepath.Join(dir, name), filepath.Join(converted, name)).CombinedOutput(); err != nil {
						b.Fatalf("gdcmconv: %v: %s", err, out)
					}
				}
				theirs += cpuSeconds(b, syscall.RUSAGE_CHILDREN) - start
			}
			rate := native * float64(b.N) / 1e6
			b.ReportMetric(rate/ours, "MB/s-core")
			b.ReportMetric(created/float64(b.N)*1e6, "us/create")
			if theirs > 0 {
				b.ReportMetric(rate/theirs, "gdcmconv-MB/s-core")
				b.ReportMetric(theirs/ours, "x-gdcmconv")
			}
		})
	}
}

// createSeconds is the CPU time in which a file is created in dir.
func createSeconds(b *testing.B, dir string) float64 {
	const files = 32
	start := cpuSeconds(b, syscall.RUSAGE_SELF)
	for i := range files {
		writeFile(b, filepath.Join(dir, fmt.Sprint(i)), nil)
	}
	return (cpuSeconds(b, syscall.RUSAGE_SELF) - start) / files
}

// cpuSeconds is the CPU time, of the user and the system, of this process or of those that it started.
func cpuSeconds(b *testing.B, who int) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
