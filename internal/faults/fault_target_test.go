package faults_test

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

// smallDisk mounts a file system of the given size as the target's folder, until the end of the test. The right to
// mount is no service that CI must have, so its lack skips the test everywhere.
func smallDisk(t *testing.T, tr *trial, size string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: a small disk needs Linux")
	}
	if err := exec.Command("mkdir", "-p", tr.target).Run(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "pelmill-faults", tr.target).CombinedOutput()
	if err != nil {
		t.Skipf("NOT TESTED: a small disk needs the right to mount: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", tr.target).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", tr.target, err, out)
		}
	})
}

func remount(t *testing.T, tr *trial, options string) {
	t.Helper()
	if out, err := exec.Command("mount", "-o", "remount,"+options, tr.target).CombinedOutput(); err != nil {
		t.Fatalf("remount %s: %v: %s", tr.target, err, out)
	}
}

// fullDisk lets the target run full in the middle of a job. The run waits or ends with a failure, but says why. Once
// the disk has grown, the run and the same command again complete the work.
func fullDisk(t *testing.T) {
	tr := inFolders(t, faults.Pictures(11, 400, 96))
	tr.extra = []string{"--chunk-objects", "20"}
	smallDisk(t, tr, "1m")
	p := tr.pelmill("compress", tr.flags("compress")...)
	faults.Until(t, limit, "the program to say that the disk is full", func() bool {
		return strings.Contains(p.Stderr(), "no space left")
	})
	if n := faults.Whole(t, tr.to, vq(t)); n == 0 || n == len(tr.sources) {
		t.Errorf("%d results fit the small disk, want some", n)
	}
	remount(t, tr, "size=64m")
	code := p.Wait(t, limit)
	for again := 0; code != 0 && again < 2; again++ {
		if code != 3 && code != 6 {
			t.Errorf("exit code %d, want 0, 3 or 6", code)
		}
		code = tr.pelmill("compress", tr.flags("compress")...).Wait(t, limit)
	}
	if code != 0 {
		t.Errorf("exit code %d with room on the disk, want 0", code)
	}
	ids := tr.jobs()
	tr.check(ids[len(ids)-1], ids[:len(ids)-1]...)
}

// readOnly has a target that nobody can write, then one that can be written.
func readOnly(t *testing.T) {
	tr := inFolders(t, faults.Pictures(12, 20, 64))
	smallDisk(t, tr, "16m")
	remount(t, tr, "ro")
	p := tr.pelmill("compress", tr.flags("compress")...)
	if code := p.Wait(t, limit); code != 8 {
		t.Errorf("exit code %d with a read-only target, want 8", code)
	}
	if !strings.Contains(p.Stderr(), "read-only") {
		t.Error("the program did not say that the target is read-only")
	}
	remount(t, tr, "rw")
	if code := tr.pelmill("compress", tr.flags("compress")...).Wait(t, limit); code != 0 {
		t.Errorf("exit code %d with a target that can be written, want 0", code)
	}
	tr.check(tr.job())
}

// changingSource changes objects between the listing and the reading: some have another picture, some are gone, one
// changes all the time.
func changingSource(t *testing.T, gw *services.Store) {
	tr := inBuckets(t, gw, faults.Pictures(13, 100, 64)).withRedis()
	tr.extra = []string{"--chunk-objects", "20"}
	id := tr.submit()
	tr.scheduler()
	tr.reached(id, jobs.Running)
	for i := range tr.sources {
		s := &tr.sources[i]
		switch i % 10 {
		case 3:
			// The same key with another picture, of another size.
			now := faults.Picture(uint64(1000+i), s.Key, 70+i%7, 50)
			s.Data, s.Image = now.Data, now.Image
			tr.write(*s)
		case 7:
			if err := tr.from.Delete(context.Background(), s.Key); err != nil {
				t.Fatal(err)
			}
			s.Want = []jobs.Outcome{jobs.FailedOut}
		}
	}
	restless := &tr.sources[0]
	restless.Want = []jobs.Outcome{jobs.Compressed, jobs.FailedOut}
	restless.Also = []faults.Source{faults.Picture(2000, restless.Key, 80, 80), faults.Picture(2001, restless.Key, 81, 80)}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				tr.write(restless.Also[i%2])
			}
		}
	}()
	tr.worker()
	f := tr.ended(id)
	close(stop)
	<-stopped
	for i, s := range tr.sources {
		if r := f.Results[s.Key]; i%10 == 7 && r.Class != jobs.ClassMissing {
			t.Errorf("%s: class %q, want %q", s.Key, r.Class, jobs.ClassMissing)
		}
	}
}
