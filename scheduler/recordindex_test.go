package scheduler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// jsonLine is a value as a line.
func jsonLine(t testing.TB, v any) []byte {
	t.Helper()
	line, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return append(line, '\n')
}

// Frames of merged records are found by key, also where keys have quotes, and whoever reads the whole file passes over the
// index.
func TestRecordsAreFoundByKey(t *testing.T) {
	r := newRig(t)
	b := r.bucket(r.target)
	for _, n := range []int{1, 2, mergedFrame - 1, mergedFrame, mergedFrame + 1, 5*mergedFrame + 7} {
		name := fmt.Sprintf("file-%d", n)
		m := merging{put: func(_ int, data []byte) error {
			return folder{b: b}.put(r.ctx, name, data, false)
		}}
		var keys []string
		for i := range n {
			key := fmt.Sprintf("k%06d", i)
			if i%3 == 0 {
				key += `"\`
			}
			keys = append(keys, key)
			if err := m.add(jsonLine(t, &jobs.Result{Key: key, Outcome: jobs.OutcomeCompressed})); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.end(); err != nil {
			t.Fatal(err)
		}
		x, err := readIndex(r.ctx, b, name)
		if err != nil || x.last != keys[n-1] || len(x.frames) != (n+mergedFrame-1)/mergedFrame {
			t.Fatalf("%d records: index of %d frames to %q (%v)", n, len(x.frames), x.last, err)
		}
		for _, i := range []int{0, n / 2, n - 1} {
			var found []string
			want := &keyRanges{prefixes: []string{keys[i]}}
			err := linesWithin(r.ctx, b, name, x, want, func(line []byte) error {
				key, _, err := lineKey(line)
				found = append(found, key)
				return err
			})
			if err != nil || !slices.Equal(found, keys[i:i+1]) {
				t.Errorf("%d records: %q gives %q (%v)", n, keys[i], found, err)
			}
		}
		if spans := x.spans(&keyRanges{prefixes: []string{"a", "z"}}); len(spans) > 0 {
			t.Errorf("keys outside of the file are looked for in %v", spans)
		}
		whole := 0
		if err := rawLines(r.ctx, b, name, func([]byte) error { whole++; return nil }); err != nil || whole != n {
			t.Errorf("%d of %d records in the whole file (%v)", whole, n, err)
		}
	}
	var old storage.Lines // as earlier versions wrote it
	if _, _, err := storage.Frame(&old, []jobs.Result{{Key: "a"}, {Key: "b"}}); err != nil {
		t.Fatal(err)
	}
	if err := (folder{b: b}).put(r.ctx, "old", old.Bytes(), false); err != nil {
		t.Fatal(err)
	}
	found := 0
	x, err := readIndex(r.ctx, b, "old")
	if err == nil {
		err = linesWithin(r.ctx, b, "old", x, &keyRanges{prefixes: []string{"b"}}, func([]byte) error { found++; return nil })
	}
	if err != nil || found != 1 {
		t.Errorf("of a file without an index %d records (%v)", found, err)
	}
}

// FuzzRecordIndex holds what parseIndex lets through against what is read by it.
func FuzzRecordIndex(f *testing.F) {
	x := recordIndex{frames: []recordFrame{{0, 5, "a", false}, {5, 6, "b", false}}, last: "c"}
	names := sitekey.New([32]byte{1}).Reader()
	sealed := recordIndex{frames: []recordFrame{{0, 5, "a", true}, {5, 6, "b", false}}, last: "c", lastSealed: true}
	for _, x := range []recordIndex{x, sealed} {
		for _, file := range [][]byte{make([]byte, 11), nil} {
			file, err := x.appendTo(file, names)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(file)
		}
	}
	f.Add([]byte("pmix"))
	f.Fuzz(func(t *testing.T, file []byte) {
		got, more, ok := parseIndex(file, int64(len(file)), names)
		if !ok {
			if more > int64(len(file)) {
				t.Errorf("%d bytes of %d are wanted", more, len(file))
			}
			return
		}
		end := int64(0)
		for _, f := range got.frames {
			if f.offset != end || f.length < 1 {
				t.Fatalf("%+v", got.frames)
			}
			end += f.length
		}
		if end > int64(len(file)) || got.last == "" && len(got.frames) == 0 {
			t.Fatalf("%+v of %d bytes", got, len(file))
		}
		if again, err := got.appendTo(file[:end:end], names); err != nil || !bytes.Equal(again, file) {
			x, _, ok := parseIndex(again, int64(len(again)), names)
			if !ok || !slices.Equal(x.frames, got.frames) || x.last != got.last {
				t.Errorf("%+v, written again %+v", got, x)
			}
		}
	})
}

// Parts of merged records end where they would if one frame were compressed after the other, and an error of a part ends the work with
// nothing left running.
func TestMergedRecordsInParts(t *testing.T) {
	const n = partEntries + (framesAtOnce+2)*mergedFrame + 5
	record := func(i int) []byte { return fmt.Appendf(nil, `{"key":"k%07d","outcome":"compressed"}`+"\n", i) }
	var want bytes.Buffer
	var got []byte
	var parts []int
	m := merging{put: func(part int, data []byte) error {
		lines := 0
		err := storage.EachLine(bytes.NewReader(data), func(line []byte) error {
			lines++
			got = append(append(got, line...), '\n')
			return nil
		})
		parts = append(parts, lines)
		return err
	}}
	for i := range n {
		want.Write(record(i))
		if err := m.add(record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.end(); err != nil {
		t.Fatal(err)
	}
	first := (partEntries + mergedFrame - 1) / mergedFrame * mergedFrame
	if !slices.Equal(parts, []int{first, n - first}) || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("parts of %v records, want %d and %d; in order: %v", parts, first, n-first, bytes.Equal(got, want.Bytes()))
	}

	full := errors.New("the disk is full")
	m = merging{put: func(int, []byte) error { return full }}
	var err error
	for i := 0; i < n && err == nil; i++ {
		err = m.add(record(i))
	}
	m.wait()
	if !errors.Is(err, full) || len(m.packing) > 0 {
		t.Errorf("%v, %d frames at work", err, len(m.packing))
	}
}
