package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker"
)

func (p *program) train() *cobra.Command {
	t := &training{p: p, memory: 3 << 30}
	cmd := &cobra.Command{
		Use:   "train SRC CODEBOOK",
		Short: "Make a codebook from sample pictures",
		Long: `Make a codebook, or what else the codec shares between files, from pictures of SRC
and write it to CODEBOOK, a path or the URL of an object. Jobs use it with
-o codebook=CODEBOOK. The same pictures and options give the same bytes.`,
		Example: "  pelmill train photos city.codebook --codec vq -o n=1024 --sample 200",
		GroupID: groupData,
		Args:    arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.run(cmd.Context(), args[0], args[1])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&t.codec, "codec", "", "codec `NAME`; pelmill codecs lists them")
	flags.StringArrayVarP(&t.options, "option", "o", nil, "codec option `KEY=VALUE`, may be repeated")
	flags.IntVar(&t.sample, "sample", 64, "pictures to train on, spread evenly over SRC")
	flags.Var(&t.memory, "memory", "`SIZE` that the process keeps its memory to, within a fifth, in bytes or with K, M or G; less may leave pictures out of the sample")
	flags.BoolVar(&t.overwrite, "overwrite", false, "replace CODEBOOK if it exists")
	t.filterFlags.flags(flags)
	return cmd
}

// training is one run of the verb train.
type training struct {
	p *program
	filterFlags
	codec     string
	options   []string
	sample    int
	memory    size
	overwrite bool
}

// trainEvent is what --json prints.
type trainEvent struct {
	Type     string `json:"type"` // "train"
	Codebook string `json:"codebook"`
	SHA256   string `json:"sha256"`
	Size     int    `json:"size"`
	Images   int    `json:"pictures"`
	Options  string `json:"options"`
}

func (t *training) run(ctx context.Context, source, place string) error {
	c, opts, err := codecOf(t.codec, t.options)
	if err != nil {
		return err
	}
	trainer, ok := c.(codec.Trainer)
	switch {
	case !ok:
		return usagef("codec %s shares nothing between files, so there is nothing to train", t.codec)
	case t.sample < 1:
		return usagef("--sample %d: want at least 1", t.sample)
	}
	memory, err := checkMemory(t.memory, 0)
	if err != nil {
		return err
	}
	bucketURL, key, err := splitURL(place)
	if err != nil {
		return err
	}
	buckets := t.p.newBuckets()
	defer buckets.Close()
	src, err := buckets.Open(ctx, source)
	if err != nil {
		return err
	}
	dst, err := buckets.Open(ctx, bucketURL)
	if err != nil {
		return err
	}
	images, err := t.images(ctx, src, c.Info().With(opts), worker.NewTrainingMemory(memory))
	if err != nil {
		return err
	}
	data, err := trainer.Train(ctx, codec.Run{}, images, opts)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	if err := t.put(ctx, worker.NewSourceGuard(buckets, src, dst, ""), dst, key, data); err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	e := trainEvent{"train", place, hex.EncodeToString(sum[:]), len(data), len(images), opts.String()}
	if t.p.json {
		return t.p.emit(e)
	}
	rows(t.p.stdout, [][]string{
		{"codebook", fmt.Sprintf("%s, %s", e.Codebook, bytesText(int64(e.Size)))},
		{"sha256", e.SHA256},
		{"pictures", countText(int64(e.Images))},
	})
	t.p.hint("use it: pelmill compress SRC DST --codec " + t.codec + " -o codebook=" + shellQuote(place))
	return nil
}

// put stores the codebook. --overwrite replaces an older one, and no image of the
// source or of what other processes read.
func (t *training) put(ctx context.Context, guard *worker.SourceGuard, dst *storage.Bucket, key string, data []byte) error {
	_, err := storage.Put(ctx, dst, key, data, nil)
	var exists *storage.ExistsError
	switch {
	case errors.As(err, &exists) && !t.overwrite:
		return fmt.Errorf("train: %w (--overwrite replaces it)", err)
	case !errors.As(err, &exists):
		if err != nil {
			err = fmt.Errorf("train: %w", err)
		}
		return err
	}
	inSource, err := guard.InSource(ctx, key)
	if err == nil && inSource {
		err = fmt.Errorf("%q lies in the source: --overwrite does not replace it; choose another name", key)
	}
	if err == nil {
		_, err = storage.Put(ctx, dst, key, data, &storage.PutOptions{Overwrite: true})
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// images reads a sample of the source's images, as many as fit in memory.
// Files that cannot be read or are not for the codec are left out, with a message.
func (t *training) images(ctx context.Context, src *storage.Bucket, info codec.Info, memory *worker.TrainingMemory) ([]*raster.Image, error) {
	keys, err := t.keys(ctx, src)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, nothingf("nothing to do: no object in %s after the filters", short(src.URL))
	}
	var images []*raster.Image
	for _, key := range keys {
		m, err := readSample(ctx, src, key, info, memory)
		if ctx.Err() != nil || storage.Unreachable(err) {
			return nil, err
		}
		if err != nil {
			t.p.hint("left out: " + t.p.name(key) + ": " + err.Error())
			continue
		}
		images = append(images, m)
	}
	if len(images) == 0 {
		return nil, fmt.Errorf("train: none of %s can be used", plural(int64(len(keys)), "object"))
	}
	return images, nil
}

func readSample(ctx context.Context, src *storage.Bucket, key string, info codec.Info, memory *worker.TrainingMemory) (*raster.Image, error) {
	got, err := storage.Get(ctx, src, key, memory.Left(), nil)
	if err != nil {
		return nil, err
	}
	head, err := imageio.ReadHeader(got.Data, nil)
	if err != nil {
		return nil, err
	}
	if err := memory.Take(int64(len(got.Data)), &head); err != nil {
		return nil, err
	}
	m, err := imageio.Decode(got.Data, nil)
	if err == nil {
		err = info.Check(m.Shape)
	}
	if err != nil {
		memory.Return(&head)
		return nil, err
	}
	return m, nil
}

// keys lists the source once and returns up to t.sample of its keys, spread
// evenly: every stride-th is kept, and the stride doubles whenever there are
// twice as many as wanted.
func (t *training) keys(ctx context.Context, src *storage.Bucket) ([]string, error) {
	filter, err := t.filter()
	if err != nil {
		return nil, err
	}
	keep, err := scheduler.Matcher(filter)
	if err != nil {
		return nil, err
	}
	var keys []string
	seen, stride := 0, 1
	err = storage.Walk(ctx, src, nil, func(page storage.Page) error {
		for _, o := range page.Objects {
			if !keep(o) {
				continue
			}
			if seen%stride == 0 {
				keys = append(keys, o.Key)
			}
			seen++
			if len(keys) == 2*t.sample {
				keys = thin(keys, t.sample)
				stride *= 2
			}
		}
		return nil
	})
	return thin(keys, t.sample), err
}

// thin returns n of keys, spread evenly, or all if they are no more.
func thin(keys []string, n int) []string {
	if len(keys) <= n {
		return keys
	}
	out := make([]string, n)
	for i := range out {
		out[i] = keys[i*len(keys)/n]
	}
	return out
}
