package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker/series"
)

func (p *program) inspect() *cobra.Command {
	var thumbnail string
	var values bool
	cmd := &cobra.Command{
		Use:   "inspect FILE...",
		Short: "Show what files hold, from their headers",
		Long: `Show what images, compressed files and codebooks hold, from their headers and without
decoding a picture: shape, orientation, density, ICC profile and EXIF fields among them.
FILE is a path or the URL of an object. A file that cannot be read gives code 1 after
the others were shown.

Of a DICOM file it shows the transfer syntax, the shape, whether it can be rewritten or why
not, and the tags, lengths and keywords of its elements; their values only with
--values, because they name patients. So are keys of the files of a series.

With --thumbnail the picture of the one FILE is decoded, as little of it as the file allows, and written
to a new PNG file of at most 256 samples along a side: of a volume or an animation the
middle slice, of samples of more than 8 bits the range that they use.`,
		Example: "  pelmill inspect out/scan.jp2 --thumbnail scan.png",
		GroupID: groupData,
		Args:    arguments(1, 1<<20),
		RunE: func(cmd *cobra.Command, args []string) error {
			if thumbnail != "" && len(args) > 1 {
				return usagef("--thumbnail takes one FILE, not %d", len(args))
			}
			var last error
			for i, name := range args {
				if last != nil {
					fmt.Fprintf(p.stderr, "pelmill: %s\n", sentence(last))
				}
				if i > 0 && !p.json {
					fmt.Fprintln(p.stdout)
				}
				if err := p.inspectFile(cmd.Context(), name, thumbnail, values); err != nil {
					last = err
					continue
				}
			}
			return last
		},
	}
	cmd.Flags().StringVar(&thumbnail, "thumbnail", "", "write a small picture of it to `FILE`, a PNG file")
	cmd.Flags().BoolVar(&values, "values", false, "show values of the elements of DICOM files and keys of the files of series, which name patients")
	return cmd
}

// inspectFile shows one file.
func (p *program) inspectFile(ctx context.Context, name, thumbnail string, values bool) error {
	data, err := p.readFile(ctx, name, 1<<30)
	if err != nil {
		return err
	}
	format, owner, fields, err := describe(name, data, values)
	if err != nil {
		return fmt.Errorf("inspect %s: %w", name, err)
	}
	if thumbnail != "" {
		if err := writeThumbnail(ctx, owner, data, thumbnail); err != nil {
			return fmt.Errorf("thumbnail of %s: %w", name, err)
		}
	}
	if p.json {
		values := map[string]string{}
		for _, f := range fields {
			values[f.Name] = f.Value
		}
		return p.emit(inspectEvent{"inspect", name, int64(len(data)), format, values})
	}
	table := [][]string{{"file", name}, {"bytes", fmt.Sprintf("%d (%s)", len(data), bytesText(int64(len(data))))}}
	if !slices.ContainsFunc(fields, func(f codec.Field) bool { return f.Name == "format" }) {
		table = append(table, []string{"format", format})
	}
	for _, f := range fields {
		table = append(table, []string{f.Name, f.Value})
	}
	rows(p.stdout, table)
	return nil
}

// inspectEvent is what --json prints of a file.
type inspectEvent struct {
	Type   string            `json:"type"` // "inspect"
	File   string            `json:"file"`
	Size   int64             `json:"size"`
	Format string            `json:"format"`
	Fields map[string]string `json:"fields"`
}

// describe asks the codec whose extension the name has, then the image
// readers, then the other codecs, and returns the first answer: the format, and the codec
// whose file it is, nil for an image format.
func describe(name string, data []byte, values bool) (format string, owner codec.Codec, fields []codec.Field, err error) {
	if dicom.Is(data) {
		fields, err := describeDICOM(data, values)
		return imageio.DICOM, nil, fields, err
	}
	var first error
	if c, ok := codecs.ByExtension(name); ok {
		h, err := c.Header(data)
		if err == nil {
			fields := append(h.Fields, metaFields(data, h.Fields)...)
			if series.Is(data) {
				fields, err = append(fields, describeSeries(c, data, values)...), nil
			}
			return c.Info().Name, c, fields, err
		}
		first = err
	}
	head, err := imageio.ReadHeader(data, nil)
	if err == nil {
		return head.Format, nil, append(headerFields(head), metaFields(data, nil)...), nil
	}
	for _, c := range codecs.All() {
		if r, ok := c.(codec.AssetReader); ok {
			if fields, err := r.Asset(data); err == nil {
				return c.Info().Name + " codebook", c, fields, nil
			}
		}
	}
	if c, ok := codecs.Sniff(data); ok {
		h, err := c.Header(data)
		return c.Info().Name, c, h.Fields, err
	}
	if first != nil {
		return "", nil, nil, first
	}
	return "", nil, nil, err
}

// metaFields describes what a file that the image readers know has besides its samples, but
// for what known says already.
func metaFields(data []byte, known []codec.Field) []codec.Field {
	h, meta, err := imageio.ReadMeta(data, nil)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(imageio.MetaFields(h.Format, &meta), func(f codec.Field) bool {
		return slices.ContainsFunc(known, func(k codec.Field) bool { return k.Name == f.Name })
	})
}

func headerFields(h imageio.Header) []codec.Field {
	f := []codec.Field{
		{Name: "width", Value: strconv.Itoa(h.Width)},
		{Name: "height", Value: strconv.Itoa(h.Height)},
	}
	if h.Depth > 1 {
		name := "slices"
		if h.Frames {
			name = "frames"
		}
		f = append(f, codec.Field{Name: name, Value: strconv.Itoa(h.Depth)})
	}
	bits := strconv.Itoa(h.Bits)
	if h.Signed {
		bits += " signed"
	}
	f = append(f,
		codec.Field{Name: "channels", Value: strconv.Itoa(h.Channels)},
		codec.Field{Name: "bits", Value: bits},
		codec.Field{Name: "memory to decode", Value: bytesText(h.DecodedBytes)})
	if len(h.Attributes) > 0 {
		f = append(f, codec.Field{Name: "attributes", Value: strings.Join(h.Attributes, ", ")})
	}
	for _, c := range codecs.All() {
		info := c.Info()
		lost := slices.DeleteFunc(slices.Clone(h.Attributes), func(name string) bool { return slices.Contains(info.Keeps, name) })
		if len(lost) > 0 {
			f = append(f, codec.Field{Name: "dropped by " + info.Name, Value: strings.Join(lost, ", ")})
		}
	}
	if h.Note != "" {
		f = append(f, codec.Field{Name: "note", Value: h.Note})
	}
	return f
}

// readFile reads a local file or, where name is a URL, an object of at most
// limit bytes.
func (p *program) readFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	if !strings.Contains(name, "://") {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			return nil, fmt.Errorf("%s is a folder, not a file", name)
		case info.Size() > limit:
			return nil, fmt.Errorf("%s has %s, more than the limit of %s", name, bytesText(info.Size()), bytesText(limit))
		}
		return os.ReadFile(name)
	}
	bucket, key, err := splitURL(name)
	if err != nil {
		return nil, err
	}
	buckets := p.newBuckets()
	defer buckets.Close()
	b, err := buckets.Open(ctx, bucket)
	if err != nil {
		return nil, err
	}
	got, err := storage.Get(ctx, b, key, limit, nil)
	return got.Data, err
}

// splitURL splits the place of an object, a path or URL, into its bucket or
// folder and its key.
func splitURL(name string) (bucket, key string, err error) {
	if !strings.Contains(name, "://") {
		abs, err := filepath.Abs(name)
		if err != nil {
			return "", "", err
		}
		return filepath.Dir(abs), filepath.Base(abs), nil
	}
	u, err := url.Parse(name)
	if err != nil {
		return "", "", usagef("%q is not a URL", name)
	}
	dir, key := path.Split(strings.TrimSuffix(u.Path, "/"))
	if key == "" {
		return "", "", errors.New(name + " names a bucket, not an object")
	}
	u.Path, u.RawPath = dir, ""
	return u.String(), key, nil
}
