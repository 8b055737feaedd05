package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/pelmill/pelmill/internal/filelock"
)

// state is what all runs have done together. It is kept in a file.
type state struct {
	Targets map[string]*totals `json:"targets"`
}

// totals are those of a target.
type totals struct {
	Executions int64   `json:"executions"`
	New        int64   `json:"new"` // inputs that reached something new
	Seconds    float64 `json:"seconds"`
	Failed     int     `json:"failed,omitempty"` // runs
}

func (t *totals) add(more totals) {
	t.Executions += more.Executions
	t.New += more.New
	t.Seconds += more.Seconds
	t.Failed += more.Failed
}

// readState reads a file, which need not be there.
func readState(file string) (*state, error) {
	s := &state{}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, s)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if s.Targets == nil {
		s.Targets = map[string]*totals{}
	}
	return s, nil
}

// addTo adds what a target did to the file. It is read again for that, as another run may have added something meanwhile, and
// none does until it is written.
func addTo(file, name string, more totals) error {
	unlock, err := filelock.Lock(file)
	if err == nil {
		defer unlock()
	} else if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	s, err := readState(file)
	if err != nil {
		return err
	}
	if s.Targets[name] == nil {
		s.Targets[name] = &totals{}
	}
	s.Targets[name].add(more)
	data, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o777)
	}
	if err == nil {
		err = os.WriteFile(file+".new", data, 0o666)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	return err
}

// list prints the chosen targets. Those that had the least time are first, so that a run goes on where one was cut.
func list(out io.Writer, names []string, chosen *regexp.Regexp, before *state) (ok bool, err error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !chosen.MatchString(name) })
	if len(names) == 0 {
		return false, fmt.Errorf("no target is like %q", chosen)
	}
	seconds := func(name string) float64 {
		if t := before.Targets[name]; t != nil {
			return t.Seconds
		}
		return 0
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(seconds(a), seconds(b)) })
	for _, name := range names {
		if _, err := fmt.Fprintln(out, name); err != nil {
			return false, err
		}
	}
	return true, nil
}
