package storage

import "gocloud.dev/blob/driver"

// condition says which version of an object a write may replace or a deletion may remove. It is handed to the driver of the store, so that the
// store itself decides; a writer in another process cannot come in between.
type condition struct {
	match string // ETag of that version, in the form that listings have; empty: any, or none where the write creates
	made  string // ETag of what the write left there, where the driver knows it: those of files and memory
}

// set is the BeforeWrite of gocloud's writers and the BeforeDelete of its deletions.
func (c *condition) set(as func(any) bool) error {
	var own **condition
	if as(&own) {
		*own = c
		return nil
	}
	if c.match == "" {
		return nil
	}
	matchS3(as, c.match)
	return matchGCS(as, c.match)
}

// takeCondition lets the drivers of this package receive the condition of a write through As.
func takeCondition(to **condition) func(any) bool {
	return func(i any) bool {
		p, ok := i.(***condition)
		if ok {
			*p = to
		}
		return ok
	}
}

// wrote reports whether the object that is there now is the one that this write left: by its ETag where the driver told
// it, else by all of the metadata that went along, which holds the SHA-256 of the content.
func (c *condition) wrote(now Object, stored, sent map[string]string) bool {
	if c.made != "" {
		return now.ETag == c.made
	}
	for k, v := range sent {
		if stored[k] != v {
			return false
		}
	}
	return true
}

// deleteCondition is the condition of a deletion, for the drivers of this package.
func deleteCondition(opts *driver.DeleteOptions) (*condition, error) {
	cond := &condition{}
	if opts == nil || opts.BeforeDelete == nil {
		return cond, nil
	}
	err := opts.BeforeDelete(takeCondition(&cond))
	return cond, err
}
