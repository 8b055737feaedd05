package report

import (
	"slices"
	"strings"

	"github.com/pelmill/pelmill/jobs"
)

// object is what lists show of an object.
type object struct {
	key, hash    string
	size, target int64 // bytes of source and result
	psnr, ssim   float64
	seconds      float64 // of all stages
}

// saving is the share of the source's bytes that the result saves.
func (o *object) saving() float64 { return 1 - float64(o.target)/float64(o.size) }

// ranking keeps the first listed objects in an order; of equal ones those that came first.
type ranking struct {
	before func(a, b *object) bool
	list   []object
}

func (k *ranking) add(o *object) {
	if len(k.list) == listed && !k.before(o, &k.list[listed-1]) {
		return
	}
	i := len(k.list)
	for i > 0 && k.before(o, &k.list[i-1]) {
		i--
	}
	k.list = slices.Insert(k.list, i, *o)
	k.list = k.list[:min(len(k.list), listed)]
}

// reasonKey names why objects were not compressed.
type reasonKey struct {
	outcome jobs.Outcome
	class   string
}

// reason is a group of objects that were not compressed for the same reason.
type reason struct {
	reasonKey
	objects, bytes int64
	first          []failed // at most failures
}

// failed is an object that was not compressed.
type failed struct {
	key, hash, text string
	attempts        int
}

// bad reports whether such objects are failures, which are listed one by one.
func (k reasonKey) bad() bool {
	return k.outcome == jobs.OutcomeFailed || k.outcome == jobs.OutcomeRejected
}

// reason counts an object that was not compressed.
func (p *Page) reason(r *jobs.Result) {
	if r.Outcome == jobs.OutcomeCompressed || r.Outcome == jobs.OutcomeSkipped {
		return
	}
	key := reasonKey{r.Outcome, r.Class}
	v, ok := p.reasons[key]
	if !ok {
		if len(p.reasons) >= mostKinds {
			key.class = otherKinds
		}
		if v, ok = p.reasons[key]; !ok {
			v = &reason{reasonKey: key}
			p.reasons[key] = v
		}
	}
	v.objects++
	v.bytes += max(r.Size, 0)
	if key.bad() && len(v.first) < failures {
		v.first = append(v.first, failed{r.Key, r.KeyHash, cut(r.Error), r.Attempts})
	}
}

// longest is how many bytes of an error's text are kept.
const longest = 2000

func cut(text string) string { return strings.Clone(text[:min(len(text), longest)]) }
