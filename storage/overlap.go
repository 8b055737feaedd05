package storage

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// Relation says how the objects of a source and of a target lie to each other.
type Relation int

const (
	Disjoint     Relation = iota // no object of one belongs to the other
	Same                         // they are the same folder, or the same prefix of the same bucket
	TargetInside                 // the target is a folder of the source
	SourceInside                 // the source is a folder of the target
)

// Overlap is what two locations have in common, by what they are and not by how they are spelled: folders are compared
// by device and inode after their links are resolved, buckets by store, name and prefix.
type Overlap struct {
	Relation Relation
	// Prefix is what the keys of the outer location have in front of those of the inner one, with a slash at its end;
	// empty where the locations are the same or disjoint.
	Prefix string
	// Unsure means that both buckets have one name at two addresses, which may be one store. Relation and Prefix hold
	// if they are. Resolve finds out.
	Unsure bool
}

// SourceKey gives the key that the source has for what the target has under key; ok is false where that does not lie
// in the source.
func (o Overlap) SourceKey(key string) (string, bool) {
	switch o.Relation {
	case Same:
		return key, true
	case TargetInside:
		return o.Prefix + key, true
	case SourceInside:
		if rest, ok := strings.CutPrefix(key, o.Prefix); ok && rest != "" {
			return rest, true
		}
	}
	return "", false
}

// TargetKey is the inverse of SourceKey: the key that the target has for what the source has under key.
func (o Overlap) TargetKey(key string) (string, bool) {
	switch o.Relation {
	case Same:
		return key, true
	case TargetInside:
		if rest, ok := strings.CutPrefix(key, o.Prefix); ok && rest != "" {
			return rest, true
		}
	case SourceInside:
		return o.Prefix + key, true
	}
	return "", false
}

// Compare says how the objects of two buckets lie to each other. It looks at folders, and asks no store.
func Compare(source, target *Bucket) (Overlap, error) {
	switch {
	case source.kind != target.kind:
		return Overlap{}, nil
	case source.kind == "file":
		return compareFolders(source.dir, target.dir)
	case source.name != target.name:
		return Overlap{}, nil
	}
	o := Overlap{Unsure: source.store != target.store}
	inTarget, sourceInside := strings.CutPrefix(source.prefix, target.prefix)
	inSource, targetInside := strings.CutPrefix(target.prefix, source.prefix)
	switch {
	case sourceInside && targetInside:
		o.Relation = Same
	case sourceInside:
		o.Relation, o.Prefix = SourceInside, inTarget
	case targetInside:
		o.Relation, o.Prefix = TargetInside, inSource
	default:
		return Overlap{}, nil
	}
	return o, nil
}

// Resolve is Compare, which in doubt asks the source's store for an object that the target is known to have under
// witness: only one store shows the same object in both ways. An overlap stays Unsure where the store does not let us
// look.
func (bs *Buckets) Resolve(ctx context.Context, source, target *Bucket, witness string) (Overlap, error) {
	o, err := Compare(source, target)
	if err != nil || !o.Unsure {
		return o, err
	}
	there, _, err := Stat(ctx, target, witness)
	if err != nil {
		return o, fmt.Errorf("storage: compare %s with %s: %w", source.URL, target.URL, err)
	}
	from, err := parse(source.URL)
	if err != nil {
		return o, err
	}
	to, err := parse(target.URL)
	if err != nil {
		return o, err
	}
	from.Path = to.Path
	seen, err := bs.Open(ctx, from.String())
	if err != nil {
		return o, nil
	}
	here, _, err := Stat(ctx, seen, witness)
	switch {
	case IsNotExist(err):
		return Overlap{}, nil
	case err != nil && Temporary(err):
		return o, fmt.Errorf("storage: compare %s with %s: %w", source.URL, target.URL, err)
	case err != nil:
		return o, nil
	}
	if !identical(here, there) {
		return Overlap{}, nil
	}
	o.Unsure = false
	return o, nil
}

// identical reports whether two answers are about one object.
func identical(a, b Object) bool {
	return a.Size == b.Size && a.ETag == b.ETag && a.ModTime.Equal(b.ModTime)
}

// InSource reports whether the object that target has under key also is an object of source, and under which key.
// Folders are resolved anew for each key, so that links below the target's root, and folders that were made or moved
// since, are seen. In doubt, see [Overlap], the source is asked.
func InSource(ctx context.Context, source, target *Bucket, key string) (string, bool, error) {
	if source.kind == "file" && target.kind == "file" {
		return fileInSource(source, target, key)
	}
	o, err := Compare(source, target)
	if err != nil {
		return "", false, err
	}
	sourceKey, ok := o.SourceKey(key)
	if !ok || !o.Unsure {
		return sourceKey, ok, nil
	}
	there, _, err := Stat(ctx, target, key)
	if IsNotExist(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	here, _, err := Stat(ctx, source, sourceKey)
	if IsNotExist(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	return sourceKey, identical(here, there), nil
}

// MayHold reports whether what target has under key may lie at a path or bucket URL, which is not opened: nothing is
// asked. Buckets of one name count as one, at whatever address.
func MayHold(rawURL string, target *Bucket, key string) (bool, error) {
	u, err := parse(rawURL)
	if err != nil {
		return false, nil // nothing lies there
	}
	b := &Bucket{URL: u.String(), kind: u.Scheme, name: u.Host}
	if u.Scheme == "file" {
		b.dir = filepath.FromSlash(u.Path)
		if target.kind == "file" {
			_, ok, err := fileInSource(b, target, key)
			return ok, err
		}
	} else if p := strings.Trim(u.Path, "/"); p != "" {
		b.prefix = p + "/"
	}
	o, err := Compare(b, target)
	if err != nil {
		return false, err
	}
	_, ok := o.SourceKey(key)
	return ok, nil
}
