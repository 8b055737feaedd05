package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
)

func (p *program) codecs() *cobra.Command {
	return &cobra.Command{
		Use:     "codecs",
		Short:   "List the codecs with what they take and their options",
		GroupID: groupServing,
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			for i, c := range codecs.All() {
				info := c.Info()
				if p.json {
					if err := p.emit(newCodecEvent(info)); err != nil {
						return err
					}
					continue
				}
				if i > 0 {
					fmt.Fprintln(p.stdout)
				}
				kind := "lossy"
				if info.Lossless {
					kind = "lossless"
				}
				fmt.Fprintf(p.stdout, "%s: %s\n", info.Name, info.Title)
				fmt.Fprintf(p.stdout, "  %s files, %s, version %d; takes %s\n", strings.Join(append([]string{info.Extension}, info.Also...), " or "), kind, info.Version, acceptsText(info.Accepts))
				fmt.Fprintf(p.stdout, "  %s\n", floorText(info))
				var table [][]string
				for _, o := range info.Options {
					table = append(table, []string{"  -o " + o.Key + "=" + o.Default, o.Values, o.Help})
				}
				rows(p.stdout, table)
			}
			if !p.json {
				fmt.Fprintf(p.stdout, "\n%s: %s\n", codecs.Auto, codecs.AutoTitle)
			}
			return nil
		},
	}
}

// codecEvent is what --json prints of a codec.
type codecEvent struct {
	Type      string        `json:"type"` // "codec"
	Name      string        `json:"name"`
	Title     string        `json:"title"`
	Extension string        `json:"extension"`
	Also      []string      `json:"also,omitempty"` // other extensions, by options
	MediaType string        `json:"media_type"`
	Version   int           `json:"version"`
	Lossless  bool          `json:"lossless"`
	Floor     float64       `json:"floor"` // dB, of --min-psnr where results are lossy
	Channels  []int         `json:"channels"`
	MinBits   int           `json:"min_bits"`
	MaxBits   int           `json:"max_bits"`
	Signed    bool          `json:"signed"`
	Slices    bool          `json:"slices"`
	MaxSide   int           `json:"max_side"`
	Options   []codecOption `json:"options"`
}

type codecOption struct {
	Key     string `json:"key"`
	Default string `json:"default"`
	Values  string `json:"values"`
	Help    string `json:"help"`
}

func newCodecEvent(info codec.Info) codecEvent {
	a := info.Accepts
	e := codecEvent{"codec", info.Name, info.Title, info.Extension, info.Also, info.MediaType, info.Version, info.Lossless, info.Floor,
		a.Channels, a.MinBits, a.MaxBits, a.Signed, a.Slices, a.MaxSide, []codecOption{}}
	for _, o := range info.Options {
		e.Options = append(e.Options, codecOption(o))
	}
	return e
}

// floorText says what --min-psnr is by default.
func floorText(info codec.Info) string {
	if info.Lossless {
		return fmt.Sprintf("--min-psnr %v with options that lose something", info.Floor)
	}
	return fmt.Sprintf("--min-psnr %v", info.Floor)
}

// acceptsText says which images a codec takes.
func acceptsText(a codec.Accepts) string {
	names := map[int]string{1: "grey", 2: "grey with alpha", 3: "RGB", 4: "RGBA"}
	var channels []string
	for _, c := range a.Channels {
		channels = append(channels, names[c])
	}
	bits := strconv.Itoa(a.MaxBits)
	if a.MinBits != a.MaxBits {
		bits = fmt.Sprintf("%d to %d", a.MinBits, a.MaxBits)
	}
	s := fmt.Sprintf("%s of %s bits", strings.Join(channels, ", "), bits)
	if a.Signed {
		s += ", signed too"
	}
	if a.Slices {
		s += ", volumes too"
	}
	if a.MaxSide > 0 {
		s += ", up to " + countText(int64(a.MaxSide)) + " along a side"
	}
	return s
}
