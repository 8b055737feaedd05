package faults_test

import (
	"fmt"
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

func poisonImages(t *testing.T) {
	tr := inFolders(t, append(faults.Images(6, 228, 64), faults.Poison(6, 12)...))
	tr.extra = []string{"--chunk-objects", "20"}
	if code := tr.pelmill("compress", tr.flags("compress")...).Wait(t, limit); code != 3 {
		t.Errorf("exit code %d, want 3: finished with rejected objects", code)
	}
	tr.check(tr.job())
}

// odd makes an image that the faultworker's codec answers with a fault.
func odd(i, width int, class string) (faults.Source, string) {
	s := faults.Image(uint64(i), fmt.Sprintf("b/%05d-odd.png", i), width, 40)
	s.Want = []jobs.Outcome{jobs.OutcomeFailed}
	return s, class
}

// classes waits for the end of a job and looks at the classes of the images that made the codec fail.
func (tr *trial) classes(id string, want map[string]string) {
	tr.t.Helper()
	f := tr.ended(id)
	for key, class := range want {
		if got := f.Results[key].Class; got != class {
			tr.t.Errorf("%s: class %q, want %q", key, got, class)
		}
	}
}

func panickingCodec(t *testing.T) {
	sources, want := faults.Images(7, 60, 64), map[string]string{}
	for i := range 3 {
		s, class := odd(20*i+7, 33, class.Codec)
		sources, want[s.Key] = append(sources, s), class
	}
	tr := inFolders(t, sources).withRedis()
	tr.extra = []string{"--chunk-objects", "15"}
	id := tr.submit()
	tr.scheduler()
	w := tr.faultWorker()
	tr.classes(id, want)
	if !w.Running() {
		t.Error("the worker ended; a panic of a codec should only cost the picture")
	}
}

func deafCodec(t *testing.T) {
	sources, want := faults.Images(8, 60, 64), map[string]string{}
	for i := range 2 {
		s, class := odd(30*i+7, 34, class.Timeout)
		sources, want[s.Key] = append(sources, s), class
	}
	tr := inFolders(t, sources).withRedis()
	tr.extra = []string{"--chunk-objects", "15"}
	id := tr.submit()
	tr.scheduler()
	// The time holds for every image, also for one that waits for a core of a busy machine, and is far above what that takes. Both
	// encoders are held for less than the worker waits before it ends itself, a minute more than that time.
	w := tr.faultWorker("-timeout", "20s", "-sleep", "30s")
	tr.classes(id, want)
	if !w.Running() {
		t.Error("the worker ended; 99 would mean more pictures at once than it has encoders")
	}
}

// killingCodec has an image that ends the worker's process. Something starts it again, as a supervisor would.
func killingCodec(t *testing.T) {
	s, class := odd(37, 35, class.Crash)
	tr := inFolders(t, append(faults.Images(9, 60, 64), s)).withRedis()
	tr.extra = []string{"--chunk-objects", "30"}
	id := tr.submit()
	tr.scheduler()
	w := tr.faultWorker()
	faults.Until(t, limit, "the report", func() bool {
		if !w.Running() {
			w = tr.faultWorker()
		}
		return tr.count(jobs.Folder(id).Report()) == 1
	})
	tr.classes(id, map[string]string{s.Key: class})
}
