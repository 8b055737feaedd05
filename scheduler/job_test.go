package scheduler

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/pelmill/pelmill/jobs"
)

func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func TestAJobGoesFromSubmitToReport(t *testing.T) {
	r := newRig(t)
	r.fill(250)
	r.worker.start(t, 2)
	r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 20 })
	report := r.ended(spec.ID)
	if report.State != jobs.Done || report.Counts.Compressed != 250 || report.Counts.Objects != 250 || report.Attempted != report.Chunks {
		t.Errorf("report %+v", report)
	}
	if report.PSNR < 29.9 || report.Stages["encode"] < 124 || len(report.Devices) != 1 {
		t.Errorf("report %+v", report)
	}

	again := r.submit(nil)
	second := r.ended(again.ID)
	if second.State != jobs.Done || second.Counts.Skipped != 250 || second.Chunks != 0 {
		t.Errorf("second run: %+v", second)
	}
}
