package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/worker"
)

func traceFlag(fs *pflag.FlagSet, path *string) {
	fs.StringVar(path, "trace", "", "write a timeline of cores, lanes of the device and transfers to `FILE`, for ui.perfetto.dev or about://tracing: some 1 KB an object")
}

// openTrace begins the timeline in path, nil without one. The caller calls end with what
// the work ended with, once nothing has the trace any more; end returns that, or what
// writing the timeline failed with. A second call returns what it gets.
func openTrace(path string) (trace *worker.Trace, end func(error) error, err error) {
	if path == "" {
		return nil, func(err error) error { return err }, nil
	}
	f, err := createTrace(path)
	if err != nil {
		return nil, nil, fmt.Errorf("--trace: %w", err)
	}
	trace = worker.NewTrace(f)
	ended := false
	return trace, func(err error) error {
		if ended {
			return err
		}
		ended = true
		wrote := trace.Close()
		if closed := f.Close(); wrote == nil {
			wrote = closed
		}
		if err == nil && wrote != nil {
			err = fmt.Errorf("--trace %s: %w", path, wrote)
		}
		return err
	}, nil
}

// traceBegins is what each timeline begins with.
const traceBegins = "[\n{\"name\":\"process_name\""

// createTrace opens the file of a timeline. An earlier timeline there is replaced, and nothing else: whoever mistypes
// the name of a file must not lose it.
func createTrace(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		head := make([]byte, len(traceBegins))
		if _, err = io.ReadFull(f, head); err != nil || string(head) != traceBegins {
			err = fmt.Errorf("%s exists and is no timeline: name another file", path)
		} else if err = f.Truncate(0); err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
