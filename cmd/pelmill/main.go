// Command pelmill compresses images in bulk: it lists a folder or a bucket,
// plans the work, encodes every image with a codec, proves each result by
// decoding it, and writes the results and a report to another folder or bucket.
//
//	pelmill compress photos out --codec vq
//
// Without --redis the whole of it runs in this process with an embedded queue.
// With --redis the same job is done by "pelmill scheduler" and any number of
// "pelmill worker" elsewhere.
//
// Every verb has its file, named after it. A verb reads its flags, calls the
// packages that do the work and presents what they answer. What verbs share:
//
//   - settings come from flags, then PELMILL_* variables, then the YAML file of
//     --config, then defaults (config.go);
//   - progress and errors go to standard error, results to standard output, as
//     a table or with --json as one object per line (display.go, events.go);
//   - names and texts that are not ours are printed through package plain;
//   - exit codes are listed in exit.go and do not change.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	_ "time/tzdata" // for --hours where TZ names a zone and the image has none

	"golang.org/x/term"

	_ "github.com/pelmill/pelmill/gpu/begin" // so that a driver starts before main
	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

func main() { os.Exit(mainCode()) }

// mainCode runs the program on the process's own streams. The first interrupt
// ends the context, upon which verbs stop in good order; the second one ends
// the process at once.
func mainCode() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		cancel(&interrupted{signal: s})
		<-signals
		os.Exit(exitInterrupted)
	}()
	p := &program{
		stdin:   os.Stdin,
		asks:    term.IsTerminal(int(os.Stdin.Fd())),
		stdout:  plain.Writer(os.Stdout),
		stderr:  plain.Writer(os.Stderr),
		env:     os.LookupEnv,
		environ: os.Environ,
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		p.screen = os.Stderr
	}
	return p.run(ctx, os.Args[1:])
}

// program is one run of the command line: its streams and the settings that
// all verbs have.
type program struct {
	stdin          io.Reader
	asks           bool // somebody sits before stdin who answers questions
	stdout, stderr io.Writer
	screen         io.Writer // stderr as it is, for the bar; nil where it is no terminal
	env            func(name string) (string, bool)
	environ        func() []string // all variables; nil: unknown ones are not looked for

	configFile string
	s3Endpoint endpoint
	json       bool
	quiet      bool
	prices     *jobs.Prices // of --prices; nil: none
	verbose    bool
	strict     bool // of verbs that have --strict
	showKeys   bool // of verbs that have --show-keys

	printing sync.Mutex // one line of stdout at a time

	// newWorker opens the device of a worker of this process; nil but in tests: worker.New
	newWorker func(*queue.Conn, *storage.Buckets, *worker.Options) (*worker.Worker, error)
	runWorker func(*worker.Worker, context.Context) error // nil but in tests: worker.Worker.Run
}

// interrupted is why the context of a run ends on a signal.
type interrupted struct{ signal os.Signal }

func (e *interrupted) Error() string { return e.signal.String() }
