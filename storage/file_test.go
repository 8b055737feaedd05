package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gocloud.dev/blob"
)

func openDir(t *testing.T, dir string) *Bucket {
	t.Helper()
	bs := NewBuckets()
	t.Cleanup(func() { bs.Close() })
	b, err := bs.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// files returns every file below dir, with pelmill's own, in order.
func files(t *testing.T, dir string) []string {
	t.Helper()
	list := []string{}
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

func walkKeys(t *testing.T, b *Bucket, opts *WalkOptions) []string {
	t.Helper()
	keys := []string{}
	if err := Walk(t.Context(), b, opts, func(p Page) error {
		for _, o := range p.Objects {
			keys = append(keys, o.Key)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return keys
}

// asNobody runs f without the rights of root. It changes the thread, which ends with f.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err := setFSUser(65534); err != nil {
			t.Logf("NOT TESTED without root's rights: %v", err)
			return
		}
		f()
	}()
	<-done
}

func TestFileKeysCannotLeaveTheRoot(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, filepath.Join(dir, "root"))
	for _, key := range []string{"", "/abs", "../out", "a/../../out", "a//b", "a/./b", "a/", ".", "..", "nul\x00", "a/..", "‛2E‛2E/out", "‛2Fabs"} {
		if _, err := Put(t.Context(), b, key, []byte("x"), nil); err == nil {
			t.Errorf("put %q succeeded", key)
		}
		if _, err := Get(t.Context(), b, key, -1, nil); err == nil {
			t.Errorf("get %q succeeded", key)
		}
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("written: %q", got)
	}
}

func TestFileNamesThatAreNoUTF8(t *testing.T) {
	dir := t.TempDir()
	names := []string{"latin\xe9.png", "\xff", "quote‛.png", "‛41.png", "plain.png"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666); err != nil {
			t.Skipf("NOT TESTED: file system refuses %q: %v", name, err)
		}
	}
	b := openDir(t, dir)
	keys := walkKeys(t, b, nil)
	if len(keys) != len(names) || !slices.IsSorted(keys) {
		t.Fatalf("listed %q", keys)
	}
	var read []string
	for _, key := range keys {
		g, err := Get(t.Context(), b, key, -1, nil)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, string(g.Data))
	}
	slices.Sort(read)
	slices.Sort(names)
	if !slices.Equal(read, names) {
		t.Errorf("read %q, want %q", read, names)
	}
}

func FuzzFileKey(f *testing.F) {
	for _, s := range []string{"a.png", "\xff‛41‛", "‛‛", "é日\xe2\x80", "‛4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		key := KeyOfName(name)
		if got := nameOfKey(key); got != name {
			t.Errorf("%q becomes key %q, which is file %q", name, key, got)
		}
	})
}

func TestFileListingFollowsNoLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, path := range []string{dir + "/real.png", other + "/outside.png"} {
		if err := os.WriteFile(path, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link.png": "real.png", "folder": other, "loop": ".", "dangling": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(other, "root")
	if err := os.Symlink(dir, root); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, root} {
		b := openDir(t, d)
		if got := walkKeys(t, b, nil); !slices.Equal(got, []string{"real.png"}) {
			t.Errorf("%s lists %q", d, got)
		}
		for _, key := range []string{"link.png", "pipe", "folder", "dangling"} {
			if _, err := Get(t.Context(), b, key, -1, nil); !IsNotExist(err) {
				t.Errorf("get %s: %v, want IsNotExist", key, err)
			}
		}
	}
}

func TestUnreadableFolderIsAnErrorWithItsPath(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	if _, err := Put(t.Context(), b, "open/a", nil, nil); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(dir, "open", "closed")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	chmod(t, filepath.Dir(dir), 0o755)
	asNobody(t, func() {
		err := Walk(t.Context(), b, nil, func(Page) error { return nil })
		if err == nil || !strings.Contains(err.Error(), closed) || !Unreachable(err) {
			t.Errorf("walk: %v", err)
		}
	})
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestUnwritableFolder(t *testing.T) {
	dir := t.TempDir()
	chmod(t, dir, 0o555)
	chmod(t, filepath.Dir(dir), 0o755)
	b := openDir(t, dir)
	asNobody(t, func() {
		_, err := Put(t.Context(), b, "a/b.png", []byte("x"), nil)
		if !Unreachable(err) || Temporary(err) || Full(err) {
			t.Errorf("put: %v, want Unreachable only", err)
		}
		if !strings.Contains(fmt.Sprint(err), dir) {
			t.Errorf("error does not name the folder: %v", err)
		}
	})
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}

func TestDiskFullLeavesNothing(t *testing.T) {
	dir := smallDisk(t)
	b := openDir(t, dir)
	if _, err := Put(t.Context(), b, "fits.bin", make([]byte, 100<<10), nil); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	_, err := Put(t.Context(), b, "sub/large.bin", make([]byte, 4<<20), nil)
	if !Full(err) || Temporary(err) || Unreachable(err) {
		t.Fatalf("put: %v, want Full only", err)
	}
	if got := files(t, dir); !slices.Equal(got, before) {
		t.Errorf("left: %q, want %q", got, before)
	}
	if _, err := Put(t.Context(), b, "still.bin", make([]byte, 100<<10), nil); err != nil {
		t.Errorf("space was not given back: %v", err)
	}
}

func TestFolderThatIsAnotherFileSystem(t *testing.T) {
	disk := smallDisk(t)
	b := openDir(t, filepath.Dir(disk))
	key := filepath.Base(disk) + "/a.png"
	for range 2 {
		if _, err := Put(t.Context(), b, key, []byte("x"), nil); err != nil {
			t.Fatal(err)
		}
	}
	var exists *ExistsError
	if _, err := Put(t.Context(), b, key, []byte("y"), nil); !errors.As(err, &exists) {
		t.Error(err)
	}
	if got := files(t, disk); !slices.Equal(got, []string{"a.png"}) {
		t.Errorf("left: %q", got)
	}
}

func TestFilesThatAreTargetsOfNothing(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	if _, err := Put(t.Context(), b, "a", nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := Put(t.Context(), b, "a/b", nil, nil); err == nil {
		t.Error("a file became a folder")
	}
	if _, err := Put(t.Context(), b, "d/e", nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, opts := range []*PutOptions{nil, {Overwrite: true}} {
		if _, err := Put(t.Context(), b, "d", []byte("x"), opts); err == nil {
			t.Errorf("a folder became a file with %+v", opts)
		}
	}
	if got := files(t, dir); !slices.Equal(got, []string{"a", "d/e"}) {
		t.Errorf("files are %q", got)
	}
}

func TestReadsDuringRewritesAreWholeOrRefused(t *testing.T) {
	b := openDir(t, t.TempDir())
	path := filepath.Join(b.Dir(), "f")
	content := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 300<<10+i) }
	if err := os.WriteFile(path, content(0), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; ctx.Err() == nil; i = (i + 1) % 200 {
			os.WriteFile(path, content(i), 0o666) // in place: a reader sees it half-written
			time.Sleep(10 * time.Millisecond)     // more than the grain of file times
		}
	})
	whole, refused := 0, 0
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		g, err := Get(t.Context(), b, "f", -1, nil)
		switch {
		case errors.Is(err, ErrChanged) || Temporary(err):
			refused++
		case err != nil:
			t.Error(err)
		case len(g.Data) > 0 && !bytes.Equal(g.Data, content(int(g.Data[0]))) && len(g.Data) >= 300<<10:
			t.Errorf("mixed content of %d bytes passed", len(g.Data))
		default:
			whole++
		}
	}
	cancel()
	wg.Wait()
	t.Logf("%d reads whole, %d refused", whole, refused)
}

// Records of a job are replaced while others read them: a reader gets one of the versions.
func TestReadsDuringReplacementsSucceed(t *testing.T) {
	b := openDir(t, t.TempDir())
	put := func(i int) {
		if _, err := Put(t.Context(), b, "f", bytes.Repeat([]byte{byte(i)}, 100+i), &PutOptions{Overwrite: true}); err != nil {
			t.Error(err)
		}
	}
	put(0)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; ctx.Err() == nil; i = (i + 1) % 100 {
			put(i)
			time.Sleep(5 * time.Millisecond)
		}
	})
	for range 500 {
		g, err := Get(t.Context(), b, "f", -1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i := g.Data[0]; !bytes.Equal(g.Data, bytes.Repeat([]byte{i}, 100+int(i))) {
			t.Fatalf("mixed content: % x", g.Data)
		}
	}
	cancel()
	wg.Wait()
}

func TestFolderListsThroughGocloudToo(t *testing.T) {
	b := openDir(t, t.TempDir())
	for _, key := range []string{"a-", "a/b", "a/c/d", "a0", "z"} {
		if _, err := Put(t.Context(), b, key, []byte(key), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		opts blob.ListOptions
		want []string
	}{
		{blob.ListOptions{}, []string{"a-", "a/b", "a/c/d", "a0", "z"}},
		{blob.ListOptions{Delimiter: "/"}, []string{"a-", "a/", "a0", "z"}},
		{blob.ListOptions{Delimiter: "/", Prefix: "a/"}, []string{"a/b", "a/c/"}},
	} {
		got := []string{}
		token := blob.FirstPageToken
		for len(token) > 0 {
			page, next, err := b.ListPage(t.Context(), token, 2, &c.opts)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range page {
				if !strings.HasPrefix(o.Key, ownDir) {
					got = append(got, o.Key)
				}
			}
			token = next
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v lists %q, want %q", c.opts, got, c.want)
		}
	}
}

// What is appended stays in order; a link in the place of the file is not followed, and other stores have no such thing.
func TestAppend(t *testing.T) {
	dir := t.TempDir()
	buckets := NewBuckets()
	defer buckets.Close()
	b, err := buckets.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"one\n", "two\n"} {
		if err := Append(t.Context(), b, "a/b.jsonl", []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a", "b.jsonl")); err != nil || string(got) != "one\ntwo\n" {
		t.Errorf("%q (%v)", got, err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "a", "link")); err != nil {
		t.Fatal(err)
	}
	err = Append(t.Context(), b, "a/link", []byte("x"))
	if got, _ := os.ReadFile(outside); runtime.GOOS == "linux" && (err == nil || len(got) > 0) {
		t.Errorf("through a link: %v, %q", err, got)
	}
	mem, err := buckets.Open(t.Context(), "mem://append")
	if err == nil {
		err = Append(t.Context(), mem, "x", []byte("x"))
	}
	if err == nil {
		t.Error("memory took it")
	}
}
