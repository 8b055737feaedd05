package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func series() Entry {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := Entry{Key: "scan/7", Parts: []Part{{"scan/1.dcm", 10, "a", at, false, nil, "", ""}, {"scan/2.dcm", 20, "b", at, false, nil, "", ""}, {"scan/3.dcm", 30, "c", at, false, nil, "", ""}}}
	e.Sum()
	return e
}

// What manifests, chunks and records hold of an ordinary object is as it always was.
func TestLinesOfOrdinaryObjects(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, v := range map[string]any{
		`{"k":"a.png","s":7,"e":"x","m":"2026-01-02T03:04:05Z"}`:                                 Entry{Key: "a.png", Size: 7, ETag: "x", ModTime: at},
		`{"k":"a.png","s":-1,"f":true,"o":[{"j":"j","s":1,"h":"ab"}],"x":true,"b":"no","t":"y"}`: Entry{Key: "a.png", Size: -1, Full: true, Old: []Version{{"j", 1, "ab"}}, Missing: true, Bad: "no", PlannedTarget: "y"},
		`{"key":"a.png","etag":"x","size":7,"mod_time":"2026-01-02T03:04:05Z","outcome":"kept"}`: Result{Key: "a.png", ETag: "x", Size: 7, ModTime: at, Outcome: OutcomeKept},
	} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

func TestASeriesInALine(t *testing.T) {
	e := series()
	line, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var got Entry
	if err := json.Unmarshal(line, &got); err != nil || got.Size != 60 || !slices.Equal(got.Parts, e.Parts) {
		t.Errorf("%s: %+v, %v", line, got, err)
	}
	if e.TargetKey(".vq") != "scan/7.vq" {
		t.Errorf("target %s", e.TargetKey(".vq"))
	}
}

func TestTheFingerprintOfASeriesIsOfEveryPart(t *testing.T) {
	s := valid()
	seen := map[string]string{s.Fingerprint(series()): "the series"}
	for name, change := range map[string]func(*Entry){
		"etag of the last":  func(e *Entry) { e.Parts[2].ETag = "d" },
		"size of the first": func(e *Entry) { e.Parts[0].Size++ },
		"key of the second": func(e *Entry) { e.Parts[1].Key = "scan/2b.dcm" },
		"order":             func(e *Entry) { e.Parts[0], e.Parts[1] = e.Parts[1], e.Parts[0] },
		"one less":          func(e *Entry) { e.Parts = e.Parts[:2]; e.Sum() },
		"one more":          func(e *Entry) { e.Parts = append(e.Parts, Part{Key: "scan/4.dcm", ETag: "d"}) },
		"none":              func(e *Entry) { e.Parts = nil },
	} {
		e := series()
		change(&e)
		if other, ok := seen[s.Fingerprint(e)]; ok {
			t.Errorf("%s: the same fingerprint as %s", name, other)
		}
		seen[s.Fingerprint(e)] = name
	}
	same := series()
	same.Parts[1].ModTime = time.Time{}
	if seen[s.Fingerprint(same)] != "the series" {
		t.Error("the fingerprint changes with the time of a part")
	}
}

func TestObserveASeries(t *testing.T) {
	e := series()
	e.Parts = slices.Clone(e.Parts)
	e.Observe(1, Part{Size: 25, ETag: "z"})
	if e.Size != 65 || e.Parts[1].Key != "scan/2.dcm" || e.Parts[1].ETag != "z" || e.Missing {
		t.Errorf("%+v", e)
	}
	e.Observe(2, Part{Size: -1, Missing: true})
	if e.Size != -1 || !e.Missing {
		t.Errorf("%+v", e)
	}
	o := Entry{Key: "a", Size: -1}
	o.Observe(0, Part{Size: 5, ETag: "x"})
	if got := o.Objects(); len(got) != 1 || got[0] != (Part{Key: "a", Size: 5, ETag: "x"}) {
		t.Errorf("%+v", got)
	}
}

func TestSeriesThatNoPlanHas(t *testing.T) {
	if err := series().Check(".vq"); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Entry){
		"element":        func(e *Entry) { e.Parts[1].Key = "../x" },
		"is empty":       func(e *Entry) { e.Parts[1].Key = "" },
		"pelmill's own":  func(e *Entry) { e.Parts[1].Key = ".pelmill/jobs/x" },
		"twice":          func(e *Entry) { e.Parts[1].Key = e.Parts[0].Key },
		"more than 1048": func(e *Entry) { e.Parts[1].Key = strings.Repeat("x", maxPartText) },
		"10001 parts": func(e *Entry) {
			for i := len(e.Parts); i <= MaxParts; i++ {
				e.Parts = append(e.Parts, Part{Key: fmt.Sprint(i)})
			}
		},
	} {
		e := series()
		change(&e)
		if err := e.Check(".vq"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
