package faults_test

import (
	"syscall"
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
)

// TestFaultsInFolders needs no store, only Redis for some.
func TestFaultsInFolders(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	for _, c := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"codec that kills the process", killingCodec},
		{"codec that panics", panickingCodec},
		{"codec that ignores cancellation", deafCodec},
		{"poison images", poisonImages},
		{"SIGINT", interrupted(syscall.SIGINT, 130)},
		{"SIGKILL", interrupted(syscall.SIGKILL, -1)},
		{"two runs at once", twoRuns},
		{"full disk", fullDisk},
		{"full disk of a cluster", fullDiskOfACluster},
		{"read-only target", readOnly},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

// TestFaultsOnS3 runs on versitygw, with a proxy between.
func TestFaultsOnS3(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	gw := services.VersityGW(t)
	for _, c := range []struct {
		name string
		run  func(t *testing.T, gw *services.Store)
	}{
		{"workers killed", killWorkers},
		{"scheduler killed", killScheduler},
		{"two schedulers", twoSchedulers},
		{"redis frozen", freezeRedis},
		{"redis restarted", restartRedis},
		{"redis lost", loseRedis},
		{"redis flushed", flushRedis},
		{"redis full", fillRedis},
		{"source changes", changingSource},
		{"writes forbidden", refusedWrites(faults.Forbid, "access denied (AccessDenied)")},
		{"store full", refusedWrites(faults.Full, "no space left (XMinioStorageFull)")},
		{"storage refuses", badStorage(faults.Rule{Fault: faults.Refuse, Share: 0.3})},
		{"storage cuts", badStorage(faults.Rule{Fault: faults.CutBody, Share: 0.3, Match: faults.Reads})},
		{"storage flips", badStorage(faults.Rule{Fault: faults.FlipBit, Share: 0.2, Match: faults.Reads})},
		{"storage flips bare", badStorage(faults.Rule{Fault: faults.FlipBit, Share: 0.2, Match: faults.Reads, Bare: true})},
		{"storage drops writes", badStorage(faults.Rule{Fault: faults.DropWrite, Share: 0.2, Match: faults.Writes})},
		{"storage drops answers", badStorage(faults.Rule{Fault: faults.DropAnswer, Share: 0.2, Match: faults.Writes})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, gw)
		})
	}
}
