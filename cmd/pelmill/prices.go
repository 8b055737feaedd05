package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/pelmill/pelmill/jobs"
)

// pricesFlag reads the price table of --prices.
type pricesFlag struct {
	p    *program
	file string
}

func (f *pricesFlag) Type() string   { return "FILE" }
func (f *pricesFlag) String() string { return f.file }

func (f *pricesFlag) Set(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var prices jobs.Prices
	lines := yaml.NewDecoder(bytes.NewReader(data))
	lines.KnownFields(true)
	if err := lines.Decode(&prices); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if min(prices.Get, prices.Put, prices.List, prices.GBMonth, prices.Egress) < 0 {
		return fmt.Errorf("%s: want no price below 0", file)
	}
	f.file, f.p.prices = file, &prices
	return nil
}

func (p *program) pricesFlag(fs *pflag.FlagSet) {
	fs.Var(&pricesFlag{p: p}, "prices", "show what the job costs by the prices in this YAML `FILE`: currency, and for one request get, put and list, for a GB (2^30 bytes) gb-month and egress")
}

// expectRows are time, requests, bytes and cost of a plan.
func expectRows(e *jobs.Expect, prices *jobs.Prices) [][]string {
	if e == nil {
		return nil
	}
	var table [][]string
	if e.OneSeconds > 0 {
		text := secondsText(e.OneSeconds) + " with one worker"
		if e.Seconds > 0 {
			text = fmt.Sprintf("%s with %s on %d cores that are connected, %s", secondsText(e.Seconds), plural(int64(e.Workers), "worker"), e.Cores, text)
		}
		assumes := "if workers reach storage as fast as the sample did"
		if e.SameCores {
			assumes = "if storage and workers share the cores of this machine and it stays as busy as it was"
		}
		table = append(table, []string{"time", fmt.Sprintf("%s (%s encoding, %s waiting for storage), %s", text, secondsText(e.CoreSeconds), secondsText(e.WaitSeconds), assumes)})
	}
	table = append(table, []string{"requests", fmt.Sprintf("%s that read, %s that write, %s that list", countText(e.Gets), countText(e.Puts), countText(e.Lists))},
		[]string{"traffic", fmt.Sprintf("%s in, %s out", bytesText(e.BytesIn), bytesText(e.BytesOut))})
	if prices == nil {
		return table
	}
	c := e.Cost(*prices)
	text := fmt.Sprintf("%.2f %s: requests %.2f, egress %.2f", c.Total, c.Currency, c.Requests, c.Egress)
	if c.Months > 0 {
		text += fmt.Sprintf("; without the sources %.2f less a month, which pays for it in %.1f months", c.Month, c.Months)
	} else {
		text += "; it saves no money"
	}
	return append(table, []string{"cost", text})
}
