package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/pelmill/pelmill/internal/plain"
)

// envPrefix starts the environment variables that stand for flags:
// PELMILL_MIN_SIZE is --min-size.
const envPrefix = "PELMILL_"

// notSettings are flags that have no meaning in a file or the environment.
var notSettings = []string{"config", "help", "version"}

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// bind completes the flags that were not given on the command line from the
// environment and then from the configuration file. Values are checked by the
// flags themselves; an error names where the value came from but not the value,
// which may be a secret.
//
// Keys of the file are names of flags. One file serves all verbs, so a key that
// only another verb has is allowed, and one that no verb has is an error.
func (p *program) bind(cmd *cobra.Command) error {
	flags := cmd.Flags()
	if f := flags.Lookup("config"); f != nil && !f.Changed {
		if v, ok := p.env(envName("config")); ok {
			p.configFile = v
		}
	}
	file := map[string]setting{}
	if p.configFile != "" {
		var err error
		if file, err = readConfig(p.configFile, knownFlags(cmd.Root())); err != nil {
			return err
		}
	}
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || failed != nil || slices.Contains(notSettings, f.Name) {
			return
		}
		if v, ok := p.env(envName(f.Name)); ok {
			s := setting{values: []string{v}}
			if _, repeated := f.Value.(pflag.SliceValue); repeated {
				s = setting{values: splitList(v), list: true}
			}
			failed = s.apply(f, "variable "+envName(f.Name))
			return
		}
		if s, ok := file[f.Name]; ok {
			failed = s.apply(f, fmt.Sprintf("%s:%d: %s", p.configFile, s.line, f.Name))
		}
	})
	return failed
}

// foreignVariable matches the variables that Kubernetes and Docker make for a service whose
// name begins with pelmill, and those of the tests.
var foreignVariable = regexp.MustCompile(`^PELMILL(_.+)?_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?|NAME|ENV_.+)$|` +
	`^PELMILL_(TEST|GPU|FUZZ|SEED|KERNELS|UPDATE)(_.+)?$`)

// warnUnknown says which variables look like settings and are none.
func (p *program) warnUnknown(root *cobra.Command) {
	if p.environ == nil || p.quiet {
		return
	}
	known := map[string]bool{envName("config"): true}
	for flag := range knownFlags(root) {
		known[envName(flag)] = true
	}
	for _, v := range p.environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, envPrefix) && !known[name] && !foreignVariable.MatchString(name) {
			fmt.Fprintf(p.stderr, "pelmill: warning: %s is no setting%s\n", plain.Line(name), nearest(name, known))
		}
	}
}

// setting is the value of one key: a scalar or a list of them.
type setting struct {
	values []string
	list   bool
	line   int
}

func (s setting) apply(f *pflag.Flag, origin string) error {
	if v, ok := f.Value.(pflag.SliceValue); ok {
		f.Changed = true
		return v.Replace(s.values)
	}
	if s.list {
		return usagef("%s: takes one value, not a list", origin)
	}
	if err := f.Value.Set(s.values[0]); err != nil {
		return usagef("%s: %s", origin, strings.ReplaceAll(err.Error(), s.values[0], "..."))
	}
	f.Changed = true
	return nil
}

// readConfig reads a YAML mapping of flag names to scalars or lists of scalars.
func readConfig(file string, known map[string]bool) (map[string]setting, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("config: %w", err)
	}
	return parseConfig(file, data, known)
}

// parseConfig is readConfig of a file that has been read.
func parseConfig(file string, data []byte, known map[string]bool) (map[string]setting, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, usagef("config: %s: %w", file, err)
	}
	settings := map[string]setting{}
	if root.Kind == 0 {
		return settings, nil
	}
	top := root.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, usagef("config: %s:%d: want lines of the form key: value", file, top.Line)
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		switch _, twice := settings[key.Value]; {
		case twice:
			return nil, usagef("config: %s:%d: %s is given twice", file, key.Line, key.Value)
		case !known[key.Value]:
			return nil, usagef("config: %s:%d: unknown key %q%s", file, key.Line, key.Value, nearest(key.Value, known))
		}
		s := setting{line: key.Line}
		switch value.Kind {
		case yaml.ScalarNode:
			s.values = []string{value.Value}
		case yaml.SequenceNode:
			s.list = true
			for _, v := range value.Content {
				if v.Kind != yaml.ScalarNode {
					return nil, usagef("config: %s:%d: %s: want a list of plain values", file, v.Line, key.Value)
				}
				s.values = append(s.values, v.Value)
			}
		default:
			return nil, usagef("config: %s:%d: %s: want a value or a list", file, value.Line, key.Value)
		}
		if value.Tag == "!!null" {
			return nil, usagef("config: %s:%d: %s has no value", file, key.Line, key.Value)
		}
		settings[key.Value] = s
	}
	return settings, nil
}

// knownFlags are the flags of all verbs.
func knownFlags(root *cobra.Command) map[string]bool {
	known := map[string]bool{}
	add := func(f *pflag.Flag) {
		if !slices.Contains(notSettings, f.Name) {
			known[f.Name] = true
		}
	}
	root.PersistentFlags().VisitAll(add)
	for _, c := range root.Commands() {
		c.Flags().VisitAll(add)
	}
	return known
}

// nearest suggests the known name that differs from name in the fewest
// letters, if it differs in few.
func nearest(name string, known map[string]bool) string {
	best, least := "", 1+len(name)/3
	for _, k := range slices.Sorted(maps.Keys(known)) {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the number of letters to insert, delete or replace to turn a
// into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// splitList splits at commas and leaves empty elements out.
func splitList(v string) []string {
	var out []string
	for s := range strings.SplitSeq(v, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
