package faults_test

import (
	"runtime"
	"syscall"
	"testing"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
)

// atOnce is how many faults are tried side by side. They mostly wait: for a lease to end, for an outage, for a retry.
// Each has its own folders or buckets, its own Redis and its own processes.
var atOnce = max(4, 3*runtime.NumCPU())

// fault is one fault test; gw is nil for those on folders.
type fault struct {
	name string
	run  func(t *testing.T, gw *services.Store)
}

func inAFolder(run func(t *testing.T)) func(t *testing.T, gw *services.Store) {
	return func(t *testing.T, _ *services.Store) { run(t) }
}

// onFolders needs no store, only Redis for some. The longest come first here and in onS3.
var onFolders = []fault{
	{"codec that kills the process", inAFolder(killingCodec)},
	{"worker of codec auto killed", inAFolder(killAutoWorkers)},
	{"SIGKILL", inAFolder(interrupted(syscall.SIGKILL, -1))},
	{"SIGINT", inAFolder(interrupted(syscall.SIGINT, 130))},
	{"full disk of a cluster", inAFolder(fullDiskOfACluster)},
	{"full disk", inAFolder(fullDisk)},
	{"codec that panics", inAFolder(panickingCodec)},
	{"codec that ignores cancellation", inAFolder(deafCodec)},
	{"poison images", inAFolder(poisonImages)},
	{"soak", inAFolder(smallSoak)},
	{"flipped bits", inAFolder(small(flips, 24))},
	{"disk errors", inAFolder(small(diskErrors, 6))},
	{"two runs at once", inAFolder(twoRuns)},
	{"read-only target", inAFolder(readOnly)},
}

// onS3 runs on versitygw, with a proxy between.
var onS3 = []fault{
	{"worker stopped", func(t *testing.T, gw *services.Store) { stopsOn(t, gw, 2, newLedger()) }},
	{"orphaned tasks", func(t *testing.T, gw *services.Store) { orphansOn(t, gw, 2, newLedger()) }},
	{"scheduler killed", killScheduler},
	{"workers killed", killWorkers},
	{"two schedulers", twoSchedulers},
	{"redis frozen", freezeRedis},
	{"redis restarted", restartRedis},
	{"redis lost", loseRedis},
	{"redis flushed", flushRedis},
	{"redis lost in an intake", loseRedisInAnIntake},
	{"redis full", fillRedis},
	{"writes forbidden", refusedWrites(faults.Forbid, "access denied (AccessDenied)")},
	{"store full", refusedWrites(faults.Full, "no space left (XMinioStorageFull)")},
	{"storage refuses", badStorage(faults.Rule{Fault: faults.Refuse, Share: 0.3})},
	{"source changes", changingSource},
	{"source changes at each request", func(t *testing.T, gw *services.Store) { changesOn(t, gw, 8, newLedger()) }},
	twoSourcesAtOnce,
	{"storage cuts", badStorage(faults.Rule{Fault: faults.CutBody, Share: 0.3, Match: faults.Reads})},
	{"storage flips", badStorage(faults.Rule{Fault: faults.FlipBit, Share: 0.2, Match: faults.Reads})},
	{"storage flips bare", badStorage(faults.Rule{Fault: faults.FlipBit, Share: 0.2, Match: faults.Reads, Bare: true})},
	{"storage drops writes", badStorage(faults.Rule{Fault: faults.DropWrite, Share: 0.2, Match: faults.Writes})},
	{"storage drops answers", badStorage(faults.Rule{Fault: faults.DropAnswer, Share: 0.2, Match: faults.Writes})},
}

// twoSourcesAtOnce runs on each kind of store.
var twoSourcesAtOnce = fault{"two sources", func(t *testing.T, gw *services.Store) { twoSources(t, gw, newLedger()) }}

// onGCS and onAzure run on emulators, with a proxy between that speaks their languages.
var onGCS, onAzure = []fault{twoSourcesAtOnce}, []fault{twoSourcesAtOnce}

// TestFaults begins the faults in their order, atOnce side by side.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	limit := make(chan struct{}, atOnce)
	group := func(list []fault, store func(t testing.TB) *services.Store) func(t *testing.T) {
		return func(t *testing.T) {
			gw := store(t)
			var cases []services.Case
			for _, f := range list {
				cases = append(cases, services.Case{Name: f.name, Run: func(t *testing.T) { f.run(t, gw) }})
			}
			services.AtOnce(t, limit, cases...)
		}
	}
	services.AtOnce(t, nil,
		services.Case{Name: "folders", Run: group(onFolders, func(testing.TB) *services.Store { return nil })},
		services.Case{Name: "S3", Run: group(onS3, services.VersityGW)},
		services.Case{Name: "GCS", Run: group(onGCS, services.FakeGCS)},
		services.Case{Name: "Azure", Run: group(onAzure, services.Azurite)},
	)
}
