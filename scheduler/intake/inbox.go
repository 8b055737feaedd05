package intake

import (
	"context"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
)

// inbox gives what messages name to a spool.
type inbox struct {
	spool  *Spool
	bucket string // name of the source's bucket or folder
	prefix string // of the source in its bucket, with a slash at the end, or empty
}

func newInbox(s *Spool) *inbox {
	in := &inbox{spool: s}
	u, err := url.Parse(s.arrivals.Spec().Source)
	switch {
	case err != nil:
	case u.Scheme == "file":
		in.bucket = path.Base(u.Path)
	default:
		in.bucket = u.Host
		if p := strings.Trim(u.Path, "/"); p != "" {
			in.prefix = p + "/"
		}
	}
	return in
}

// key is the key in the source that a hint means. A hint that names no bucket means the source.
func (in *inbox) key(h hint) (string, bool) {
	if h.bucket == "" {
		return h.key, true
	}
	key, ok := strings.CutPrefix(h.key, in.prefix)
	return key, ok && h.bucket == in.bucket
}

// deliver gives a message to the spool, which calls done when all of its objects are in stored batches, or when
// there is nothing to do for them. Without wait it is full where the spool is: then a part of the message may have been
// taken, and done is not called.
func (in *inbox) deliver(ctx context.Context, body []byte, attributes map[string]string, wait bool, done func()) (full bool, err error) {
	m := in.spool.metrics
	n, err := parse(body, attributes)
	if err != nil {
		m.hint(hintMalformed)
		done()
		return false, nil
	}
	for range n.other {
		m.hint(hintOther)
	}
	var left atomic.Int64
	left.Store(1)
	one := func() {
		if left.Add(-1) == 0 {
			done()
		}
	}
	for _, h := range n.hints {
		key, ok := in.key(h)
		if !ok {
			m.hint(hintForeign)
			continue
		}
		left.Add(1)
		if full, err := in.spool.Add(ctx, Arrival{Key: key, Guess: h.guess, Done: one}, wait); full || err != nil {
			return true, err
		}
	}
	one()
	return false, nil
}
