package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

func (p *program) decompress() *cobra.Command {
	d := &decompression{p: p}
	cmd := &cobra.Command{
		Use:   "decompress SRC DST",
		Short: "Turn compressed files into images again",
		Long: `Decode every file of SRC that a codec wrote and write it to DST as an image: a/b.vq
becomes a/b.png, a/b.jpg.vq a/b.jpg.png, and a/b.png.vq a/b.png, unless a/b.vq is there, too, or
SRC and DST overlap. Without --format it is PNG, TIFF for what PNG cannot hold, or NIfTI for
volumes. --format source gives the images the names and formats of their sources again, which
the records of SRC have, where the format can be written (png, tiff, nii, pnm; others become as
without it), and copies what SRC has as copies of sources. Images have the modification
times of their sources. Images that are there already with the same bytes are skipped, others are left
alone unless --overwrite is given.

--region decodes a part of each picture and --reduce a smaller one: pcwt and JPEG 2000
files give both for a part of the work, and --region crops what other codecs decode. A file
that holds no such part or resolution is a failure (code 3).

` + exitHelp,
		Example: `  pelmill decompress out back
  pelmill decompress out thumbnails --reduce 3
  pelmill decompress out details --region 1024,768,512,512`,
		GroupID: groupData,
		Args:    arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.run(cmd.Context(), args[0], args[1])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&d.format, "format", "", "`FORMAT` of the images: source, png, tiff, nii or pnm; default the one that fits")
	flags.BoolVar(&d.overwrite, "overwrite", false, "replace what is in the way")
	flags.BoolVar(&d.sniff, "sniff", false, "also read files without a codec's extension, and know them by their content")
	flags.StringVar(&d.device, "device", "auto", "`DEVICE` that decodes: auto, cpu, cuda or cuda:N")
	flags.IntVar(&d.encoders, "encoders", 0, "pictures decoded at once; 0 is one a core")
	memoryFlags(flags, &d.memory, &d.timeout)
	traceFlag(flags, &d.trace)
	d.viewFlags.register(flags)
	d.filterFlags.patterns(flags)
	statsFlag(cmd, &d.stats)
	d.p.keysFlag(cmd.Flags())
	return cmd
}

// decompression is one run of the verb decompress.
type decompression struct {
	p *program
	filterFlags
	viewFlags
	format           string
	overwrite, sniff bool
	device           string
	encoders         int
	memory           size
	trace            string
	timeout          time.Duration
	stats            time.Duration
}

var decompressFormats = map[string]bool{"": true, "source": true, "png": true, "tiff": true, "nii": true, "pnm": true}

func (d *decompression) run(ctx context.Context, source, target string) error {
	if !decompressFormats[d.format] {
		return usagef("--format %q: want source, png, tiff, nii or pnm", d.format)
	}
	filter, err := d.filter()
	if err != nil {
		return err
	}
	keep, err := scheduler.Matcher(filter)
	if err != nil {
		return err
	}
	if err := checkDevice(d.device); err != nil {
		return err
	}
	memory, err := checkMemory(d.memory, d.timeout)
	if err != nil {
		return err
	}
	view, err := d.view()
	if err != nil {
		return err
	}
	device, err := gpu.OpenWith(d.device, &gpu.Options{Only: true})
	if err != nil {
		return err
	}
	buckets := d.p.newBuckets()
	defer buckets.Close()
	src, err := buckets.Open(ctx, source)
	if err != nil {
		return err
	}
	dst, err := buckets.Open(ctx, target)
	if err != nil {
		return err
	}
	from, err := origins(ctx, &scheduler.Client{Buckets: buckets}, src.URL, d.format == "source")
	if err != nil && d.format == "source" {
		return err
	}
	if err != nil {
		fmt.Fprintf(d.p.stderr, "pelmill: warning: %s; without its records a DICOM file is found by its name, or with --sniff\n", sentence(err))
	}
	trace, endTrace, err := openTrace(d.trace)
	if err != nil {
		return err
	}
	name := rand.Text()
	end, _ := d.p.announce("decompress", name, src.URL, dst.URL)
	defer end()
	shown := d.p.display(d.stats)
	shown.texts = "--show-keys shows the text"
	names := sitekey.NewReader(ctx, src)
	var mu sync.Mutex
	var sum jobs.Counts
	start := time.Now()
	counts, err := worker.Decompress(ctx, src, dst, &worker.DecompressOptions{
		Device: device, CPU: d.encoders, Memory: memory, Timeout: d.timeout, Format: d.format, View: view, Overwrite: d.overwrite, Sniff: d.sniff,
		Origin: from.of, Buckets: buckets, Name: name, Trace: trace,
		Filter: func(key string) bool { return keep(storage.Object{Key: key, Size: -1}) },
		OnResult: func(r jobs.Result) {
			mu.Lock()
			sum.Add(&r)
			now := sum
			mu.Unlock()
			before := jobs.Result{Key: strings.TrimSuffix(r.Key, path.Ext(r.Key))} // as compress names what is not DICOM
			if from[r.Key].medical || before.Medical() || r.Medical() {
				if err := names.Hash(&r); err != nil {
					sitekey.OfProcess().Reader().Hash(&r) // the key of the records cannot be read; this one needs no reading
				}
			}
			shown.object(r)
			shown.update(snapshot{state: jobs.StateRunning, counts: now})
		},
	})
	shown.close()
	err = endTrace(err)
	var signal *interrupted
	switch {
	case errors.As(context.Cause(ctx), &signal):
		return &exit{exitInterrupted, errors.New("interrupted; what is done is kept, and the same command does the rest")}
	case err != nil:
		return err
	case counts.Objects == 0:
		return nothingf("nothing to do: no file of a codec in %s", short(src.URL))
	}
	return d.end(counts, time.Since(start).Seconds(), device.Name())
}

// origin is what an object of a target was made from.
type origin struct {
	worker.Origin
	known   bool // Origin is
	medical bool // the source is a medical image, whose name may be a patient's
}

// originsByKey are the origins of a target's objects.
type originsByKey map[string]origin

func (f originsByKey) of(key string) (worker.Origin, bool) { return f[key].Origin, f[key].known }

// origins reads what the records of a target say that its objects were made from: some
// 150 bytes of memory for each. Without all it is only which of them are DICOM files, and of medical images.
func origins(ctx context.Context, client *scheduler.Client, target string, all bool) (originsByKey, error) {
	found := originsByKey{}
	err := client.Claims(ctx, target, "", func(c jobs.Claim) error {
		_, newer := found[c.Target]
		isDICOM := c.Exact == "dicom"
		medical := isDICOM || c.Result.Medical()
		switch {
		case c.Target == "" || newer || c.Owner != nil:
		case all:
			o := worker.Origin{Key: c.Key, Format: c.SourceFormat, ModTime: c.ModTime, Copy: c.Outcome != jobs.OutcomeCompressed, DICOM: isDICOM}
			found[c.Target] = origin{o, true, medical}
		case medical:
			found[c.Target] = origin{worker.Origin{DICOM: isDICOM}, isDICOM, true}
		}
		return nil
	})
	return found, err
}

// end prints the summary and gives the exit code.
func (d *decompression) end(c jobs.Counts, seconds float64, device string) error {
	switch {
	case d.p.json:
		if err := d.p.emit(summaryEvent{Type: "summary", State: jobs.StateDone, Counts: c, Saving: c.Saving(), Seconds: seconds, Device: device}); err != nil {
			return err
		}
	case !d.p.quiet:
		rows(d.p.stdout, append([][]string{
			{"  files", countText(c.Objects)},
			{"  decoded", countText(c.Compressed)},
		}, d.rest(c, seconds, device)...))
	}
	return outcome(c)
}

func (d *decompression) rest(c jobs.Counts, seconds float64, device string) (table [][]string) {
	for _, o := range []struct {
		n    int64
		name string
	}{
		{c.Skipped, "  skipped"}, {c.Unsupported, "  unsupported"}, {c.Rejected, "  rejected"}, {c.Failed, "  failed"},
	} {
		if o.n > 0 {
			table = append(table, []string{o.name, countText(o.n)})
		}
	}
	if c.BytesIn > 0 {
		table = append(table, []string{"  size", fmt.Sprintf("%s to %s", bytesText(c.BytesIn), bytesText(c.BytesOut))})
	}
	return append(table, []string{"  time", timeText(c, seconds, []string{device})})
}
