package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// A repair that was killed right after it was submitted is brought to its end by the
// next one, and what was damaged since is repaired with it.
func TestAnInterruptedRepairIsContinued(t *testing.T) {
	t.Parallel()
	source, target, _, images := folders(t, 3)
	if _, code := run(t, "compress", source, target, "--codec", "vq", "-q"); code != 0 {
		t.Fatalf("compress: code %d", code)
	}
	damage := func(i int) {
		name := filepath.Join(target, jobs.Stem(images[i].Key, ".vq")+".vq")
		if err := os.WriteFile(name, []byte("damaged"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	damage(0)
	if _, code := run(t, "verify", target, "-q"); code != exitMismatch {
		t.Fatalf("verify: code %d", code)
	}
	buckets := storage.NewBuckets()
	defer buckets.Close()
	client := &scheduler.Client{Buckets: buckets}
	found, err := client.Damage(t.Context(), target)
	if err != nil || len(found) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	specs, err := client.Repair(t.Context(), target, found, func(s *jobs.Spec) { s.AutoStart = true })
	if err != nil || len(specs) != 1 || !specs[0].Repair {
		t.Fatalf("%+v, %v", specs, err)
	}
	damage(1)
	out, code := run(t, "verify", target, "--repair", "--json")
	if code != 0 || !strings.Contains(out, `"good":3`) || !strings.Contains(out, `"repaired":1`) {
		t.Errorf("verify --repair: code %d\n%s", code, out)
	}
	if report, err := client.Report(t.Context(), target, specs[0].ID); err != nil || report.State != jobs.StateDone {
		t.Errorf("the interrupted repair: %+v, %v", report, err)
	}
}
