package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// newBound parses args for a verb with flags of every kind and binds them to
// the given file and environment.
func newBound(t *testing.T, file string, env map[string]string, args ...string) (*cobra.Command, error) {
	t.Helper()
	p := &program{env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	root := &cobra.Command{Use: "root"}
	root.PersistentFlags().StringVar(&p.configFile, "config", "", "")
	root.PersistentFlags().BoolVar(&p.json, "json", false, "")
	verb := &cobra.Command{Use: "verb"}
	verb.Flags().String("codec", "default", "")
	verb.Flags().String("redis", "", "")
	verb.Flags().StringArray("include", nil, "")
	verb.Flags().Int("priority", 0, "")
	verb.Flags().Duration("stats", 0, "")
	verb.Flags().Var(new(size), "min-size", "")
	other := &cobra.Command{Use: "other"}
	other.Flags().String("metrics-listen", "", "")
	root.AddCommand(verb, other)
	if file != "" {
		name := filepath.Join(t.TempDir(), "settings.yaml")
		if err := os.WriteFile(name, []byte(file), 0o666); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", name)
	}
	if err := verb.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return verb, p.bind(verb)
}

func TestFlagsWinOverVariablesOverFileOverDefaults(t *testing.T) {
	const file = "codec: file\ninclude: ['a,b', c]\nmin-size: 1K\npriority: 2\nstats: 5s\njson: true\nmetrics-listen: \"127.0.0.1:1\"\n"
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		flag string
		want string
	}{
		{"default", nil, nil, "redis", ""},
		{"file", nil, nil, "codec", "file"},
		{"variable", map[string]string{"PELMILL_CODEC": "env"}, nil, "codec", "env"},
		{"flag", map[string]string{"PELMILL_CODEC": "env"}, []string{"--codec", "flag"}, "codec", "flag"},
		{"empty variable is a value", map[string]string{"PELMILL_CODEC": ""}, nil, "codec", ""},
		{"commas of the file stay", nil, nil, "include", `["a,b",c]`},
		{"commas of a variable separate", map[string]string{"PELMILL_INCLUDE": "x, y"}, nil, "include", "[x,y]"},
		{"commas of a flag stay", nil, []string{"--include", "x,y"}, "include", `["x,y"]`},
		{"size", nil, nil, "min-size", "1K"},
		{"name with a dash", map[string]string{"PELMILL_MIN_SIZE": "3M"}, nil, "min-size", "3M"},
		{"number", nil, nil, "priority", "2"},
		{"duration", nil, nil, "stats", "5s"},
		{"flag of all verbs", nil, nil, "json", "true"},
		{"foreign variable", map[string]string{"PELMILL_REDIS_PORT": "tcp://10.0.0.1:6379"}, nil, "redis", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			verb, err := newBound(t, file, tt.env, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if got := verb.Flag(tt.flag).Value.String(); got != tt.want {
				t.Errorf("%s is %q, want %q", tt.flag, got, tt.want)
			}
		})
	}
}

func TestBadSettingsAreNamedWithTheirOrigin(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		env        map[string]string
		want       string
	}{
		{"unknown key", "codec: vq\nmin_size: 3\n", nil, `settings.yaml:2: unknown key "min_size"; did you mean "min-size"?`},
		{"key twice", "codec: a\ncodec: b\n", nil, "codec"},
		{"key without value", "codec:\n", nil, "settings.yaml:1: codec has no value"},
		{"mapping as value", "include: {a: b}\n", nil, "want a value or a list"},
		{"list in list", "include: [[a]]\n", nil, "want a list of plain values"},
		{"list for one value", "codec: [a, b]\n", nil, "takes one value, not a list"},
		{"no mapping", "- codec\n", nil, "want lines of the form key: value"},
		{"no YAML", "codec: [a\n", nil, "settings.yaml"},
		{"bad number in file", "priority: high\n", nil, "settings.yaml:1: priority"},
		{"bad number in variable", "", map[string]string{"PELMILL_PRIORITY": "high"}, "variable PELMILL_PRIORITY"},
		{"file in variable", "", map[string]string{"PELMILL_CONFIG": "/nowhere.yaml"}, "/nowhere.yaml"},
		{"config in the file", "config: other.yaml\n", nil, `unknown key "config"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newBound(t, tt.file, tt.env)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q", err, tt.want)
			}
			if got := code(t.Context(), err); got != exitUsage {
				t.Errorf("exit code %d, want %d", got, exitUsage)
			}
		})
	}
}

// Values may be secrets, so a message about a value that is not allowed must
// not repeat it.
func TestErrorsOfSettingsDoNotShowValues(t *testing.T) {
	_, err := newBound(t, "", map[string]string{"PELMILL_PRIORITY": "geheim"})
	if err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("error %v", err)
	}
}

func FuzzReadConfig(f *testing.F) {
	f.Add("codec: vq\ninclude: [a, b]\n")
	f.Add("a: &x [*x]\n")
	f.Add("? [a]\n: b\n")
	f.Fuzz(func(t *testing.T, text string) {
		settings, err := parseConfig("c.yaml", []byte(text), map[string]bool{"codec": true, "include": true})
		if err != nil {
			if got := code(t.Context(), err); got != exitUsage {
				t.Fatalf("exit code %d for %v", got, err)
			}
			return
		}
		for key := range settings {
			if key != "codec" && key != "include" {
				t.Fatalf("unknown key %q came through", key)
			}
		}
	})
}
