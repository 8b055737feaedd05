package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/jobs"
)

// settings are the names that pelmill set knows, which are those of flags of compress and submit.
var settings = map[string]func(s *jobs.Settings, text string) error{
	"priority":     func(s *jobs.Settings, text string) error { return setNumber(&s.Priority, text) },
	"hours":        func(s *jobs.Settings, text string) error { s.Hours = &text; return nil },
	"bwlimit":      func(s *jobs.Settings, text string) error { s.Bandwidth = &text; return nil },
	"tpslimit":     setRequests,
	"max-objects":  func(s *jobs.Settings, text string) error { return setNumber(&s.MaxObjects, text) },
	"max-bytes":    setBytes,
	"max-duration": setDuration,
	"max-workers":  func(s *jobs.Settings, text string) error { return setNumber(&s.MaxWorkers, text) },
}

func setNumber[T int | int64](to **T, text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("want a whole number")
	}
	v := T(n)
	*to = &v
	return nil
}

func setRequests(s *jobs.Settings, text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("want requests a second")
	}
	s.Requests = &v
	return nil
}

func setBytes(s *jobs.Settings, text string) error {
	var v size
	if err := v.Set(text); err != nil {
		return err
	}
	n := int64(v)
	s.MaxBytes = &n
	return nil
}

func setDuration(s *jobs.Settings, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("want a time such as 90m or 6h")
	}
	s.MaxDuration = &d
	return nil
}

// parseSettings reads name=value pairs.
func parseSettings(pairs []string) (jobs.Settings, error) {
	var s jobs.Settings
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		set := settings[name]
		if !ok || set == nil {
			known := map[string]bool{}
			for k := range settings {
				known[k] = true
			}
			return s, usagef("%q: want NAME=VALUE with a NAME of %s%s", pair, strings.Join(slices.Sorted(maps.Keys(settings)), ", "), nearest(name, known))
		}
		if err := set(&s, text); err != nil {
			return s, usagef("%s: %w", pair, err)
		}
	}
	if err := s.Check(); err != nil {
		return s, &exit{exitUsage, err}
	}
	return s, nil
}

// settingsFlags are the limits of a job; compress and submit have them, and pelmill set changes them.
type settingsFlags struct{ values map[string]*string }

func (f *settingsFlags) flags(fs *pflag.FlagSet) { f.some(fs, slices.Collect(maps.Keys(settings))...) }

// some adds those of the settings that are named and have a flag here.
func (f *settingsFlags) some(fs *pflag.FlagSet, names ...string) {
	f.values = map[string]*string{}
	for name, usage := range map[string]string{
		"bwlimit":      "most `BYTES` a second of all workers of the job together, with a unit: 10M, 10M:1M for writing and reading apart, off, or a timetable \"08:00,512K 19:00,off\" by the scheduler's clock",
		"tpslimit":     "most `REQUESTS` to storage a second of all workers of the job together, for its objects",
		"max-objects":  "pause the job after so many `OBJECTS`; resumed, it does as many again",
		"max-bytes":    "pause the job after source objects of this `SIZE` together",
		"max-duration": "pause the job after so much `TIME` of work, such as 6h",
		"max-workers":  "most `CHUNKS` of the job at work at once, and so most workers",
	} {
		if slices.Contains(names, name) {
			f.values[name] = fs.String(name, "", usage)
		}
	}
}

// settings gives those that were set.
func (f *settingsFlags) settings() (jobs.Settings, error) {
	var pairs []string
	for name, v := range f.values {
		if *v != "" {
			pairs = append(pairs, name+"="+*v)
		}
	}
	return parseSettings(pairs)
}

func (p *program) set() *cobra.Command {
	c := &cluster{p: p}
	cmd := &cobra.Command{
		Use:   "set DST [JOB] NAME=VALUE... | JOB NAME=VALUE...",
		Short: "Change priority, hours and limits of a job, also while it runs",
		Long: `Change settings of a job that has not ended: priority, hours, bwlimit, tpslimit, max-objects,
max-bytes, max-duration, max-workers, with the values that the flags of pelmill submit
take; 0, or off for bwlimit, lifts a limit. They hold within seconds.

` + jobRefHelp,
		Example: "  pelmill set s3://scans-vq priority=2 hours=22:00-06:00 bwlimit=20M --redis redis://queue:6379",
		GroupID: groupJobs,
		Args:    arguments(2, 20),
		RunE: func(cmd *cobra.Command, args []string) error {
			n := slices.IndexFunc(args, func(a string) bool {
				name, _, pair := strings.Cut(a, "=")
				return pair && !strings.ContainsAny(name, "/:.?")
			})
			if n < 1 || n > 2 {
				return usagef("set: want %s", cmd.Use)
			}
			s, err := parseSettings(args[n:])
			if err != nil {
				return err
			}
			if err := c.open(cmd.Context()); err != nil {
				return err
			}
			defer c.close()
			r, err := c.jobOf(cmd.Context(), args[:n])
			if err != nil {
				return err
			}
			if err := c.jobs.Control(cmd.Context(), r.target, r.id, jobs.Control{Settings: s}); err != nil {
				return err
			}
			if p.json {
				return p.emit(jobEvent{Type: "job", Job: r.id, Target: r.target})
			}
			p.hint(r.id + ": set " + strings.Join(args[n:], " "))
			return nil
		},
	}
	c.flags(cmd.Flags())
	c.server.flags(cmd.Flags())
	c.allow.flags(cmd.Flags())
	return cmd
}
