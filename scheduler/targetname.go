package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// noteFolders remembers the folders of a key that end in an extension of results,
// because a result could have the same name. Such folders are rare, so their whole
// keys are held.
func (f *objectStatus) noteFolders(key string, extensions jobs.Extensions) {
	for at := 0; ; {
		n := strings.IndexByte(key[at:], '/')
		if n < 0 {
			return
		}
		at += n
		if _, ok := extensions.Cut(key[:at]); ok {
			f.folders[key[:at]] = true
		}
		at++
	}
}

// nameTarget finds a name for the result of e that the target can hold. A result that
// would have the name of a folder of the target gets its full name. Where that does not
// help, or the target does not allow the name, e becomes bad. What can get one of several
// names must be able to get each.
func (f *objectStatus) nameTarget(e *jobs.Entry, extensions jobs.Extensions, target *storage.Bucket) {
	folder := func(key string) bool { return f.folders[key] }
	if !e.Full && slices.ContainsFunc(e.TargetKeys(extensions), folder) {
		e.Full = true
		f.collisions++
	}
	for _, key := range e.TargetKeys(extensions) {
		if folder(key) {
			e.Bad = fmt.Sprintf("its result would have the name of the folder %.200q of the target", key)
		} else if err := target.CheckKey(key); err != nil {
			e.Bad = fmt.Sprintf("the target cannot hold its result %.200q: %v", key, err)
		}
	}
	if e.Bad != "" {
		f.unfit++
	}
}
