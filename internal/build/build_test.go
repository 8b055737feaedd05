package build

import (
	"runtime/debug"
	"testing"
)

func TestCommit(t *testing.T) {
	checkout := func(revision, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}}
	}
	for _, test := range []struct {
		given string
		info  *debug.BuildInfo
		want  string
	}{
		{"", nil, "unknown"},
		{"0123abcd", checkout("0123456789abcdef", "false"), "0123abcd"},
		{"", checkout("0123456789abcdef", "false"), "0123456789ab"},
		{"", checkout("0123456789abcdef", "true"), "0123456789ab+"},
		{"", &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260102030405-0123456789ab"}}, "0123456789ab"},
		{"", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "unknown"},
	} {
		if got := commitOf(test.given, test.info); got != test.want {
			t.Errorf("%q, %+v: %q, want %q", test.given, test.info, got, test.want)
		}
	}
	if Version() == "" || Commit() == "" {
		t.Errorf("version %q, commit %q", Version(), Commit())
	}
}

func TestVersion(t *testing.T) {
	module := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	for _, test := range []struct {
		given string
		info  *debug.BuildInfo
		want  string
	}{
		{"", nil, development},
		{"", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, development},
		{"", module, "v1.2.3"},
		{"v1.2.4", module, "v1.2.4"},
		{"v1.2.4", nil, "v1.2.4"},
	} {
		if got := versionOf(test.given, test.info); got != test.want {
			t.Errorf("%q, %+v: %q, want %q", test.given, test.info, got, test.want)
		}
	}
}
