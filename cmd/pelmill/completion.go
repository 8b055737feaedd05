package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
)

// completeTime bounds what a shell waits for the jobs of a target.
const completeTime = 3 * time.Second

// completions teaches all verbs what a shell can complete: the values of flags, options of
// the codec that was given, devices, and the jobs of a target. Everything else stays what
// the shell does for files.
func (p *program) completions(root *cobra.Command) {
	values := map[string][]cobra.Completion{
		"verify": {"full", "device", "sample:0.1", "off"}, "larger": {"leave", "copy"}, "others": {"leave", "copy"},
		"manifest-format": {scheduler.CSV, scheduler.JSONL, scheduler.Inventory},
		"outcome":         nil, "again": {string(jobs.OutcomeUnsupported), string(jobs.OutcomeRejected), string(jobs.OutcomeKept)},
	}
	for _, o := range jobs.Outcomes() {
		if o != jobs.OutcomeSkipped {
			values["outcome"] = append(values["outcome"], string(o))
		}
	}
	for _, cmd := range root.Commands() {
		for flag, list := range values {
			completeFlag(cmd, flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
		}
		completeFlag(cmd, "codec", completeCodecs)
		completeFlag(cmd, "option", completeOptions)
		completeFlag(cmd, "device", completeDevices)
		if strings.Contains(cmd.Use, "[JOB]") && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = p.completeJobs
		}
	}
}

// completeFlag sets what completes the values of a flag that cmd has. Where the flag means
// something else, as verify does for a verb that has it as a switch, it is left alone.
func completeFlag(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if f := cmd.Flags().Lookup(flag); f != nil && f.NoOptDefVal == "" {
		cmd.RegisterFlagCompletionFunc(flag, by) // fails only for a flag that is not there, or has one
	}
}

func completeCodecs(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var list []cobra.Completion
	for _, c := range codecs.All() {
		list = append(list, cobra.CompletionWithDesc(c.Info().Name, c.Info().Title))
	}
	return append(list, cobra.CompletionWithDesc(codecs.Auto, codecs.AutoTitle)), cobra.ShellCompDirectiveNoFileComp
}

// completeOptions completes the keys of options, and behind the sign the values that can
// be listed.
func completeOptions(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	name, _ := cmd.Flags().GetString("codec")
	c, err := codecs.Find(name)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	key, _, valued := strings.Cut(begun, "=")
	var list []cobra.Completion
	for _, o := range c.Info().Options {
		if !valued {
			list = append(list, cobra.CompletionWithDesc(o.Key+"=", o.Help))
			continue
		}
		if o.Key == key {
			for _, v := range optionValues(c, o) {
				list = append(list, o.Key+"="+v)
			}
		}
	}
	if !valued {
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// optionValues are the values of an option that its documentation names and the codec takes.
func optionValues(c codec.Codec, o codec.OptionInfo) (list []string) {
	for _, v := range strings.FieldsFunc(o.Values, func(r rune) bool { return r == ',' || r == ' ' }) {
		if _, err := c.Options([]string{o.Key + "=" + v}); err == nil && !slices.Contains(list, v) && v != "PATH" {
			list = append(list, v)
		}
	}
	return list
}

func completeDevices(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := []cobra.Completion{"auto", "cpu", "cuda"}
	cards, _ := gpu.List() // without a driver there are none
	for i := range cards {
		list = append(list, cobra.CompletionWithDesc(fmt.Sprintf("cuda:%d", cards[i].Index), cards[i].String()))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeJobs completes the job behind a target, newest first.
func (p *program) completeJobs(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	none := cobra.ShellCompDirectiveNoFileComp
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
	defer cancel()
	if p.bind(cmd) != nil {
		return nil, none
	}
	c := &cluster{p: p}
	if c.open(ctx) != nil {
		return nil, none
	}
	defer c.close()
	all, err := c.client.List(ctx, args[0])
	if err != nil {
		return nil, none
	}
	var list []cobra.Completion
	for _, s := range slices.Backward(all) {
		list = append(list, cobra.CompletionWithDesc(s.ID, fmt.Sprintf("%s %s, %s", s.State, s.Codec, short(s.Source))))
	}
	return list, none | cobra.ShellCompDirectiveKeepOrder
}
