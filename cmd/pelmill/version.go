package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/build"
)

func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the versions of the program and its codecs",
		GroupID: groupServing,
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			e := versionEvent{Type: "version", Version: build.Version(), Commit: build.Commit(), Go: runtime.Version(),
				Platform: runtime.GOOS + "/" + runtime.GOARCH, CUDA: gpu.Built, Codecs: map[string]int{}}
			var list []string
			for _, c := range codecs.All() {
				e.Codecs[c.Info().Name] = c.Info().Version
				list = append(list, c.Info().Name+" "+strconv.Itoa(c.Info().Version))
			}
			if p.json {
				return p.emit(e)
			}
			cuda := "no"
			if e.CUDA {
				cuda = "yes"
			}
			rows(p.stdout, [][]string{
				{"pelmill", e.Version}, {"commit", e.Commit}, {"go", fmt.Sprintf("%s %s", e.Go, e.Platform)},
				{"codecs", strings.Join(list, ", ")}, {"cuda", cuda},
			})
			return nil
		},
	}
}

// versionEvent is what --json prints.
type versionEvent struct {
	Type     string         `json:"type"` // "version"
	Version  string         `json:"version"`
	Commit   string         `json:"commit"`
	Go       string         `json:"go"`
	Platform string         `json:"platform"`
	CUDA     bool           `json:"cuda"` // built with support for it
	Codecs   map[string]int `json:"codecs"`
}
