package faults_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/services"
)

// What must hold after every fault, once the job has ended:
//
//	I1  every source has exactly one state: a verified result, or a record with a reason
//	I2  every result decodes to its source and is the one that was recorded: no torn, mixed or foreign object
//	I3  no source was changed or removed, unless that was asked for and the result proved again
//	I4  an object is tried at most three times, a chunk as often as there were faults
//	I5  work goes on within 130 seconds after the fault has ended, without a person
//	I6  memory stays within its limit and does not grow with the number of jobs
//	I7  each fault leaves a line in a log, a record or a counter
//
// row is one kind of fault.
type row struct {
	n      int
	name   string
	inject string
	holds  string   // besides I1 and I2
	held   []string // what "make test" runs, as "package: test"; of TestFaults by the name of its case
	chaos  []string // what "make chaos" runs, by the names in drivers
}

// rows are all kinds of faults that pelmill is tried against. Card faults (3, 17 to 20, 22) are injected by the driver that
// is a fake, see gpu/gputest, and on a machine with a card by "make test-gpu".
var rows = []row{
	{1, "worker killed", "SIGKILL at random and at named moments", "I4 I5", []string{"internal/faults: TestFaults/workers killed", "internal/faults: TestFaults/SIGKILL", "scheduler: TestAJobSurvivesADeathAtEveryWrite", "worker: TestKilledCopiesAreReplaced", "internal/faults: TestWorkerOfEachCardIsKilled"}, []string{"kills", "killed runs"}},
	{2, "worker stopped past its lease", "SIGSTOP until its chunks are another's, SIGCONT before and after the end of the job", "I4 I5 I7", []string{"internal/faults: TestFaults/worker stopped", "worker: TestLostLeaseReportsNothingTwice"}, []string{"stops"}},
	{3, "process of a card ends", "a fatal code at each call of the driver", "I5 I7", []string{"gpu/gputest: TestAnErrorAtAnyCallLeavesNothingBehind", "worker: TestALostCardEndsTheWorker"}, nil},
	{4, "Redis restarted", "SIGKILL, with an append-only file", "I4 I5", []string{"internal/faults: TestFaults/redis restarted", "queue: TestOutageAtCompletion"}, []string{"kills"}},
	{5, "Redis lost", "SIGKILL without a file, FLUSHALL", "I4 I5", []string{"internal/faults: TestFaults/redis lost", "internal/faults: TestFaults/redis flushed", "scheduler: TestRedisIsEmptiedInMidJob"}, []string{"kills"}},
	{6, "Redis fails over", "the master ends, Sentinel promotes the replica", "I5", []string{"queue: TestSentinelFailover"}, nil},
	{7, "Redis slow or full", "SIGSTOP, maxmemory", "I5 I7", []string{"internal/faults: TestFaults/redis frozen", "internal/faults: TestFaults/redis full", "queue: TestFullRedis", "scheduler: TestRedisIsFull", "worker: TestAChunkThatIsPutOffShows"}, nil},
	{8, "orphaned task", "its lease is deleted, its worker killed", "I5", []string{"internal/faults: TestFaults/orphaned tasks", "queue: TestReapBelievesRedisClock"}, []string{"orphans"}},
	{9, "task delivered twice", "two deliveries at once; row 2", "I4", []string{"worker: TestTwoDeliveriesAtOnce", "worker: TestCommitWhenTheShardAppearsMeanwhile"}, []string{"stops"}},
	{10, "storage refuses", "503, and 429 with Retry-After, to 30 % of the calls", "I4 I7", []string{"internal/faults: TestFaults/storage refuses", "internal/faults: TestFaults/two sources", "internal/faults: TestStorageThroughFaults", "storage: TestPutGivesUpWithTheReason"}, []string{"storage", "two sources"}},
	{11, "storage hangs", "no answer; half a body, then nothing", "I5", []string{"internal/faults: TestStorageThroughFaults", "storage: TestStalledAttemptEnds"}, []string{"storage"}},
	{12, "reads are cut or falsified", "half a body under the right length; one bit flipped, with and without checksums", "", []string{"internal/faults: TestFaults/storage cuts", "internal/faults: TestFaults/storage flips bare", "internal/faults: TestFaults/two sources", "internal/faults: TestStorageThroughFaults"}, []string{"storage", "two sources"}},
	{13, "writes are lost or torn", "a success without the object, with half of it, and an object without the answer", "", []string{"storage: TestPutAgainstFaults", "internal/faults: TestFaults/storage drops writes", "internal/faults: TestFaults/storage drops answers", "internal/faults: TestFaults/two sources", "internal/faults: TestStorageThroughFaults"}, []string{"storage", "two sources"}},
	{14, "conditional writes race", "409 and 412; two jobs that want one key", "", []string{"internal/faults: TestFaults/two sources", "internal/faults: TestStorageThroughFaults", "worker: TestJobsAtOnceShareNoKey", "storage: TestPutDoesNotTakeAStrangerForItsOwn"}, []string{"storage", "two sources"}},
	{15, "disk full", "a file system of 1 MiB", "I5 I7", []string{"internal/faults: TestFaults/full disk", "internal/faults: TestFaults/full disk of a cluster", "storage: TestDiskFullLeavesNothing"}, nil},
	{16, "fsync or rename fails", "EIO by strace, to each call and to some", "I7", []string{"internal/faults: TestFaults/disk errors"}, []string{"disk errors"}},
	{17, "device memory exhausted", "code 2 at each call of the driver", "I6", []string{"gpu/gputest: TestOutOfMemoryHalvesTheBatch", "gpu/gputest: TestAFullCardIsNotFatal"}, nil},
	{18, "sticky error of a card", "the codes after which a process must end, at each call of the driver", "I7", []string{"gpu/gputest: TestAnErrorAtAnyCallLeavesNothingBehind", "worker: TestALostCardEndsTheWorker"}, nil},
	{19, "card lost", "codes 46, 101, 214 and 999 of the driver", "I7", []string{"worker: TestALostCardEndsTheWorker", "gpu/gputest: TestUnusableCardsAreRefusedInOneSentence", "internal/faults: TestCardIsLostInTheMiddle", "internal/faults: TestEachCardOfSeveralIsLost"}, nil},
	{20, "card hangs", "the driver does not come back", "I5 I7", []string{"gpu/gputest: TestAHangEndsInTheWatchdog"}, nil},
	{21, "silently wrong result", "one bit of a codec's output is flipped", "I7", []string{"internal/faults: TestFaults/flipped bits", "internal/faults: TestCardThatFlipsBits", "worker: TestSelfTest"}, []string{"flips"}},
	{22, "no driver, or an old one", "no library, code 222", "I7", []string{"gpu/gputest: TestAProcessWithoutADriver", "gpu/gputest: TestRefusedKernelsAreOneSentence"}, nil},
	{23, "poison images", "bombs, cut files, headers that lie", "I6", []string{"internal/faults: TestFaults/poison images", "imageio: TestBombs", "imageio: TestBadFiles"}, nil},
	{24, "codec panics or never ends", "a codec that does", "I4 I7", []string{"internal/faults: TestFaults/codec that panics", "internal/faults: TestFaults/codec that ignores cancellation", "internal/faults: TestFaults/codec that kills the process", "worker: TestAChunkThatHangsEndsTheWorker", "worker: TestAChunkWithoutProgressIsTriedAgain"}, nil},
	{25, "clocks differ", "the clock of Redis is an hour off that of a worker", "I3 I4 I5", []string{"queue: TestReapBelievesRedisClock", "queue: TestClockSkew"}, nil},
	{26, "process asked to end", "SIGINT and SIGTERM in the middle of work", "I4", []string{"internal/faults: TestFaults/SIGINT", "worker: TestDrainAndContinue"}, nil},
	{27, "two schedulers", "one of them killed, at random and at each moment of a job", "I4 I5", []string{"internal/faults: TestFaults/two schedulers", "internal/faults: TestFaults/scheduler killed", "scheduler: TestALeaderThatHangsIsReplaced", "scheduler: TestTwoSchedulersCountOnce"}, []string{"kills"}},
	{28, "source changes", "replaced, restored and removed at each request of a job, and all the time", "I3", []string{"internal/faults: TestFaults/source changes", "internal/faults: TestFaults/source changes at each request", "worker: TestChangedSource"}, []string{"changes"}},
	{29, "sources removed after a proof", "remove-sources, killed and with damaged results", "I3", []string{"scheduler: TestRemoveSourcesOnStores", "scheduler: TestKilledRemoveSources", "scheduler: TestSourcesThatStay", "worker: TestProveSources"}, nil},
	{30, "soak", "job after job through the same processes", "I6", []string{"internal/faults: TestFaults/soak"}, []string{"soak"}},
}

// TestRowsNameTests holds the table against the tests and the drivers that there are.
func TestRowsNameTests(t *testing.T) {
	cases := map[string]bool{}
	for _, list := range [][]fault{onFolders, onS3, onGCS, onAzure} {
		for _, f := range list {
			cases[f.name] = true
		}
	}
	used := map[string]bool{}
	root := services.Root(t)
	for i, r := range rows {
		if r.n != i+1 {
			t.Errorf("row %d is called %d", i+1, r.n)
		}
		if len(r.held) == 0 {
			t.Errorf("row %d: make test has nothing", r.n)
		}
		for _, h := range r.held {
			pkg, test, _ := strings.Cut(h, ": ")
			test, part, _ := strings.Cut(test, "/")
			if part != "" && !cases[part] {
				t.Errorf("row %d: TestFaults has no case %q", r.n, part)
			}
			if !declares(t, filepath.Join(root, pkg), test) {
				t.Errorf("row %d: %s has no test %s", r.n, pkg, test)
			}
		}
		for _, name := range r.chaos {
			used[name] = true
			if !slices.ContainsFunc(drivers, func(d driver) bool { return d.name == name }) {
				t.Errorf("row %d: there is no driver %q", r.n, name)
			}
		}
	}
	for _, d := range drivers {
		if !used[d.name] {
			t.Errorf("driver %q is of no row", d.name)
		}
	}
}

// declares reports whether a package's folder declares a test.
func declares(t *testing.T, dir, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	find := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(test) + `\(`)
	return slices.ContainsFunc(files, func(f string) bool {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		return find.Match(data)
	})
}

// needs ends a test for which a program of Linux is missing.
func needs(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if runtime.GOOS != "linux" || err != nil {
		services.Missing(t, "%s is needed: %v", name, err)
	}
	return path
}
