package intake

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

const (
	lookUpsAtOnce = 16 // objects of a batch that the store is asked for side by side

	// A page of a listing takes a store about as long, and costs about as much, as a dozen requests for single objects.
	// So objects that lie side by side, as those that were written side by side often do, are listed.
	leastListed = 50 // objects of a folder for which it is listed, and which each page must have for the next one
)

// lookUp completes what the store has to be asked for, and leaves in items what there is to do. What is left out is
// acknowledged. Its error is that of ctx.
func (b *batch) lookUp(ctx context.Context) error {
	if err := b.lookUpListed(ctx); err != nil {
		return err
	}
	work := make(chan *item)
	var looking sync.WaitGroup
	for range lookUpsAtOnce {
		looking.Go(func() {
			for it := range work {
				b.complete(ctx, it)
			}
		})
	}
	for _, it := range b.held {
		if it.entry.ETag == "" && it.refused == "" {
			work <- it
		}
	}
	close(work)
	looking.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, it := range b.held {
		why := ""
		switch {
		case it.refused != "":
			why = it.refused
		case b.in.recent.has(it):
			why = hintKnown
		}
		if why == "" {
			b.items = append(b.items, it)
			b.in.metrics.hint(hintTaken)
			continue
		}
		it.acknowledge()
		if !(it.guess && why == hintMissing) {
			b.in.metrics.hint(why)
		}
	}
	return nil
}

// lookUpListed completes objects by listings, where folders have many of them. Objects that no listing has are left to be
// asked for one by one.
func (b *batch) lookUpListed(ctx context.Context) error {
	source := b.in.arrivals.Source()
	if strings.HasPrefix(source.URL, "file:") || strings.HasPrefix(source.URL, "mem:") {
		return nil // which are asked faster than they are listed
	}
	folders := map[string]map[string]*item{}
	for _, it := range b.held {
		if it.entry.ETag != "" {
			continue
		}
		of := it.key[:strings.LastIndexByte(it.key, '/')+1]
		if folders[of] == nil {
			folders[of] = map[string]*item{}
		}
		folders[of][it.key] = it
	}
	for folder, wanted := range folders {
		if len(wanted) < leastListed {
			continue
		}
		err := b.in.insist(ctx, "look up objects", func() error { return b.listFolder(ctx, source, folder, wanted) })
		if err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// listFolder completes those of the wanted objects of a folder that its listing has, as long as it has many of them.
func (b *batch) listFolder(ctx context.Context, source *storage.Bucket, folder string, wanted map[string]*item) error {
	keys := make([]string, 0, len(wanted))
	for key := range wanted {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	first, last := keys[0], keys[len(keys)-1]
	enough := errors.New("enough")
	_, n := utf8.DecodeLastRuneInString(first)
	// No key is known to be the greatest before the first one; one that is shorter by a letter is before it, too.
	err := storage.Walk(ctx, source, &storage.WalkOptions{Prefix: folder, StartAfter: first[:len(first)-n]}, func(p storage.Page) error {
		met := 0
		for _, o := range p.Objects {
			if it := wanted[o.Key]; it != nil {
				met++
				b.found(it, o)
			}
		}
		if n := len(p.Objects); n > 0 && (met < leastListed || p.Objects[n-1].Key >= last) {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) || err != nil && !storage.Temporary(err) && !storage.Unreachable(err) {
		return nil // an error of one request is told by the next ones, for each object
	}
	return err
}

// complete asks the store for an object, and says why it is left out.
func (b *batch) complete(ctx context.Context, it *item) {
	var o storage.Object
	err := b.in.insist(ctx, "look up an object", func() (err error) {
		o, _, err = storage.Stat(ctx, b.in.arrivals.Source(), it.key)
		if err == nil {
			return nil
		}
		if storage.Temporary(err) || storage.Unreachable(err) {
			return withoutKey(err)
		}
		if it.refused = hintUnreadable; storage.IsNotExist(err) {
			it.refused = hintMissing
		}
		return nil
	})
	if err == nil && it.refused == "" {
		b.found(it, o)
	}
}

// found completes an object by what the store says.
func (b *batch) found(it *item, o storage.Object) {
	o.Key = it.key
	it.entry = jobs.Entry{Key: o.Key, Size: o.Size, ETag: o.ETag, ModTime: o.ModTime}
	if !b.in.arrivals.Takes(o) {
		it.refused = hintFiltered
	}
}

// withoutKey is what may be said of an error about an object that may pass: health and logs say why nothing goes on, and a
// key, which the texts of clients have in many spellings, may have the name of a patient.
func withoutKey(err error) error {
	var network *net.OpError
	var answer interface{ ErrorCode() string }
	switch {
	case errors.As(err, &network):
		return network
	case errors.As(err, &answer):
		return errors.New("the store answers " + answer.ErrorCode())
	case storage.Unreachable(err):
		return errors.New("the store cannot be reached")
	}
	return errors.New("the store does not answer well")
}
