// Package build says which build of pelmill runs.
package build

import (
	"runtime/debug"
	"strings"
)

// version and commit are set where the sources are no module and no checkout, as in images:
//
//	go build -ldflags "-X github.com/pelmill/pelmill/internal/build.version=v1.2.3 -X github.com/pelmill/pelmill/internal/build.commit=0123abcd"
var version, commit string

const development = "development"

// Version is the one given to the build, else that of the module, "development" in a build from a checkout.
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(version, info)
}

func versionOf(given string, info *debug.BuildInfo) string {
	if given != "" {
		return given
	}
	if info == nil || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return development
	}
	return info.Main.Version
}

// Commit is that of the sources, 12 digits and "+" where they were changed since;
// "unknown" where nobody said.
func Commit() string {
	info, _ := debug.ReadBuildInfo()
	return commitOf(commit, info)
}

func commitOf(given string, info *debug.BuildInfo) string {
	if given != "" {
		return given
	}
	revision, changed := "", ""
	if info != nil {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = "+"
			}
		}
		// A module from a proxy has its commit at the end of its version: v0.0.0-20260102030405-0123456789ab.
		if parts := strings.Split(info.Main.Version, "-"); revision == "" && len(parts) >= 3 && len(parts[len(parts)-1]) == 12 {
			revision = parts[len(parts)-1]
		}
	}
	if len(revision) < 12 {
		return "unknown"
	}
	return revision[:12] + changed
}
