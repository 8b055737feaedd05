package jobs

import (
	"strings"
	"testing"
	"time"
)

func TestParseAge(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	for text, want := range map[string]time.Time{
		"": {}, "off": {},
		"90":                        now.Add(-90 * time.Second),
		"1.5h":                      now.Add(-90 * time.Minute),
		"1h30m":                     now.Add(-90 * time.Minute),
		"250ms":                     now.Add(-time.Second / 4),
		"2d":                        now.Add(-2 * day),
		"2w":                        now.Add(-14 * day),
		"2M":                        now.Add(-60 * day),
		"2m":                        now.Add(-2 * time.Minute),
		"1y":                        now.Add(-365 * day),
		"0":                         now,
		"2026-11-20T10:00:00Z":      time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC),
		"2026-11-20T10:00:00+02:00": time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
		"2026-11-20":                time.Date(2026, 11, 20, 0, 0, 0, 0, time.Local),
	} {
		if got, err := ParseAge(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v (%v), want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"d", "-1d", "1x", "1e30y", "yesterday", "NaN", "2026-13-01"} {
		if got, err := ParseAge(bad, now); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

// Durations stay what they are, so that a repeated command has the same filter; times get
// a zone.
func TestCanonicalAge(t *testing.T) {
	for text, want := range map[string]string{"7d": "7d", "1h30m": "1h30m", "off": "", "2026-11-20T10:00:00+02:00": "2026-11-20T08:00:00Z"} {
		if got, err := CanonicalAge(text); err != nil || got != want {
			t.Errorf("%q: %q (%v), want %q", text, got, err, want)
		}
	}
	if got, err := CanonicalAge("2026-11-20"); err != nil || !strings.HasSuffix(got, "Z") {
		t.Errorf("a date: %q (%v)", got, err)
	}
}
