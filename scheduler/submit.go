package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/notify"
	"github.com/pelmill/pelmill/storage"
)

// Submit makes a new job of spec and returns it as stored: with its id, defaults
// filled in, canonical URLs and canonical options.
//
// spec.Options are key=value pairs as codec.JoinPairs writes them. An option that names a file or URL is read now and kept in the target
// under its hash. spec.Sample 0 takes no sample.
//
// manifest names the objects, in one of the formats [CSV], [Inventory], [JSONL]
// and [FilesFrom]; nil means that the source is listed. It is read and sorted
// now, in bounded memory. With [GroupFolders] and [GroupHeaders] there is none, and the
// source is listed now.
//
// With spec.Token, a token that was used in this target before gives the job of
// then. The job's specification is the last thing written but for its control
// record, so a submission that fails can be repeated with the same token.
func (c *Client) Submit(ctx context.Context, spec jobs.Spec, manifest io.Reader, format string) (jobs.Spec, error) {
	switch {
	case Groups(format):
		listed := spec
		spec.Filter = jobs.Filter{} // it holds for the parts, and not for the names of series
		return c.submit(ctx, spec, func(source string, fn func(jobs.Entry) error) error {
			listed.Source = source
			return c.group(ctx, listed, format, false, fn)
		})
	case manifest == nil:
		return c.submit(ctx, spec, nil)
	}
	return c.submit(ctx, spec, func(source string, fn func(jobs.Entry) error) error {
		target, err := c.Buckets.Open(ctx, spec.Target)
		if err != nil {
			return err
		}
		return parseManifest(manifest, format, source, sitekey.NewReader(ctx, target), fn)
	})
}

// submit is Submit with the entries of a manifest, which given passes to fn for a canonical source; nil: the
// source is listed.
func (c *Client) submit(ctx context.Context, spec jobs.Spec, given func(source string, fn func(jobs.Entry) error) error) (jobs.Spec, error) {
	asset, err := c.completeNew(ctx, &spec)
	if err != nil {
		return spec, err
	}
	target, err := c.Buckets.Open(ctx, spec.Target)
	if err != nil {
		return spec, err
	}
	if spec.Token != "" {
		if spec.ID, err = claimToken(ctx, target, spec.Token, spec.ID); err != nil {
			return spec, err
		}
		old, ok, err := readSpec(ctx, target, spec.ID)
		if err == nil && ok {
			err = old.CheckAt(spec.ID, target.URL)
		}
		if err != nil {
			return spec, err
		}
		if ok {
			if other := differs(&old, &spec, given != nil); other != "" {
				return spec, &TokenError{Job: old.ID, Differs: other}
			}
			return old, c.open(ctx, old)
		}
	}
	f := folder{b: target, id: spec.ID}
	if asset != nil {
		if err := storeAsset(ctx, f, asset); err != nil {
			return spec, err
		}
	}
	if given != nil {
		spec.Manifest = jobs.Given
		s := memory(c.Memory).sorter()
		defer s.close()
		err := sortManifest(&s, func(fn func(jobs.Entry) error) error { return given(spec.Source, fn) })
		if err == nil {
			err = storeGiven(ctx, f, distinct(spool(&s)))
		}
		if err != nil {
			return spec, err
		}
	}
	err = f.putJSON(ctx, jobs.Folder(spec.ID).Spec(), spec, false)
	var exists *storage.ExistsError
	if errors.As(err, &exists) && spec.Token != "" {
		// The same submission, at the same time.
		old, _, err := readSpec(ctx, target, spec.ID)
		if err == nil {
			err = old.CheckAt(spec.ID, target.URL)
		}
		if err != nil {
			return spec, err
		}
		return old, c.open(ctx, old)
	}
	if err != nil {
		return spec, err
	}
	return spec, c.open(ctx, spec)
}

// complete checks spec and fills it in.
func (c *Client) complete(ctx context.Context, spec *jobs.Spec) (asset []byte, err error) {
	if spec.Source, err = storage.Canonical(spec.Source); err != nil {
		return nil, err
	}
	if spec.Target, err = storage.Canonical(spec.Target); err != nil {
		return nil, err
	}
	if asset, err = resolve(ctx, c.Buckets, c.Codecs, spec); err != nil {
		return nil, err
	}
	if spec.Created.IsZero() {
		spec.Created = time.Now().UTC()
	}
	if spec.ID == "" {
		spec.ID = jobs.NewID(spec.Created)
	}
	spec.Defaults()
	spec.Readers = imageio.Version
	if _, err := newFilter(spec.Filter, spec.Created); err != nil {
		return nil, err
	}
	if err := spec.Check(); err != nil {
		return nil, err
	}
	for _, to := range spec.Notify {
		if err := notify.CheckURL(to); err != nil {
			return nil, err
		}
	}
	return asset, c.copies(ctx, spec)
}

// copies refuses to copy sources to themselves, however the target is spelled.
func (c *Client) copies(ctx context.Context, spec *jobs.Spec) error {
	if !spec.Copies() {
		return nil
	}
	source, err := c.Buckets.Open(ctx, spec.Source)
	if err != nil {
		return err
	}
	target, err := c.Buckets.Open(ctx, spec.Target)
	if err != nil {
		return err
	}
	overlap, err := storage.Compare(source, target)
	if err == nil && overlap.Relation == storage.Same && !overlap.Unsure {
		err = fmt.Errorf("scheduler: larger or others copy: source %s and target %s are the same", spec.Source, spec.Target)
	}
	return err
}

// idTries is how many ids are tried. It is rare that one is taken.
const idTries = 16

// completeNew is complete for a job that is about to be stored. An id that it makes is no other submission's to the queue: of those
// to the queue in this process [jobs.NewID] gives each another one.
func (c *Client) completeNew(ctx context.Context, spec *jobs.Spec) (asset []byte, err error) {
	made := spec.ID == ""
	if asset, err = c.complete(ctx, spec); err != nil || !made || c.Conn == nil || c.Conn.Embedded() {
		return asset, err
	}
	for range idTries {
		if ok, err := c.Conn.Job(spec.ID).Claim(ctx); ok || err != nil {
			return asset, err
		}
		spec.ID = jobs.NewID(spec.Created)
	}
	return nil, fmt.Errorf("scheduler: %d ids for a job of %s are taken by other submissions; submit it again", idTries, spec.Created)
}

// differs names what two submissions with one token do not have in common; empty where
// they are the same.
func differs(old, spec *jobs.Spec, given bool) string {
	filled := *old
	filled.Defaults()
	for _, f := range []struct {
		name string
		same bool
	}{
		{"source", old.Source == spec.Source}, {"codec", old.Codec == spec.Codec},
		{"set of options", requestedOptions(old) == requestedOptions(spec)}, {"filter", sameFilter(old.Filter, spec.Filter)},
		{"manifest", (old.Manifest != "") == given}, {"--verify", old.Verify == spec.Verify}, {"--min-psnr", old.MinPSNR == spec.MinPSNR},
		{"--larger", old.Larger == spec.Larger}, {"--others", filled.Others == spec.Others}, {"--overwrite", old.Overwrite == spec.Overwrite},
		{"set of limits", old.Limits == spec.Limits}, {"--notify", slices.Equal(old.Notify, spec.Notify)},
	} {
		if !f.same {
			return f.name
		}
	}
	return ""
}

// claimToken gives the id that a token stands for in a target, id where it is new.
func claimToken(ctx context.Context, target *storage.Bucket, token, id string) (string, error) {
	key := tokenKey(token)
	_, err := storage.Put(ctx, target, key, []byte(id), nil)
	var exists *storage.ExistsError
	if !errors.As(err, &exists) {
		return id, err
	}
	got, err := storage.Get(ctx, target, key, 1024, nil)
	if err == nil && !jobs.ValidID(string(got.Data)) {
		err = fmt.Errorf("scheduler: %s holds %q, want the id of a job", key, got.Data)
	}
	return string(got.Data), err
}

// tokenKey is where a target has the id of the job that a token stands for.
func tokenKey(token string) string {
	sum := sha256.Sum256([]byte(token))
	return jobs.Root + "tokens/" + hex.EncodeToString(sum[:])
}

// open gives a stored job its first control record, if it has none, and
// registers it, unless it has ended.
func (c *Client) open(ctx context.Context, spec jobs.Spec) error {
	target, err := c.Buckets.Open(ctx, spec.Target)
	if err != nil {
		return err
	}
	ctl := jobs.Control{Want: jobs.WantPause, At: spec.Created}
	if spec.AutoStart {
		ctl.Want = jobs.WantRun
	}
	err = folder{b: target, id: spec.ID}.putJSON(ctx, jobs.Folder(spec.ID).Control(), ctl, false)
	var exists *storage.ExistsError
	if err != nil && !errors.As(err, &exists) {
		return err
	}
	if c.Conn == nil {
		return nil
	}
	if _, done, err := getJSON[jobs.Report](ctx, target, jobs.Folder(spec.ID).Report()); err != nil || done {
		return err
	}
	return c.Conn.Job(spec.ID).Register(ctx, spec.Target)
}

// FindUnfinished gives the newest unfinished job of a target that does the same:
// the same source, codec, options and filter, without a given manifest. Options
// are written as for Submit.
func (c *Client) FindUnfinished(ctx context.Context, source, target, codec, options string, filter jobs.Filter) (id string, ok bool, err error) {
	want := jobs.Spec{Source: source, Target: target, Codec: codec, Options: options, Filter: filter}
	if _, err := c.complete(ctx, &want); err != nil {
		return "", false, err
	}
	b, err := c.Buckets.Open(ctx, want.Target)
	if err != nil {
		return "", false, err
	}
	ids, err := jobIDs(ctx, b)
	if err != nil {
		return "", false, err
	}
	for i := len(ids) - 1; i >= 0; i-- {
		spec, ok, err := readSpec(ctx, b, ids[i])
		if err != nil {
			return "", false, err
		}
		if !ok || spec.ID != ids[i] || spec.Target != b.URL || spec.Source != want.Source || spec.Codec != want.Codec || spec.Version != want.Version ||
			requestedOptions(&spec) != requestedOptions(&want) || spec.Manifest != "" || !sameFilter(spec.Filter, want.Filter) {
			continue
		}
		control, _, err := getJSON[jobs.Control](ctx, b, jobs.Folder(ids[i]).Control())
		if err != nil {
			return "", false, err
		}
		ended, err := exists(ctx, b, jobs.Folder(ids[i]).Report())
		if err != nil {
			return "", false, err
		}
		if !ended && control.Want != jobs.WantCancel {
			return ids[i], true, nil
		}
	}
	return "", false, nil
}

// sameFilter compares all but the default excludes, which jobs of earlier versions do not
// have: they are continued.
func sameFilter(a, b jobs.Filter) bool {
	norm := func(f jobs.Filter) jobs.Filter {
		f.DefaultExcludes = false
		if len(f.Include) == 0 {
			f.Include = nil
		}
		if len(f.Exclude) == 0 {
			f.Exclude = nil
		}
		return f
	}
	return reflect.DeepEqual(norm(a), norm(b))
}
