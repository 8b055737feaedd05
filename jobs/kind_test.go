package jobs

import (
	"slices"
	"testing"
)

func TestKindOf(t *testing.T) {
	for key, want := range map[string]string{
		"a/b.jpg": "jpeg", "B.JPEG": "jpeg", "scan.tiff": "tiff", "v.nii.gz": "nii", "x.gz": "other",
		"1.2.840.113": "other", "notes.txt": "other", "a.png/b": "other", "i.DCM": "dicom", "p.j2k": "jpeg2000",
	} {
		if got := KindOf(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// Where a result can have one of several extensions, each of its names follows from the key.
func TestTargetKeysOfSeveralExtensions(t *testing.T) {
	x := Extensions{".jxl", ".webp", ".raw"}
	for _, tt := range []struct {
		e    Entry
		want []string
	}{
		{Entry{Key: "a/b.png"}, []string{"a/b.jxl", "a/b.webp", "a/b.raw"}},
		{Entry{Key: "a/b.png", Full: true}, []string{"a/b.png.jxl", "a/b.png.webp", "a/b.png.raw"}},
		{Entry{Key: "1.2.840"}, []string{"1.2.840.jxl", "1.2.840.webp", "1.2.840.raw"}},
	} {
		if got := tt.e.TargetKeys(x); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q, want %q", tt.e, got, tt.want)
		}
		for _, key := range append(tt.want, "") {
			tt.e.PlannedTarget = key
			if err := tt.e.Check(x...); err != nil {
				t.Error(err)
			}
		}
		tt.e.PlannedTarget = "c.webp"
		if tt.e.Check(x...) == nil {
			t.Errorf("%+v: a target that does not follow from the key", tt.e)
		}
	}
	if stem := x.Stem("b.RAW"); stem != "b" {
		t.Errorf("stem %q", stem)
	}
	if stem, ok := x.Cut("b.webp"); !ok || stem != "b" {
		t.Errorf("stem %q, %v", stem, ok)
	}
	if _, ok := x.Cut("b.png"); ok {
		t.Error("b.png ends with none of them")
	}
}
