package jobs

import (
	"math"
	"testing"
)

func TestExpectedRequestsAndCost(t *testing.T) {
	p := Plan{Objects: 2_000_000, Skipped: 0, Bytes: 2000 << 30, Estimate: &Estimate{Saving: 0.5}}
	for range 2000 {
		p.Chunks = append(p.Chunks, Chunk{Objects: 1000, Bytes: 1 << 30, Length: 1})
	}
	e := p.Expected()
	if e.Gets != 4_000_000+6000 || e.Puts != 2_000_000+2000 || e.Lists != 4002 || e.BytesIn != 2000<<30 || e.BytesOut != 1000<<30 {
		t.Errorf("%+v", e)
	}
	c := e.Cost(Prices{Currency: "EUR", Get: 0.4e-6, Put: 5e-6, GBMonth: 0.02, Egress: 0.01})
	for _, n := range []struct {
		name      string
		got, want float64
	}{
		{"requests", c.Requests, 4_006_000*0.4e-6 + 2_002_000*5e-6 + 4002*5e-6},
		{"egress", c.Egress, 20}, {"a month", c.Month, 20}, {"months", c.Months, c.Total / 20},
	} {
		if math.Abs(n.got-n.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", n.name, n.got, n.want)
		}
	}
	if never := (&Expect{BytesIn: 1, BytesOut: 2, Gets: 1}).Cost(Prices{Get: 1, GBMonth: 1}); never.Months != 0 || never.Total != 1 {
		t.Errorf("%+v of a job that saves nothing", never)
	}
}

func TestExpectedTime(t *testing.T) {
	local, away := &Estimate{CoreSeconds: 100, WaitSeconds: 300, SameCores: true}, &Estimate{CoreSeconds: 100, WaitSeconds: 3200}
	for _, test := range []struct {
		est            *Estimate
		workers, cores int
		seconds, one   float64
	}{
		{local, 3, 2, 200, 100},   // three workers on two cores are no faster than two cores
		{away, 3, 12, 66.67, 200}, // waiting for storage takes longer than encoding
		{&Estimate{CoreSeconds: 3200, WaitSeconds: 16}, 2, 8, 400, 800},
		{local, 0, 0, 0, 100},
		{nil, 3, 12, 0, 0},
	} {
		var e Expect
		if e.Time(test.est, test.workers, test.cores, 4); math.Abs(e.Seconds-test.seconds) > 0.1 || math.Abs(e.OneSeconds-test.one) > 0.1 {
			t.Errorf("%+v: %v s with %d workers on %d cores, %v s with one", test.est, e.Seconds, test.workers, test.cores, e.OneSeconds)
		}
	}
}
