package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// Trace is a timeline of what each core, each lane of the device and each transfer of a
// process does, and of how many objects wait meanwhile: where one of them is idle while
// objects wait, the process could be faster. It is written in the array form of the Trace
// Event Format that Chromium's about://tracing and Perfetto (ui.perfetto.dev) read, one
// event a line, so that what a killed process leaves is readable too. An object makes
// about eight events of 120 bytes; keys are those of the log.
//
// All methods are safe for concurrent use and for a nil Trace, which writes nothing.
type Trace struct {
	start time.Time

	mu    sync.Mutex // guards the values
	out   *bufio.Writer
	taken [len(traceKinds)][]bool // rows of each kind
	err   error                   // the first of writing
}

// traceKind is what a row stands for. Each kind is shown as one process.
type traceKind int

const (
	traceCores traceKind = iota
	traceLanes
	traceFetches
	traceStores
	traceWaiting // counters
)

var traceKinds = [...]string{"cores", "lanes of the device", "fetches", "stores", "waiting"}

// traceInterval is the time between two looks at what waits.
const traceInterval = 5 * time.Millisecond

// traceEvent is one line: an event of a phase, with times in microseconds.
type traceEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"` // X: a span; C: a counter; M: metadata
	Time  float64        `json:"ts"`
	Dur   float64        `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

// NewTrace begins a timeline that is written to w. The caller calls [Trace.Close] when
// everything that has the trace has ended, and then closes w.
func NewTrace(w io.Writer) *Trace {
	t := &Trace{start: time.Now(), out: bufio.NewWriterSize(w, 1<<16)}
	t.out.WriteByte('[')
	for kind, name := range traceKinds {
		t.write(traceEvent{Name: "process_name", Phase: "M", PID: kind + 1, Args: map[string]any{"name": name}})
		t.write(traceEvent{Name: "process_sort_index", Phase: "M", PID: kind + 1, Args: map[string]any{"sort_index": kind}})
	}
	return t
}

// Close ends the timeline. The error is the first of writing.
func (t *Trace) Close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out.WriteString("\n]\n")
	err := t.out.Flush()
	if t.err != nil {
		err = t.err
	}
	t.err = errors.New("the trace is closed") // of calls that were given up
	if err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return nil
}

// write adds an event. The caller holds the lock, or is the only one.
func (t *Trace) write(e traceEvent) {
	if t.err != nil {
		return
	}
	line, err := json.Marshal(e)
	if err == nil {
		if e.Phase != "M" || t.out.Buffered() > 1 {
			t.out.WriteByte(',')
		}
		t.out.WriteByte('\n')
		_, err = t.out.Write(line)
	}
	t.err = err
}

func (t *Trace) since(at time.Time) float64 { return micros(at.Sub(t.start)) }

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// row takes the lowest free row of a kind. The caller calls leave once.
func (t *Trace) row(kind traceKind) *traceRow {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := t.taken[kind]
	n := 0
	for n < len(rows) && rows[n] {
		n++
	}
	if n == len(rows) {
		t.taken[kind] = append(rows, false)
		t.write(traceEvent{Name: "thread_name", Phase: "M", PID: int(kind) + 1, TID: n + 1, Args: map[string]any{"name": strconv.Itoa(n + 1)}})
	}
	t.taken[kind][n] = true
	return &traceRow{t: t, kind: kind, n: n}
}

// waits writes how many objects wait for each of the names.
func (t *Trace) waits(counts map[string]any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.write(traceEvent{Name: traceKinds[traceWaiting], Phase: "C", Time: t.since(time.Now()), PID: int(traceWaiting) + 1, Args: counts})
}

// traceRow is a row that somebody has. Its methods do nothing for nil.
type traceRow struct {
	t    *Trace
	kind traceKind
	n    int
}

// span writes what the row did from start until now. args may be nil.
func (r *traceRow) span(name string, start time.Time, args map[string]any) {
	if r == nil {
		return
	}
	d := time.Since(start)
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	r.t.write(traceEvent{Name: name, Phase: "X", Time: r.t.since(start), Dur: micros(d), PID: int(r.kind) + 1, TID: r.n + 1, Args: args})
}

// leave gives the row to whoever comes next.
func (r *traceRow) leave() {
	if r == nil {
		return
	}
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	r.t.taken[r.kind][r.n] = false
}
