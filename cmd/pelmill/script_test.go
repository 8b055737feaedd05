package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/internal/services"
)

func TestMain(m *testing.M) {
	roomPatience = 3 * time.Second
	services.SideBySide(4) // programs that wait for each other
	testscript.Main(m, map[string]func(){"pelmill": main})
}

// TestAlone runs the transcripts that need nothing but the program: testdata/*.txt.
func TestAlone(t *testing.T) { transcripts(t, "testdata", "") }

// TestCluster runs the transcripts of verbs that need Redis: testdata/cluster/*.txt.
// $REDIS is the address of one for all.
func TestCluster(t *testing.T) {
	t.Parallel()
	transcripts(t, filepath.Join("testdata", "cluster"), services.Redis(t).URL())
}

// TestS3 runs the transcripts of what differs between folders and buckets:
// testdata/s3/*.txt. $TARGET is an empty bucket, $TARGET2 another one.
func TestS3(t *testing.T) {
	s := services.VersityGW(t)
	transcripts(t, filepath.Join("testdata", "s3"), "", append(s.Env, "TARGET="+s.NewBucket("target"), "TARGET2="+s.NewBucket("target2"))...)
}

// TestStores runs the transcripts of what must be the same in folders and in every kind of
// bucket, testdata/stores/*.txt, on the servers of all of them. $TARGET, $TARGET2 and $TARGET3 are empty buckets.
func TestStores(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	for name, start := range map[string]func(testing.TB) *services.Store{"Azure": services.Azurite, "GCS": services.FakeGCS, "S3": services.VersityGW} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			env := s.Env
			for _, bucket := range []string{"TARGET", "TARGET2", "TARGET3"} {
				env = append(env, bucket+"="+s.NewBucket(strings.ToLower(bucket)))
			}
			transcripts(t, filepath.Join("testdata", "stores"), "", env...)
		})
	}
}

// transcripts runs the scripts of a folder, with more of an environment. Beside testscript's own commands
// they have
//
//	exits N command args...     the command ends with exit code N
//	event type [field value]... the last line of stdout with this type has these fields
//	events type N               stdout has N lines of this type
//	flip file offset            inverts one bit of a byte; negative offsets count from the end
//	cut file bytes              shortens a file
//	exif FROM TO                copies a PNG file and gives it an EXIF block of a camera
//	series folder N UID         writes N slices of a CT series
//	tiff file orientation       writes a TIFF file of one grey pixel with a density
//	keep NAME type field        sets $NAME to the field of the last line of this type on stdout
//	copies N file folder        copies a file N times into a new folder
//	until regexp command args...   runs the command until its stdout matches
//	instance file N                writes DICOM instance N of a series of 8
//	stow STATUS address file...    sends files to a receiver of instances, which answers with this status
//	metrics address                the metrics that are served there become stdout
//	spoil bucket key               inverts one bit of an object
//	remove bucket key              removes an object
//	same bucket key file           the object has the content of the file
//	carries bucket key seconds     the object carries this time, in seconds since 1970
//	disk folder options            mounts a tmpfs, until the end of the script
//	remount folder options         changes it
//
// The condition mount is the right to mount, which no machine must give; pynetdicom is that $PYTHON has it, with which $PEER
// sends instances.
//
// $IMAGES is the folder with the project's small images; $STOW, $SCP and $METRICS are addresses that an intake can listen
// at, and $SCPPORT is the port of one of them. With Redis, $API is an address that a scheduler can listen at.
func transcripts(t *testing.T, dir, redis string, environment ...string) {
	images, err := filepath.Abs(filepath.Join("..", "..", "testdata", "images"))
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(services.Root(t), ".tools/pynetdicom/bin/python")
	peer, err := filepath.Abs("../../scheduler/intake/dimse/testdata/peer.py")
	if err != nil {
		t.Fatal(err)
	}
	var database atomic.Int32 // each script has its own, so that schedulers and workers do not see each other's jobs
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("PELMILL_UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("IMAGES", images)
			env.Setenv("PYTHON", python)
			env.Setenv("PEER", peer)
			for _, name := range []string{"STOW", "SCP", "METRICS"} {
				port := services.FreePort(t)
				env.Setenv(name, fmt.Sprintf("127.0.0.1:%d", port))
				env.Setenv(name+"PORT", fmt.Sprint(port))
			}
			env.Vars = append(env.Vars, environment...)
			if redis != "" {
				// Folders stand for buckets here, and no process opens a folder that only Redis names.
				env.Setenv("PELMILL_ALLOW", env.WorkDir+","+images)
				env.Setenv("API", fmt.Sprintf("127.0.0.1:%d", services.FreePort(t)))
				env.Setenv("REDIS", fmt.Sprintf("%s%d", strings.TrimSuffix(redis, "0"), database.Add(1)))
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   exits,
			"dicom":   writeDICOM,
			"dataset": dataset,
			"event":   event,
			"events":  events,
			"flip":    flip,
			"cut":     cut,
			"note":    note,
			"exif":    exif,
			"series":  writeSeries,
			"tiff":    tiff,
			"keep":    keep,
			"copies":  copies,
			"until":   until,

			"instance": instance,
			"stow":     sendInstances,
			"metrics":  metrics,

			"spoil":   spoil,
			"remove":  remove,
			"same":    same,
			"carries": carries,

			"disk":    disk,
			"remount": remount,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "pynetdicom":
				_, err := os.Stat(python)
				if err != nil && os.Getenv("PELMILL_TEST") == "require" {
					return false, err
				}
				return err == nil, nil
			case "mount":
			default:
				return false, fmt.Errorf("unknown condition %q", name)
			}
			dir := t.TempDir()
			if mount("-t", "tmpfs", "pelmill-test", dir) != nil {
				return false, nil
			}
			return true, exec.Command("umount", "-l", dir).Run()
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N command args...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		got = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// note FROM TO copies a PNG file and gives it a density and a text.
func note(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: note FROM TO")
	}
	data := []byte(ts.ReadFile(args[0]))
	const head = 33 // signature and IHDR
	out := png.Append(data[:head:head], "pHYs", []byte{0, 0, 11, 19, 0, 0, 11, 19, 1})
	out = png.Append(out, "tEXt", []byte("Author\x00somebody"))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), append(out, data[head:]...), 0o644))
}

func tiff(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tiff file orientation")
	}
	orientation, err := strconv.Atoi(args[1])
	ts.Check(err)
	fields := [][4]uint32{ // tag, type, count, value: TIFF 6.0, section 2
		{256, 3, 1, 1}, {257, 3, 1, 1}, {258, 3, 1, 8}, {259, 3, 1, 1}, {262, 3, 1, 1}, {273, 4, 1, 8}, {274, 3, 1, uint32(orientation)},
		{277, 3, 1, 1}, {279, 4, 1, 1}, {282, 5, 1, 10}, {283, 5, 1, 10}, {296, 3, 1, 2},
	}
	le := binary.LittleEndian
	out := append([]byte("II*\x00"), 18, 0, 0, 0, 77, 0) // the pixel, then 300/1
	out = le.AppendUint32(le.AppendUint32(out, 300), 1)
	out = le.AppendUint16(out, uint16(len(fields)))
	for _, f := range fields {
		out = le.AppendUint16(le.AppendUint16(out, uint16(f[0])), uint16(f[1]))
		out = le.AppendUint32(le.AppendUint32(out, f[2]), f[3])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), le.AppendUint32(out, 0), 0o644))
}

// objects parses stdout as JSON lines; anything else in it ends the script.
func objects(ts *testscript.TestScript) []map[string]any {
	var all []map[string]any
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			ts.Fatalf("line %q of stdout: %v", line, err)
		}
		all = append(all, v)
	}
	return all
}

// last is the last object of a type on stdout.
func last(ts *testscript.TestScript, kind string) map[string]any {
	var found map[string]any
	for _, v := range objects(ts) {
		if v["type"] == kind {
			found = v
		}
	}
	if found == nil {
		ts.Fatalf("no %s on stdout", kind)
	}
	return found
}

func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: keep NAME type field")
	}
	ts.Setenv(args[0], fmt.Sprint(last(ts, args[1])[args[2]]))
}

// patience is how long until waits. It is far above what anything takes: it tells a hang from a busy machine.
const patience = 5 * time.Minute

func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until regexp command args...")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for start := time.Now(); time.Since(start) < patience; time.Sleep(50 * time.Millisecond) {
		if ts.Exec(args[1], args[2:]...) == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("no match for %q within %v", args[0], patience)
}

func mount(args ...string) error {
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("mount %q: %w: %s", args, err, out)
	}
	return nil
}

func disk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: disk folder options")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(mount("-t", "tmpfs", "-o", args[1], "pelmill-test", dir))
	ts.Defer(func() { exec.Command("umount", "-l", dir).Run() })
}

func remount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: remount folder options")
	}
	ts.Check(mount("-o", "remount,"+args[1], ts.MkAbs(args[0])))
}

func event(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args)%2 != 1 {
		ts.Fatalf("usage: event type [field value]...")
	}
	found := last(ts, args[0])
	for i := 1; i < len(args); i += 2 {
		got, ok := found[args[i]]
		if !ok || fmt.Sprint(got) != args[i+1] {
			ts.Fatalf("%s of %s is %v, want %s", args[i], args[0], got, args[i+1])
		}
	}
}

func events(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: events type N")
	}
	n := 0
	for _, v := range objects(ts) {
		if v["type"] == args[0] {
			n++
		}
	}
	if strconv.Itoa(n) != args[1] {
		ts.Fatalf("%d %s on stdout, want %s", n, args[0], args[1])
	}
}

func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip file offset")
	}
	edit(ts, args, func(data []byte, n int) []byte {
		if n < 0 {
			n += len(data)
		}
		data[n] ^= 4
		return data
	})
}

func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut file bytes")
	}
	edit(ts, args, func(data []byte, n int) []byte { return data[:n] })
}

func edit(ts *testscript.TestScript, args []string, change func(data []byte, n int) []byte) {
	name := ts.MkAbs(args[0])
	data, err := os.ReadFile(name)
	ts.Check(err)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(name, change(data, n), 0o666))
}

func copies(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: copies N file folder")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	data, dir := []byte(ts.ReadFile(args[1])), ts.MkAbs(args[2])
	ts.Check(os.MkdirAll(dir, 0o777))
	for i := range n {
		ts.Check(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d%s", i, filepath.Ext(args[1]))), data, 0o666))
	}
}
