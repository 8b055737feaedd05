package worker

import (
	"path"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
)

// pictureNames finds the files of codecs whose key without the codec's extension is the name of their picture file:
// a.png.webp becomes a.png, and not a.png.png. Only where another file of the source could become a.png as well, which is
// a.webp, or lies there as a.png, does it get the longer name: then no two files have one name that had two before.
//
// Keys come in order. What concerns a.png.webp begins with "a", and comes before a key at which all that begins with
// "a." is over. So no more is remembered than a few names that begin as the newest key does.
type pictureNames struct {
	codecs  []codec.Codec
	seen    []string        // keys, and keys without the extension of a codec
	waiting []waitingObject // nothing that has their short name was seen yet
}

type waitingObject struct {
	object *object
	short  string // the key without both extensions
}

// isOver reports whether all keys that begin with name and a dot come before key.
func isOver(name, key string) bool { return key >= name+"/" } // the character behind the dot

// next looks at the next key of the source, which is that of o; o is nil where the file is not wanted. It calls found with
// those objects of which is known by now which names they get.
func (n *pictureNames) next(key string, o *object, found func(*object) error) error {
	stem := key
	if c, ok := codecOf(n.codecs, key); ok {
		stem = stripExtension(key, c.Info())
	}
	n.seen = slices.DeleteFunc(n.seen, func(name string) bool { return isOver(name, key) })
	if err := n.settle(func(w waitingObject) bool { return w.short == stem || isOver(w.short, key) }, func(w waitingObject) { w.object.stemIsName = w.short != stem }, found); err != nil {
		return err
	}
	ext := path.Ext(stem)
	short := strings.TrimSuffix(stem, ext)
	candidate := o != nil && stem != key && isPictureExtension(ext) && short != "" && !strings.HasSuffix(short, "/")
	taken := candidate && (slices.Contains(n.seen, short) || slices.Contains(n.seen, stem))
	for _, name := range []string{key, stem} {
		if !slices.Contains(n.seen, name) {
			n.seen = append(n.seen, name)
		}
	}
	switch {
	case candidate && !taken:
		n.waiting = append(n.waiting, waitingObject{o, short})
		return nil
	case o == nil:
		return nil
	}
	return found(o)
}

// end calls found with what waits at the end of the source.
func (n *pictureNames) end(found func(*object) error) error {
	return n.settle(func(waitingObject) bool { return true }, func(w waitingObject) { w.object.stemIsName = true }, found)
}

// settle decides on those that are due and calls found with them.
func (n *pictureNames) settle(due func(waitingObject) bool, decide func(waitingObject), found func(*object) error) error {
	for i := 0; i < len(n.waiting); {
		w := n.waiting[i]
		if !due(w) {
			i++
			continue
		}
		n.waiting = slices.Delete(n.waiting, i, i+1)
		decide(w)
		if err := found(w.object); err != nil {
			return err
		}
	}
	return nil
}

// sameExtension reports whether a file of a format may end with ext in place of the extension that its files get here.
func sameExtension(ext, of string) bool {
	return strings.EqualFold(ext, of) || of == imageExtensions["tiff"] && strings.EqualFold(ext, ".tiff")
}

// isPictureExtension reports whether picture files of any format end so.
func isPictureExtension(ext string) bool {
	return slices.ContainsFunc([]string{".png", ".tif", ".nii", ".pam", ".pgm", ".ppm"}, func(of string) bool { return sameExtension(ext, of) })
}
