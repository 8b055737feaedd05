package jobs

import (
	"testing"
	"time"
)

func TestBandwidth(t *testing.T) {
	monday := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		text     string
		at       time.Duration // from Monday 00:00
		up, down float64
	}{
		{"", 0, 0, 0},
		{"10M", 0, 10 << 20, 10 << 20},
		{"1.5k", time.Hour, 1536, 1536},
		{"10M:100B", 0, 10 << 20, 100},
		{"off", 0, 0, 0},
		{"08:00,512K 19:00,off", 8 * time.Hour, 512 << 10, 512 << 10},
		{"08:00,512K 19:00,off", 7 * time.Hour, 0, 0},
		{"08:00,512K 19:00,1M", 7 * time.Hour, 1 << 20, 1 << 20},
		{"Mon-00:00,512K Fri-19:00,off", 96 * time.Hour, 512 << 10, 512 << 10},
		{"Mon-00:00,512K Fri-19:00,off", 116 * time.Hour, 0, 0},
	} {
		b, err := ParseBandwidth(test.text)
		if got := b.at(monday.Add(test.at)); err != nil || got.Up != test.up || got.Down != test.down {
			t.Errorf("%q after %v: %+v, %v; want %v up and %v down", test.text, test.at, got, err, test.up, test.down)
		}
	}
	for _, text := range []string{"10", "-1M", "M", "08:00", "8,1M", "Xyz-08:00,1M", "1M 2M", "1M:", "infM", "nanM"} {
		if b, err := ParseBandwidth(text); err == nil {
			t.Errorf("%q is read as %+v", text, b)
		}
	}
}

func TestBudget(t *testing.T) {
	n, b, d := int64(10), int64(1000), time.Minute
	s := Settings{MaxObjects: &n, MaxBytes: &b, MaxDuration: &d}
	for _, test := range []struct {
		used Used
		want bool
	}{
		{Used{}, false}, {Used{Work{9, 999}, 59}, false}, {Used{Work{10, 0}, 0}, true}, {Used{Work{0, 1000}, 0}, true}, {Used{Seconds: 60}, true},
	} {
		if got := s.Exceeded(test.used); got != "" != test.want {
			t.Errorf("%+v: %q", test.used, got)
		}
	}
	if !s.Fits(Used{Work: Work{5, 500}}, Work{5, 500}) || s.Fits(Used{Work: Work{5, 500}}, Work{6, 0}) || s.Fits(Used{Work: Work{5, 500}}, Work{0, 501}) {
		t.Error("what fits into a budget")
	}
	if (Settings{}).Exceeded(Used{Work{1 << 40, 1 << 50}, 1e9}) != "" {
		t.Error("no budget is used up")
	}
}
