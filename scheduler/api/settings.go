package api

import (
	"fmt"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// Settings are what of a job can be changed while it runs: what pelmill set changes. In a request what is absent stays as
// it is, and 0, or "off" for bwlimit and "" for hours, lifts a limit.
type Settings struct {
	Priority    *int     `json:"priority,omitempty" minimum:"0" maximum:"3" doc:"Higher first"`
	Hours       *string  `json:"hours,omitempty" maxLength:"64" doc:"In which chunks start, by the scheduler's clock, such as 22:00-06:00"`
	Bandwidth   *string  `json:"bwlimit,omitempty" maxLength:"1024" doc:"Bytes a second of all workers of the job together, such as 10M, 10M:1M, off or a timetable"`
	Requests    *float64 `json:"tpslimit,omitempty" minimum:"0" maximum:"1e9" doc:"Requests to storage a second of all workers of the job together"`
	MaxObjects  *int64   `json:"max_objects,omitempty" minimum:"0" doc:"The job pauses after so many objects; resumed, it does as many again"`
	MaxBytes    *int64   `json:"max_bytes,omitempty" minimum:"0" doc:"The same for bytes of sources"`
	MaxDuration *string  `json:"max_duration,omitempty" maxLength:"32" doc:"The same for the time of work, such as 6h or 90m"`
	MaxWorkers  *int     `json:"max_workers,omitempty" minimum:"0" doc:"Most chunks at work at once"`
}

// NewSettings presents settings.
func NewSettings(s jobs.Settings) Settings {
	t := Settings{Priority: s.Priority, Hours: s.Hours, Bandwidth: s.Bandwidth, Requests: s.Requests, MaxObjects: s.MaxObjects, MaxBytes: s.MaxBytes, MaxWorkers: s.MaxWorkers}
	if s.MaxDuration != nil {
		text := s.MaxDuration.String()
		t.MaxDuration = &text
	}
	return t
}

// Settings reads and checks s.
func (s Settings) settings() (jobs.Settings, error) {
	t := jobs.Settings{Priority: s.Priority, Hours: s.Hours, Bandwidth: s.Bandwidth, Requests: s.Requests, MaxObjects: s.MaxObjects, MaxBytes: s.MaxBytes, MaxWorkers: s.MaxWorkers}
	if s.MaxDuration != nil {
		d, err := time.ParseDuration(*s.MaxDuration)
		if *s.MaxDuration == "" {
			d, err = 0, nil
		}
		if err != nil {
			return t, fmt.Errorf("max_duration %q: want a time such as 90m or 6h", *s.MaxDuration)
		}
		t.MaxDuration = &d
	}
	return t, t.Check()
}
