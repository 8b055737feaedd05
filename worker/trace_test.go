package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/worker/series/seriestest"
)

// readTrace gives the spans of a closed trace by the process and thread that they are
// shown in, and the names of processes.
func readTrace(t *testing.T, data []byte) (spans map[[2]int][]traceEvent, processes map[int]string) {
	t.Helper()
	var events []traceEvent
	if err := json.Unmarshal(data, &events); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	spans, processes = map[[2]int][]traceEvent{}, map[int]string{}
	for _, e := range events {
		switch {
		case e.Phase == "X":
			at := [2]int{e.PID, e.TID}
			spans[at] = append(spans[at], e)
		case e.Name == "process_name":
			processes[e.PID], _ = e.Args["name"].(string)
		}
	}
	return spans, processes
}

func TestTraceRows(t *testing.T) {
	var out bytes.Buffer
	tr := NewTrace(&out)
	first, second := tr.row(traceCores), tr.row(traceCores)
	first.leave()
	third, lane := tr.row(traceCores), tr.row(traceLanes)
	if first.n != 0 || second.n != 1 || third.n != 0 || lane.n != 0 {
		t.Errorf("rows %d, %d, %d and %d, want the lowest free one of each kind: 0, 1, 0 and 0", first.n, second.n, third.n, lane.n)
	}
	second.span("work", time.Now().Add(-time.Second), map[string]any{"objects": 2})
	tr.waits(map[string]any{"for a core": 3})
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	size := out.Len()
	third.span("late", time.Now(), nil) // a call that was given up
	third.leave()
	if tr.out.Flush(); out.Len() != size {
		t.Errorf("a closed trace became longer: %s", out.Bytes()[size:])
	}
	spans, processes := readTrace(t, out.Bytes())
	work := spans[[2]int{1, 2}]
	if len(spans) != 1 || len(work) != 1 || work[0].Dur < 1e6 || work[0].Dur > 1e9 || work[0].Args["objects"] != 2.0 || processes[1] != "cores" {
		t.Errorf("spans %+v of %v, want one of a second or more on the second core", spans, processes)
	}
	for line := range strings.Lines(out.String()[1:]) {
		if line = strings.TrimSuffix(strings.TrimSpace(line), ","); line != "" && line != "]" && !json.Valid([]byte(line)) {
			t.Errorf("not one event a line: %s", line)
		}
	}
}

// Without a trace nothing is written.
func TestNoTrace(t *testing.T) {
	var tr *Trace
	row := tr.row(traceStores)
	row.span("work", time.Now(), nil)
	row.leave()
	if err := tr.Close(); err != nil || row != nil {
		t.Errorf("%v, row %v", err, row)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestTraceOnAFullDisk(t *testing.T) {
	tr := NewTrace(fullDisk{})
	for range 2000 {
		row := tr.row(traceCores)
		row.span("work", time.Now(), nil)
		row.leave()
	}
	if err := tr.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("closing gave %v", err)
	}
}

// The trace of a job shows every object in every stage, on rows where one thing is done
// at a time.
func TestTraceOfAJob(t *testing.T) {
	const objects = 7
	for _, device := range []bool{false, true} {
		var out bytes.Buffer
		tr := NewTrace(&out)
		c := &fake{}
		j := newJob(t, "mem://source", "mem://target", c, nil)
		j.photos(objects, 16).plan()
		opts := Options{CPU: 3, Trace: tr}
		w, read, encoded := j.worker(opts, c), "cores", "cores"
		if device {
			w, encoded = j.deviceWorker(opts, c), "lanes of the device"
		}
		if err := j.chunk(w, 0); err != nil {
			t.Fatal(err)
		}
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		spans, processes := readTrace(t, out.Bytes())
		count := map[string]int{}
		for at, list := range spans {
			outer := []traceEvent{}
			for _, e := range list {
				n := 1
				if got, ok := e.Args["objects"].(float64); ok {
					n = int(got)
				}
				count[processes[at[0]]+": "+e.Name] += n
				if e.Name == "object" || e.Name == "fake" || e.Name == stageFetch || e.Name == stageStore {
					outer = append(outer, e)
				}
			}
			slices.SortFunc(outer, func(a, b traceEvent) int { return int(a.Time*1e3 - b.Time*1e3) })
			for i := 1; i < len(outer); i++ {
				if before := outer[i-1]; outer[i].Time < before.Time+before.Dur-1 { // rounded to a nanosecond
					t.Errorf("row %v of %s: %+v begins before %+v ends", at, processes[at[0]], outer[i], before)
				}
			}
		}
		for _, want := range []string{"fetches: fetch", read + ": read", encoded + ": encode", "cores: verify", "stores: store"} {
			if count[want] != objects {
				t.Errorf("device %v: %d objects in %q, want %d: %v", device, count[want], want, objects, count)
			}
		}
	}
}

// The name of a patient in a key is in no trace, whether the source is a DICOM file, whatever its name, or a series.
func TestTracesNameNoPatient(t *testing.T) {
	files := seriestest.Slices(3, nil)
	j, e := seriesJob(t, files)
	j.plan(e)
	one := newJob(t, "mem://source", "mem://target", jpeg2000.Codec{}, nil)
	one.put("patient/ct", mr(32, 32).file())
	one.plan()
	for name, j := range map[string]*job{"series": j, "file": one} {
		var out bytes.Buffer
		tr := NewTrace(&out)
		if err := j.chunk(j.worker(Options{Trace: tr}, jpeg2000.Codec{}), 0); err != nil {
			t.Fatal(err)
		}
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, "patient") || !strings.Contains(text, "hmac:") {
			t.Errorf("%s: the trace has the key, or no hash of it: %s", name, text)
		}
	}
}

func TestTraceOfOtherVerbs(t *testing.T) {
	c := &fake{}
	j := compressed(t, c, 3)
	var out bytes.Buffer
	tr := NewTrace(&out)
	back := j.open("mem://back")
	counts, err := Decompress(t.Context(), j.target, back, &DecompressOptions{CPU: 2, Trace: tr, Codecs: []codec.Codec{c}})
	if err != nil || counts.Compressed != 3 {
		t.Fatalf("%v, %+v", err, counts)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	spans, processes := readTrace(t, out.Bytes())
	count := map[string]int{}
	for at, list := range spans {
		for _, e := range list {
			count[processes[at[0]]+": "+e.Name]++
		}
	}
	for _, want := range []string{"fetches: fetch", "cores: read", "cores: encode", "cores: verify", "stores: store"} {
		if count[want] != 3 {
			t.Errorf("%d of %q, want 3: %v", count[want], want, count)
		}
	}
}
