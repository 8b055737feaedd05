package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/gpu"
)

func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the versions of the program and its codecs",
		GroupID: groupServing,
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			e := versionEvent{Type: "version", Version: moduleVersion(), Go: runtime.Version(),
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
				{"pelmill", e.Version}, {"go", fmt.Sprintf("%s %s", e.Go, e.Platform)},
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
	Go       string         `json:"go"`
	Platform string         `json:"platform"`
	CUDA     bool           `json:"cuda"` // built with support for it
	Codecs   map[string]int `json:"codecs"`
}

// moduleVersion is the version of the module or, in a build from a checkout,
// its commit.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = "development"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				version += " " + s.Value[:12]
			}
		}
	}
	return version
}
