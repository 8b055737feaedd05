//go:build fuzzloop && linux

package fuzzloop

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

const (
	maxInput   = 1 << 20 // bytes of one value
	maxSmall   = 1 << 11 // and of one that was mutated, unless a seed was half as large: most code is reached by short inputs, which take less time
	chained    = 5       // mutations of an input before another one is taken, as go test -fuzz has it
	ofOneTest  = 1 << 16 // inputs that a test serves, after which what it keeps is given back
	printEvery = 3 * time.Second
	longest    = 20 * time.Second // that an input may take
)

// Run is f.Fuzz(target) when tests are fuzzed by a loop: it runs the seeds as f.Fuzz does, then executes inputs for -test.fuzztime and prints
// what go test -fuzz prints. An input that fails the target is written to testdata/fuzz, as is one on which the process dies, at the
// latest when it is started again.
func Run(f *testing.F, target any) {
	l := &loop{name: f.Name(), target: reflect.ValueOf(target), mutator: newMutator(), counters: coverage()}
	kind := l.target.Type()
	for i := 1; i < kind.NumIn(); i++ {
		l.types = append(l.types, kind.In(i))
	}
	if len(l.counters) == 0 {
		f.Fatal("no package is instrumented: compile with -gcflags=PACKAGES=-d=libfuzzer")
	}
	f.Fuzz(reflect.MakeFunc(kind, func(args []reflect.Value) []reflect.Value {
		vals := make([]any, len(args)-1)
		for i := range vals {
			vals[i] = args[i+1].Interface()
		}
		l.corpus = append(l.corpus, clone(vals))
		return l.target.Call(args)
	}).Interface())
	if f.Failed() {
		return
	}
	if err := l.open(); err != nil {
		f.Fatal(err)
	}
	defer l.close()
	// RunTests gives each function a test of its own, which ends with what the inputs have left in it.
	all := func(string, string) (bool, error) { return true, nil }
	for !l.over() {
		if !testing.RunTests(all, []testing.InternalTest{{Name: l.name, F: l.inputs}}) {
			f.FailNow()
		}
	}
}

// loop executes inputs.
type loop struct {
	name     string
	target   reflect.Value
	types    []reflect.Type
	mutator  unsafe.Pointer
	counters []byte
	seen     []byte // the powers of two that each counter has reached

	corpus [][]any
	limit  int    // bytes of one value that was mutated
	cached int    // of the corpus are still to be executed as they are
	dir    string // of the inputs that reached new code
	last   []byte // memory of a file that outlives the process: the input that is executed

	vals    []any
	buffers [][]byte // of those values of vals that are bytes
	steps   int      // mutations of vals so far
	began   time.Time
	printed time.Time
	until   time.Time // zero: until most were executed
	most    int64
	done    int64
	found   int
	since   atomic.Int64 // nanoseconds of the clock when the input was begun; 0: none is
}

// open reads the inputs that earlier runs have found, and executes the one on which the last process died.
func (l *loop) open() error {
	l.vals, l.buffers = make([]any, len(l.types)), make([][]byte, len(l.types))
	l.seen = make([]byte, len(l.counters))
	if cache := flag.Lookup("test.fuzzcachedir").Value.String(); cache != "" {
		l.dir = filepath.Join(cache, l.name)
		entries, err := readCorpus(l.dir, l.types)
		if err != nil {
			return fmt.Errorf("read the corpus: %w", err)
		}
		for _, e := range entries {
			l.corpus = append(l.corpus, e.Values)
		}
	}
	// Seeds that are larger than an input can be were executed once.
	l.corpus = slices.DeleteFunc(l.corpus, func(vals []any) bool {
		return size(vals) > maxInput
	})
	l.limit = maxSmall
	for _, vals := range l.corpus {
		l.limit = max(l.limit, min(2*size(vals), maxInput))
	}
	if len(l.corpus) == 0 {
		vals := make([]any, len(l.types))
		for i, kind := range l.types {
			vals[i] = reflect.Zero(kind).Interface()
		}
		l.corpus = append(l.corpus, vals)
	}
	l.cached = len(l.corpus)
	if err := l.openLast(); err != nil {
		return err
	}
	l.began = time.Now()
	l.printed = l.began
	limit := flag.Lookup("test.fuzztime").Value.String()
	if d, err := time.ParseDuration(limit); err == nil {
		l.until = l.began.Add(d)
	} else if l.most, err = strconv.ParseInt(strings.TrimSuffix(limit, "x"), 10, 64); err != nil {
		return fmt.Errorf("-test.fuzztime=%q: want a time or a number of inputs", limit)
	}
	go l.watch()
	return nil
}

// openLast maps the file that has the input of the moment. What a process that died has left there becomes a case of the target, unless
// the target stands it now: the process may have been killed by somebody.
func (l *loop) openLast() error {
	if l.dir == "" {
		l.last = make([]byte, 8+(8+maxInput)*len(l.types))
		return nil
	}
	if err := os.MkdirAll(l.dir, 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(l.dir+".last", os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer file.Close()
	size := 8 + (8+maxInput)*len(l.types)
	if err := file.Truncate(int64(size)); err != nil {
		return err
	}
	if l.last, err = syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED); err != nil {
		return fmt.Errorf("map %s: %w", file.Name(), err)
	}
	vals, ok := l.remembered()
	if !ok {
		return nil
	}
	name, err := l.write(filepath.Join("testdata", "fuzz", l.name), vals)
	if err != nil {
		return err
	}
	fmt.Printf("the last process ended while it executed %s\n", name)
	l.vals = vals
	if !testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: l.name, F: func(t *testing.T) { l.target.Call(l.args(t)) }}}) {
		return fmt.Errorf("it fails the target: %s", name)
	}
	l.vals = make([]any, len(l.types))
	return os.Remove(name)
}

// close says what was done. The file of the input is removed, because none is executed.
func (l *loop) close() {
	l.print(time.Now())
	if l.dir != "" {
		os.Remove(l.dir + ".last")
	}
}

func (l *loop) over() bool {
	return l.most > 0 && l.done >= l.most || !l.until.IsZero() && !time.Now().Before(l.until)
}

// print is the line of go test -fuzz.
func (l *loop) print(now time.Time) {
	l.printed = now
	elapsed := now.Sub(l.began)
	fmt.Printf("fuzz: elapsed: %v, execs: %d (%.0f/sec), new interesting: %d (total: %d)\n",
		elapsed.Round(time.Second), l.done, float64(l.done)/max(elapsed.Seconds(), 1e-9), l.found, len(l.corpus))
}

// inputs executes as many as one test serves. A target that skips or fails ends its goroutine, and the next input begins another.
func (l *loop) inputs(t *testing.T) {
	end := l.done + ofOneTest
	if l.most > 0 {
		end = min(end, l.most)
	}
	for l.done < end && !l.over() {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer l.after(t)
			l.some(t, end)
		}()
		<-ended
		if t.Failed() {
			return
		}
	}
}

// some executes inputs until one ends the goroutine.
func (l *loop) some(t *testing.T, end int64) {
	call := l.caller(t)
	for l.done < end {
		if l.done&0xff == 0 || l.done < int64(l.cached) {
			now := time.Now()
			if now.Sub(l.printed) >= printEvery {
				l.print(now)
			}
			if l.over() {
				return
			}
		}
		l.next()
		call()
		l.after(t)
		if t.Failed() {
			return
		}
	}
}

// caller is a call of the target with the values of the moment, without reflection for the commonest kinds.
func (l *loop) caller(t *testing.T) func() {
	switch target := l.target.Interface().(type) {
	case func(*testing.T, []byte):
		return func() { target(t, l.vals[0].([]byte)) }
	case func(*testing.T, string):
		return func() { target(t, l.vals[0].(string)) }
	}
	return func() { l.target.Call(l.args(t)) }
}

func (l *loop) args(t *testing.T) []reflect.Value {
	args := []reflect.Value{reflect.ValueOf(t)}
	for _, v := range l.vals {
		args = append(args, reflect.ValueOf(v))
	}
	return args
}

// next makes the next input: one of the corpus as it is, or another mutation.
func (l *loop) next() {
	switch {
	case l.cached > 0:
		l.cached--
		copy(l.vals, l.corpus[l.cached])
	default:
		if l.steps%chained == 0 {
			copy(l.vals, shorter(l.corpus[rand.IntN(len(l.corpus))], l.corpus[rand.IntN(len(l.corpus))]))
		}
		l.steps++
		mutate(l.mutator, l.vals, (l.limit+100)*len(l.vals))
		for i, v := range l.vals {
			// The mutator has one buffer for all values.
			if b, ok := v.([]byte); ok {
				l.buffers[i] = append(l.buffers[i][:0], b...)
				l.vals[i] = l.buffers[i]
			}
		}
	}
	l.remember()
	clear(l.counters)
	l.since.Store(time.Since(l.began).Nanoseconds() + 1)
}

// after counts the input that was executed and keeps it if it reached new code. It is also called when the target ends its
// goroutine or panics, which ends the process after the input was written.
func (l *loop) after(t *testing.T) {
	if l.since.Load() == 0 {
		return
	}
	l.since.Store(0)
	l.done++
	r := recover()
	if r != nil || t.Failed() {
		name, err := l.write(filepath.Join("testdata", "fuzz", l.name), l.vals)
		if err != nil {
			t.Error(err)
		}
		fmt.Printf("Failing input written to %s\n", name)
		l.forget()
		if r != nil {
			fmt.Printf("--- FAIL: %s\npanic: %v\n%s", l.name, r, debug.Stack())
			l.print(time.Now())
			os.Exit(1)
		}
		return
	}
	if !l.reached() {
		return
	}
	vals := clone(l.vals)
	if l.done <= int64(len(l.corpus)-l.found) {
		return // it is of the corpus
	}
	l.corpus = append(l.corpus, vals)
	l.found++
	if l.dir != "" {
		if _, err := l.write(l.dir, vals); err != nil {
			t.Error(err)
		}
	}
}

// reached adds the counters to what was seen, and is true if one reached a power of two that it had not.
func (l *loop) reached() (news bool) {
	words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(l.counters))), len(l.counters)/8)
	for i, w := range words {
		if w != 0 {
			news = l.note(8*i, 8*i+8) || news
		}
	}
	return l.note(8*len(words), len(l.counters)) || news
}

func (l *loop) note(from, to int) (news bool) {
	for i := from; i < to; i++ {
		if bit := powers[l.counters[i]]; bit&^l.seen[i] != 0 {
			l.seen[i] |= bit
			news = true
		}
	}
	return news
}

// powers are the largest powers of two that are not above each number.
var powers = func() (p [256]byte) {
	for i := 1; i < 256; i++ {
		p[i] = 1
		for 2*int(p[i]) <= i {
			p[i] *= 2
		}
	}
	return p
}()

// write stores an input as go test -fuzz does.
func (l *loop) write(dir string, vals []any) (name string, err error) {
	data := marshalCorpusFile(vals...)
	name = filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256(data))[:16])
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return name, err
	}
	if err := os.WriteFile(name+".new", data, 0o666); err != nil {
		return name, errors.Join(err, os.Remove(name+".new"))
	}
	return name, os.Rename(name+".new", name)
}

// watch ends the process when an input takes too long. The input is in the file of the last one.
func (l *loop) watch() {
	for range time.Tick(time.Second) {
		since := l.since.Load()
		if took := time.Since(l.began).Nanoseconds() + 1 - since; since == 0 || took < longest.Nanoseconds() || l.since.Load() != since {
			continue
		}
		if vals, ok := l.remembered(); ok {
			name, err := l.write(filepath.Join("testdata", "fuzz", l.name), vals)
			fmt.Printf("an input takes longer than %v; Failing input written to %s, %v\n", longest, name, err)
		}
		fmt.Printf("--- FAIL: %s\n", l.name)
		debug.SetTraceback("all")
		panic("the input takes too long")
	}
}

// remember stores the input where it outlives the process: the values one after the other, with a length before those that have
// one, and first, when they are all there, their size.
func (l *loop) remember() {
	l.forget()
	at := 8
	for _, v := range l.vals {
		switch v := v.(type) {
		case []byte:
			binary.LittleEndian.PutUint64(l.last[at:], uint64(len(v)))
			at += 8 + copy(l.last[at+8:], v)
		case string:
			binary.LittleEndian.PutUint64(l.last[at:], uint64(len(v)))
			at += 8 + copy(l.last[at+8:], v)
		default:
			binary.LittleEndian.PutUint64(l.last[at:], scalar(v))
			at += 8
		}
	}
	binary.LittleEndian.PutUint64(l.last, uint64(at))
}

func (l *loop) forget() { binary.LittleEndian.PutUint64(l.last, 0) }

// remembered is the input that remember has stored. It is false where there is none, and where a target of other values has left it.
func (l *loop) remembered() (vals []any, ok bool) {
	end := binary.LittleEndian.Uint64(l.last)
	if end < 8 || end > uint64(len(l.last)) {
		return nil, false
	}
	rest := l.last[8:end]
	for _, kind := range l.types {
		if len(rest) < 8 {
			return nil, false
		}
		n := binary.LittleEndian.Uint64(rest)
		v := reflect.New(kind)
		switch p := v.Interface().(type) {
		case *[]byte, *string:
			if n > uint64(len(rest)-8) {
				return nil, false
			}
			if b, ok := p.(*[]byte); ok {
				*b = bytes.Clone(rest[8 : 8+n])
			} else {
				*p.(*string) = string(rest[8 : 8+n])
			}
			rest = rest[8+n:]
		default:
			copy(unsafe.Slice((*byte)(v.UnsafePointer()), kind.Size()), rest)
			rest = rest[8:]
		}
		vals = append(vals, v.Elem().Interface())
	}
	return vals, len(rest) == 0
}

// scalar is the memory of a number or a truth value, as a little-endian number.
func scalar(v any) uint64 {
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return uint64(r.Int())
	case r.CanUint():
		return r.Uint()
	case r.Kind() == reflect.Bool && r.Bool():
		return 1
	case r.Kind() == reflect.Float32:
		return uint64(math.Float32bits(float32(r.Float())))
	case r.Kind() == reflect.Float64:
		return math.Float64bits(r.Float())
	}
	return 0
}

// size is that of the longest value.
func size(vals []any) (n int) {
	for _, v := range vals {
		switch v := v.(type) {
		case []byte:
			n = max(n, len(v))
		case string:
			n = max(n, len(v))
		}
	}
	return n
}

// shorter is the shorter one of two inputs, but the second one each eighth time.
func shorter(a, b []any) []any {
	if size(a) < size(b) && rand.IntN(8) > 0 {
		return a
	}
	return b
}

func clone(vals []any) []any {
	all := make([]any, len(vals))
	for i, v := range vals {
		if b, ok := v.([]byte); ok {
			v = bytes.Clone(b)
		}
		all[i] = v
	}
	return all
}
