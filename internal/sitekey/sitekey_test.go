package sitekey_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
)

func TestSealedTexts(t *testing.T) {
	key, other := sitekey.New([32]byte{1}), sitekey.New([32]byte{2})
	for _, text := range []string{"", "a", "DOE^JANE/1.dcm", strings.Repeat("x", 16), strings.Repeat("long", 100_000)} {
		sealed := key.Seal([]byte(text))
		back, err := key.Unseal(sealed)
		if err != nil || string(back) != text {
			t.Errorf("%d bytes come back as %d: %v", len(text), len(back), err)
		}
		if again := key.Seal([]byte(text)); again != sealed {
			t.Errorf("%d bytes are sealed in two ways", len(text))
		}
		if other.Seal([]byte(text)) == sealed {
			t.Errorf("%d bytes are sealed alike with two keys", len(text))
		}
		if _, err := other.Unseal(sealed); !errors.Is(err, sitekey.ErrSealed) {
			t.Errorf("another key opens %d bytes: %v", len(text), err)
		}
		data, err := base64.RawURLEncoding.DecodeString(sealed)
		if err != nil || len(text) > 3 && bytes.Contains(data, []byte(text)) {
			t.Fatalf("%q: %v", sealed, err)
		}
		for _, i := range []int{0, 15, len(data) - 1} {
			changed := bytes.Clone(data)
			changed[i] ^= 1
			if _, err := key.Unseal(base64.RawURLEncoding.EncodeToString(changed)); !errors.Is(err, sitekey.ErrSealed) {
				t.Errorf("%d bytes open with byte %d changed: %v", len(text), i, err)
			}
		}
		for _, damaged := range []string{sealed[:len(sealed)-1], sealed + "A", sealed[1:], "", "!", strings.Repeat("A", 21)} {
			if _, err := key.Unseal(damaged); !errors.Is(err, sitekey.ErrSealed) {
				t.Errorf("%d damaged bytes open: %v", len(text), err)
			}
		}
	}
	if key.Hash("key", "a") == key.Hash("instance", "a") || key.Name("a") == other.Name("a") || key.Name("a") != key.Name("a") {
		t.Error("hashes do not tell kinds or keys apart, or change")
	}
}

// Whoever opens a key first makes it for all.
func TestOpen(t *testing.T) {
	buckets := storage.NewBuckets()
	defer buckets.Close()
	b, err := buckets.Open(t.Context(), "mem://target")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sitekey.Open(t.Context(), b, jobs.SiteKey, false); !errors.Is(err, sitekey.ErrNone) {
		t.Errorf("no key: %v", err)
	}
	var made [8]string
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			key, err := sitekey.Open(t.Context(), b, jobs.SiteKey, true)
			if err != nil {
				t.Error(err)
				return
			}
			made[i] = key.Name("a")
		})
	}
	all.Wait()
	key, err := sitekey.Open(t.Context(), b, jobs.SiteKey, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range made {
		if name != key.Name("a") {
			t.Error("two keys were made")
		}
	}
	for _, damaged := range []string{"", "no key", strings.Repeat("0", 63), strings.Repeat("g", 64)} {
		if _, err := storage.Put(t.Context(), b, "damaged", []byte(damaged), &storage.PutOptions{Overwrite: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := sitekey.Open(t.Context(), b, "damaged", true); err == nil {
			t.Errorf("%q was taken for a key", damaged)
		}
	}
}

// records are of medical images, with what names a patient, and of others.
func records() []jobs.Result {
	return []jobs.Result{
		{Key: "DOE/1.dcm", Size: 3, Outcome: jobs.OutcomeCompressed, Target: "DOE/1.dcm", SourceFormat: "dicom", Note: "DOE/1.dcm was there"},
		{Key: "DOE/2", Size: 3, Outcome: jobs.OutcomeFailed, Class: class.Storage, Error: `get "DOE/2": away`, SourceFormat: "dicom"},
		{Key: "DOE.nii.gz", Outcome: jobs.OutcomeRejected, Class: class.Malformed, Error: "it is cut short"},
		{Key: "DOE", Outcome: jobs.OutcomeCompressed, Target: "DOE.jp3d", Parts: []jobs.Part{{Key: "DOE/1.dcm", Size: 1, SHA256: "a"}, {Key: "DOE/2.dcm", Size: 2}}},
		{Key: "a.png", Outcome: jobs.OutcomeFailed, Class: class.Storage, Error: `get "a.png": away`},
	}
}

// Records that are written have nothing that names a patient, and come back as they were.
func TestRecords(t *testing.T) {
	key := sitekey.New([32]byte{1})
	in := key.Reader()
	for _, r := range records() {
		if err := key.SealResult(&r); err != nil {
			t.Fatal(err)
		}
		written := r.Written()
		line, err := json.Marshal(&written)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := json.Marshal(r.Shown("elsewhere"))
		if err != nil || bytes.Contains(line, []byte("DOE")) || bytes.Contains(shown, []byte("DOE")) {
			t.Errorf("%s; shown %s, %v", line, shown, err)
		}
		if r.KeyHash != "" && (!bytes.Contains(shown, []byte(key.Name(r.Key))) || len(r.Parts) > 0 && !bytes.Contains(shown, []byte(key.Name(r.Parts[1].Key)))) {
			t.Errorf("shown without a hash: %s", shown)
		}
		opened, err := in.Line(line)
		if err != nil {
			t.Fatal(err)
		}
		var back jobs.Result
		if err := json.Unmarshal(opened, &back); err != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("%+v comes back as %+v, %v", r, back, err)
		}
		if err := key.SealResult(&back); err != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("%+v sealed again is %+v, %v", r, back, err)
		}
		if _, err := sitekey.New([32]byte{2}).Reader().Line(line); r.KeyHash != "" && !errors.Is(err, sitekey.ErrSealed) {
			t.Errorf("another key: %v", err)
		}
	}
	// What an earlier version wrote gets hashes when it is read.
	for _, r := range records() {
		medical := r.Medical()
		if err := in.Complete(&r); err != nil || (r.KeyHash != "") != medical || r.Sealed != "" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	for _, line := range []string{"", "{", `{"key_hash":"`, `{"key_hash":"a"}`, `{"key_hash":"a","sealed":"b`, `{"key":"a"}`} {
		if got, err := in.Line([]byte(line)); err != nil || string(got) != line {
			t.Errorf("%q is opened as %q, %v", line, got, err)
		}
	}
}

// Other lines than records are sealed too.
func TestOtherLines(t *testing.T) {
	key := sitekey.New([32]byte{1})
	intent := jobs.Intent{Key: "DOE", Target: "DOE.dcm", Outcome: jobs.OutcomeKept, TargetSize: 3}
	deleted := jobs.Deleted{Key: "DOE", Target: "DOE.dcm", Source: "s3://b", TargetSize: 3}
	damage := jobs.Damage{Key: "DOE", Target: "DOE.dcm", Error: "DOE is gone", Problem: "missing", Parts: []string{"DOE/1"}}
	for _, c := range []struct {
		written, back any
		seal          func() error
	}{
		{&intent, &jobs.Intent{}, func() error { return key.SealIntent(&intent) }},
		{&deleted, &jobs.Deleted{}, func() error { return key.SealDeleted(&deleted) }},
		{&damage, &jobs.Damage{}, func() error { return key.SealDamage(&damage) }},
	} {
		before := fmt.Sprintf("%+v", c.written)
		if err := c.seal(); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(c.written)
		if err != nil || bytes.Contains(line, []byte("DOE")) {
			t.Errorf("%s, %v", line, err)
		}
		if line, err = key.Reader().Line(line); err == nil {
			err = json.Unmarshal(line, c.back)
		}
		v := reflect.ValueOf(c.back).Elem()
		v.FieldByName("KeyHash").SetString("")
		v.FieldByName("Sealed").SetString("")
		if after := fmt.Sprintf("%+v", c.back); err != nil || after != before {
			t.Errorf("%s comes back as %s, %v", before, after, err)
		}
	}
}

// A key that was lost and made anew by a worker that did not know of it: with the lines of both, records of both are read.
func TestAKeyThatWasLost(t *testing.T) {
	buckets := storage.NewBuckets()
	defer buckets.Close()
	b, err := buckets.Open(t.Context(), "mem://target")
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]byte
	var kept []byte
	for range 2 {
		r := records()[0]
		if err := sitekey.NewWriter(b).Result(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
		written := r.Written()
		line, err := json.Marshal(&written)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
		got, err := storage.Get(t.Context(), b, jobs.SiteKey, 1<<10, nil)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(bytes.Clone(got.Data), kept...)
		if err := b.Delete(t.Context(), jobs.SiteKey); err != nil {
			t.Fatal(err)
		}
	}
	put := func(data []byte) {
		if _, err := storage.Put(t.Context(), b, jobs.SiteKey, data, &storage.PutOptions{Overwrite: true}); err != nil {
			t.Fatal(err)
		}
	}
	put(kept[:65])
	if _, err := sitekey.NewReader(t.Context(), b).Line(lines[0]); !errors.Is(err, sitekey.ErrSealed) || !strings.Contains(err.Error(), "add the line of the earlier one to it") {
		t.Errorf("with the new key alone: %v", err)
	}
	put(kept)
	for i, line := range lines {
		if opened, err := sitekey.NewReader(t.Context(), b).Line(line); err != nil || !bytes.HasPrefix(opened, []byte(`{"key":"`)) {
			t.Errorf("record %d: %s, %v", i, opened, err)
		}
	}
	r := records()[0]
	if err := sitekey.NewWriter(b).Result(t.Context(), &r); err != nil || !bytes.Contains(lines[1], []byte(r.Sealed)) {
		t.Errorf("it is not sealed with the first key: %v", err)
	}
	put(append(kept, "no key"...))
	if _, err := sitekey.Open(t.Context(), b, jobs.SiteKey, true); err == nil {
		t.Error("a line that is no key is taken")
	}
}

func BenchmarkSealResult(b *testing.B) {
	key := sitekey.New([32]byte{1})
	all := records()
	b.ReportAllocs()
	for i := range b.N {
		r := all[i%3]
		if err := key.SealResult(&r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLine(b *testing.B) {
	key := sitekey.New([32]byte{1})
	for _, r := range []jobs.Result{records()[0], {Key: "a.png"}} {
		name := "medical"
		if !r.Medical() {
			name = "other"
		}
		if err := key.SealResult(&r); err != nil {
			b.Fatal(err)
		}
		written := r.Written()
		line, err := json.Marshal(&written)
		if err != nil {
			b.Fatal(err)
		}
		in := key.Reader()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := in.Line(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
