package scheduler

import (
	"fmt"
	"strings"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// noteFolders remembers the folders of a key that end in the codec's extension,
// because a result could have the same name. Such folders are rare, so their whole
// keys are held.
func (f *objectStatus) noteFolders(key, extension string) {
	for at := 0; ; {
		n := strings.IndexByte(key[at:], '/')
		if n < 0 {
			return
		}
		at += n
		if strings.HasSuffix(key[:at], extension) {
			f.folders[key[:at]] = true
		}
		at++
	}
}

// nameTarget finds a name for the result of e that the target can hold. A result
// that would have the name of a folder of the target gets its full name. Where that
// does not help, or the target does not allow the name, e becomes bad.
func (f *objectStatus) nameTarget(e *jobs.Entry, extension string, target *storage.Bucket) {
	if !e.Full && f.folders[e.TargetKey(extension)] {
		e.Full = true
		f.collisions++
	}
	key := e.TargetKey(extension)
	if f.folders[key] {
		e.Bad = fmt.Sprintf("its result would have the name of the folder %.200q of the target", key)
	} else if err := target.CheckKey(key); err != nil {
		e.Bad = fmt.Sprintf("the target cannot hold its result %.200q: %v", key, err)
	}
	if e.Bad != "" {
		f.unfit++
	}
}
