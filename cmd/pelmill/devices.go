package main

import (
	"context"
	"fmt"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/worker"
)

// devices describes the cards and tries each: the speed of its link, the kernels, and
// every codec against the CPU.
func (d *examination) devices(ctx context.Context) {
	cards, err := gpu.List()
	if err != nil {
		d.ok("device", "cpu only (%v)", err)
		return
	}
	for i := range cards {
		d.card(ctx, &cards[i])
	}
}

func (d *examination) card(ctx context.Context, info *gpu.Info) {
	name := fmt.Sprintf("device cuda:%d", info.Index)
	dev, err := gpu.Open(fmt.Sprintf("cuda:%d", info.Index))
	if err != nil {
		d.warn(name, err.Error(), "")
		return
	}
	defer func() {
		if err := dev.Close(); err != nil {
			d.fail(name, err, "do not use this card")
		}
	}()
	links, err := dev.Links(ctx)
	if err != nil {
		d.fail(name, err, "")
		return
	}
	for _, l := range links {
		d.ok(name, "%s; link %.1f GB/s up, %.1f GB/s down", info, l.Up/1e9, l.Down/1e9)
	}
	if err := dev.SelfTest(ctx); err != nil {
		d.fail(name, err, "do not use this card")
		return
	}
	d.ok(name, "kernels give the known results")
	for _, c := range codecs.All() {
		if err := worker.SelfTest(ctx, c, dev); err != nil {
			d.fail(name, err, "do not use this build on this card")
			continue
		}
		d.ok(name, "codec %s gives the files that the CPU gives", c.Info().Name)
	}
}
