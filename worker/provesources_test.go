package worker

import (
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// A result and its source are proved by what is there now: neither a damaged one nor one that only the records agree on
// passes.
func TestProveSources(t *testing.T) {
	c := &fake{}
	j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Others = "copy"; s.Reduce = true })
	keys := []string{"good.png", "wide.png", "edited.png", "gone.png", "forged.png", "damaged.png", "copy.txt", "later.png"}
	for i, key := range keys {
		j.put(key, png(t, photo(uint64(i), 20, 20, 3)))
	}
	wide := photo(9, 20, 20, 3)
	deep := *wide
	deep.Bits, deep.Pix = 16, nil
	for _, v := range wide.Pix {
		deep.Pix = append(deep.Pix, v, v)
	}
	overwrite := &storage.PutOptions{Overwrite: true}
	put := func(b *storage.Bucket, key string, data []byte) {
		t.Helper()
		if _, err := storage.Put(j.ctx, b, key, data, overwrite); err != nil {
			t.Fatal(err)
		}
	}
	put(j.source, "wide.png", png(t, &deep)) // the job takes its samples as 8-bit ones
	put(j.source, "copy.txt", []byte("no picture"))
	j.plan()
	j.compress(c)
	records := j.results()

	put(j.source, "edited.png", png(t, photo(100, 20, 20, 3)))
	// Whoever writes records can make them agree with a source that the result was not made from.
	other := png(t, photo(101, 20, 20, 3))
	put(j.source, "forged.png", other)
	forged := records["forged.png"]
	forged.SHA256, forged.Size = sumOf(other), int64(len(other))
	records["forged.png"] = forged
	put(j.target, "damaged.fake", []byte("nothing"))

	var proofs []SourceProof
	for _, key := range keys {
		o, _, err := storage.Stat(j.ctx, j.source, key)
		if err != nil {
			t.Fatal(err)
		}
		proofs = append(proofs, SourceProof{jobs.Claim{Result: records[key]}, j.source, []storage.Object{o}})
	}
	if err := storage.Delete(j.ctx, j.source, "gone.png"); err != nil {
		t.Fatal(err)
	}
	put(j.source, "later.png", png(t, photo(102, 20, 20, 3))) // since it was looked up
	faults, err := ProveSources(j.ctx, j.target, proofs, &VerifyOptions{Codecs: []codec.Codec{c}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"edited.png": "it has other bytes", "gone.png": "it changed", "forged.png": "it decodes to another picture",
		"damaged.png": "its result: ", "later.png": "it changed"}
	for i, key := range keys {
		got := ""
		if faults[i] != nil {
			got = faults[i].Error()
		}
		if !strings.HasPrefix(got, want[key]) || want[key] == "" && got != "" {
			t.Errorf("%s: %q, want %q", key, got, want[key])
		}
	}
}
