package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

// fileBucket is a gocloud driver over a folder. gocloud's own has a create-only write that two writers can win,
// writes a second file beside each object, does not sync, and walks from the root for every page of a listing.
type fileBucket struct {
	dir   string
	links *links                       // how links below dir are followed; nil: not at all
	swept *lru.Cache[string, struct{}] // folders in which temporary files of dead processes were looked for, before the first write

	named     atomic.Bool // the file system has no files without a name
	replacing sync.Mutex  // held with the lock on replaceLock
}

// keptSwept bounds the folders that a bucket remembers as swept. One that is written to after so many others is swept again.
const keptSwept = 1 << 14

func newFileBucket(dir string, links *links) *fileBucket {
	swept, err := lru.New[string, struct{}](keptSwept)
	if err != nil {
		panic(err) // the bound is not below 1
	}
	return &fileBucket{dir: dir, links: links, swept: swept}
}

// driverCode classifies the errors of the file and memory drivers for gocloud, and those of clients that are called
// without it.
func driverCode(err error) gcerrors.ErrorCode {
	var own interface{ errorKind() gcerrors.ErrorCode }
	switch {
	case errors.As(err, &own):
		return own.errorKind()
	case errors.Is(err, errLink):
		return gcerrors.InvalidArgument
	case errors.Is(err, errMemNotFound), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return gcerrors.NotFound
	case errors.Is(err, errExists):
		return gcerrors.FailedPrecondition
	case errors.Is(err, errBadKey):
		return gcerrors.InvalidArgument
	case errors.Is(err, errUnsupported):
		return gcerrors.Unimplemented
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return gcerrors.PermissionDenied
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return gcerrors.ResourceExhausted
	}
	return gcerrors.Unknown
}

func (f *fileBucket) ErrorCode(err error) gcerrors.ErrorCode { return driverCode(err) }
func (f *fileBucket) As(any) bool                            { return false }
func (f *fileBucket) ErrorAs(error, any) bool                { return false }
func (f *fileBucket) Close() error                           { return nil }

// errBadKey is for keys that name no file below the root.
var errBadKey = errors.New("key cannot be a file's path")

// quoteRune starts an escape in keys of files: U+201B, as in rclone.
const quoteRune = '\u201b'

// KeyOfName turns a file's name into its part of a key: bytes that are no UTF-8 become U+201B and two hexadecimal
// digits, U+201B itself is doubled. Everything else stays.
func KeyOfName(name string) string {
	if utf8.ValidString(name) && !strings.ContainsRune(name, quoteRune) {
		return name
	}
	var out strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&out, "%c%02X", quoteRune, name[i])
		case r == quoteRune:
			out.WriteRune(r)
			fallthrough
		default:
			out.WriteString(name[i : i+n])
		}
		i += n
	}
	return out.String()
}

// nameOfKey is the inverse of KeyOfName, also on whole keys. A lone U+201B stands for itself.
func nameOfKey(key string) string {
	if !strings.ContainsRune(key, quoteRune) {
		return key
	}
	const quote = string(quoteRune)
	var out strings.Builder
	for {
		before, after, found := strings.Cut(key, quote)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		key = after
		var c byte
		switch {
		case strings.HasPrefix(key, quote):
			out.WriteString(quote)
			key = key[len(quote):]
		case len(key) >= 2 && isHex(key[0]) && isHex(key[1]):
			fmt.Sscanf(key[:2], "%02X", &c)
			out.WriteByte(c)
			key = key[2:]
		default:
			out.WriteString(quote)
		}
	}
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'A' <= c && c <= 'F' }

// name returns the path below the root, with slashes, of the file that holds key, or an error if the key would leave the
// root or name no file.
func (f *fileBucket) name(key string) (string, error) {
	name := nameOfKey(key)
	if strings.ContainsRune(name, 0) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("%w: %.200q", errBadKey, key)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return "", fmt.Errorf("%w: %.200q", errBadKey, key)
		}
	}
	return name, nil
}

// path returns the file that holds key.
func (f *fileBucket) path(key string) (string, error) {
	name, err := f.name(key)
	if err != nil {
		return "", err
	}
	return filepath.Join(f.dir, filepath.FromSlash(name)), nil
}

// find returns the folder, the path through it and the facts of a regular file. Anything else under the name is no
// object. The caller closes the folder.
func (f *fileBucket) find(key string) (*fileDir, string, fs.FileInfo, error) {
	dir, base, err := f.folderOf(key, false)
	if err != nil {
		return nil, "", nil, err
	}
	path := dir.file(base)
	info, err := f.lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file: %w", filepath.Join(dir.real, base), fs.ErrNotExist)
	}
	if err != nil {
		dir.close()
		return nil, "", nil, dir.named(err)
	}
	return dir, path, info, nil
}

func fileETag(info fs.FileInfo) string {
	return fmt.Sprintf("%x-%x", info.ModTime().UnixNano(), info.Size())
}

func (f *fileBucket) Attributes(_ context.Context, key string) (*driver.Attributes, error) {
	dir, _, info, err := f.find(key)
	if err != nil {
		return nil, err
	}
	dir.close()
	return &driver.Attributes{ContentType: "application/octet-stream", ModTime: info.ModTime(), Size: info.Size(), ETag: fileETag(info)}, nil
}

type fileReader struct {
	io.Reader
	file  *os.File
	attrs driver.ReaderAttributes
	as    func(any) bool
}

func (r *fileReader) Close() error                         { return r.file.Close() }
func (r *fileReader) Attributes() *driver.ReaderAttributes { return &r.attrs }
func (r *fileReader) As(i any) bool                        { return r.as(i) }

func (f *fileBucket) NewRangeReader(_ context.Context, key string, offset, length int64, opts *driver.ReaderOptions) (driver.Reader, error) {
	dir, path, _, err := f.find(key)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	if opts.BeforeRead != nil {
		if err := opts.BeforeRead(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	file, err := os.OpenFile(path, f.openFlags(), 0)
	if err != nil {
		return nil, dir.named(err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q is no regular file: %w", key, fs.ErrNotExist)
	}
	if err == nil && offset > 0 {
		_, err = file.Seek(offset, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	r := &fileReader{file, file, driver.ReaderAttributes{ContentType: "application/octet-stream", ModTime: info.ModTime(), Size: info.Size()}, asETag(fileETag(info))}
	if length >= 0 {
		r.Reader = io.LimitReader(file, length)
	}
	return r, nil
}

func (f *fileBucket) Delete(_ context.Context, key string, opts *driver.DeleteOptions) error {
	cond, err := deleteCondition(opts)
	if err != nil {
		return err
	}
	dir, path, _, err := f.find(key)
	if err != nil {
		return err
	}
	defer dir.close()
	if cond.match != "" {
		err = f.removeVersion(path, cond.match)
	} else {
		err = os.Remove(path)
	}
	if err != nil {
		return dir.named(err)
	}
	return dir.sync()
}

func (f *fileBucket) Copy(ctx context.Context, dst, src string, _ *driver.CopyOptions) error {
	r, err := f.NewRangeReader(ctx, src, 0, -1, &driver.ReaderOptions{})
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := f.NewTypedWriter(ctx, dst, "", &driver.WriterOptions{})
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}

func (f *fileBucket) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errUnsupported
}
