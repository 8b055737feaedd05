package scheduler

import (
	"strings"

	"github.com/pelmill/pelmill/jobs"
)

// claims finds the objects whose default target name another object of the
// source has too, in one pass over the keys in order. Such an object gets its
// full name with the codec's extension behind it: a.jpg and a.png become
// a.jpg.vq and a.png.vq. So does an object whose stem is the key of another,
// because that one's full name may be its default name: of "a.jpg" and
// "a.jpg.png" the second becomes "a.jpg.png.vq". Full names are then unique, whichever
// of several extensions a result gets.
//
// Keys of earlier jobs that the manifest no longer has take part, so that no
// result of theirs is replaced.
//
// Earlier versions made stems in another way, so an object whose earlier result
// has such a name claims that stem as well.
//
// Only keys that begin with a stem can share it, and these are neighbours in
// key order; so it is enough to hold the claims that the current key begins
// with.
type claims struct {
	extensions jobs.Extensions // that results can have
	held       []claim
}

type claim struct {
	text string
	line int64 // of the manifest; earlierLine for a key of an earlier job
	key  bool  // text is a key, else a stem
}

const earlierLine = -1

// next takes the next key, with the stems of its earlier results, and calls mark
// with each line that needs a full name, some of them again.
func (c *claims) next(key string, line int64, earlier []string, mark func(line int64)) {
	c.drop(key)
	c.claimStem(key, c.extensions.Stem(key), line, mark)
	for _, stem := range earlier {
		c.claimStem(key, stem, line, mark)
	}
	c.held = append(c.held, claim{key, line, true})
}

func (c *claims) claimStem(key, stem string, line int64, mark func(line int64)) {
	shared, stemHeld := false, false
	for i := range c.held {
		h := &c.held[i]
		if h.text != stem {
			continue
		}
		switch {
		case !h.key && h.line == line && line != earlierLine:
			stemHeld = true // its own
		case !h.key:
			shared, stemHeld = true, true
			if h.line != earlierLine {
				mark(h.line)
			}
		case stem != key:
			shared = true
		}
	}
	if shared && line != earlierLine {
		mark(line)
	}
	if !stemHeld {
		c.held = append(c.held, claim{stem, line, false})
	}
}

// drop lets go of what key does not begin with.
func (c *claims) drop(key string) {
	kept := c.held[:0]
	for _, h := range c.held {
		if strings.HasPrefix(key, h.text) {
			kept = append(kept, h)
		}
	}
	c.held = kept
}

// concerns reports whether key can still share a stem with a line that was met.
func (c *claims) concerns(key string) bool {
	c.drop(key)
	return len(c.held) > 0
}
