package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/scheduler/notify"
	"github.com/pelmill/pelmill/storage"
)

// Client is what commands use. Its methods need the job's target only; with a
// connection they also register the job, so that a scheduler elsewhere finds it,
// and report what the queue knows. It is safe for concurrent use.
type Client struct {
	Buckets *storage.Buckets
	Conn    *queue.Conn   // nil: without a queue
	Codecs  []codec.Codec // nil: all of this build
	Working string        // id of the job that this process does itself; empty: none
	Memory  int64         // bytes that the process may take where it plans, in Submit, DryRun and Prune; 0: 1 GiB

	before func(key string) error // of the folders that Prune writes, in tests
}

// ErrNoJob: the target has no job of that id.
var ErrNoJob = errors.New("no such job")

// StateError means that a job cannot do what is wanted in the state that it is in.
type StateError struct {
	Job   string
	State jobs.State
}

func (e *StateError) Error() string {
	if e.State == jobs.StateCancelling {
		return fmt.Sprintf("scheduler: job %s is being cancelled", e.Job)
	}
	return fmt.Sprintf("scheduler: job %s is %s", e.Job, e.State)
}

// TokenError means that the token of a submission stands for another job.
type TokenError struct {
	Job     string
	Differs string // what the two do not have in common
}

func (e *TokenError) Error() string {
	return fmt.Sprintf("scheduler: the token was used for job %s, which has another %s: take another token", e.Job, e.Differs)
}

// Submit makes a new job of spec and returns it as stored: with its id, defaults
// filled in, canonical URLs and canonical options.
//
// spec.Options are key=value pairs as codec.JoinPairs writes them. An option that names a file or URL is read now and kept in the target
// under its hash. spec.Sample 0 takes no sample.
//
// manifest names the objects, in one of the formats [CSV], [Inventory], [JSONL]
// and [FilesFrom]; nil means that the source is listed. It is read and sorted
// now, in bounded memory.
//
// With spec.Token, a token that was used in this target before gives the job of
// then. The job's specification is the last thing written but for its control
// record, so a submission that fails can be repeated with the same token.
func (c *Client) Submit(ctx context.Context, spec jobs.Spec, manifest io.Reader, format string) (jobs.Spec, error) {
	if manifest == nil {
		return c.submit(ctx, spec, nil)
	}
	return c.submit(ctx, spec, func(source string, fn func(jobs.Entry) error) error {
		return parseManifest(manifest, format, source, fn)
	})
}

// submit is Submit with the entries of a manifest, which given passes to fn for a canonical source; nil: the
// source is listed.
func (c *Client) submit(ctx context.Context, spec jobs.Spec, given func(source string, fn func(jobs.Entry) error) error) (jobs.Spec, error) {
	asset, err := c.complete(ctx, &spec)
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

// Control says what the operator wants of a job: to run (start, resume), to
// pause, to cancel, or another priority. An empty Want keeps the last one, as
// does a nil Priority. The scheduler obeys within seconds. A done or cancelled
// job is an error; a failed one runs again.
func (c *Client) Control(ctx context.Context, target, id string, ctl jobs.Control) error {
	b, spec, err := c.job(ctx, target, id)
	if err != nil {
		return err
	}
	report, ended, err := getJSON[jobs.Report](ctx, b, jobs.Folder(id).Report())
	if err != nil {
		return err
	}
	if ended && !(report.State == jobs.StateFailed && ctl.Want == jobs.WantRun) {
		return &StateError{Job: id, State: report.State}
	}
	old, ok, err := getJSON[jobs.Control](ctx, b, jobs.Folder(id).Control())
	if err != nil {
		return err
	}
	if !ok {
		if old.Want = jobs.WantPause; spec.AutoStart {
			old.Want = jobs.WantRun
		}
	}
	if ctl.At.IsZero() {
		ctl.At = time.Now().UTC()
	}
	keepsWant := ctl.Want == ""
	if keepsWant {
		ctl.Want, ctl.Force = old.Want, ctl.Force || old.Force
	}
	ctl.Settings = old.Settings.Over(ctl.Settings)
	if ctl.Resumed = old.Resumed; ctl.Want == jobs.WantRun && !keepsWant {
		ctl.Resumed = ctl.At
	}
	switch {
	case ctl.Want != jobs.WantRun && ctl.Want != jobs.WantPause && ctl.Want != jobs.WantCancel:
		return fmt.Errorf("scheduler: control %q: want %s, %s or %s", ctl.Want, jobs.WantRun, jobs.WantPause, jobs.WantCancel)
	case old.Want == jobs.WantCancel && ctl.Want != jobs.WantCancel:
		return &StateError{Job: id, State: jobs.StateCancelling}
	}
	if err := ctl.Settings.Check(); err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	if err := (folder{b: b, id: id}).putJSON(ctx, jobs.Folder(id).Control(), ctl, true); err != nil {
		return err
	}
	if c.Conn == nil {
		return nil
	}
	if !samePlace(spec.Target, b.URL) {
		return fmt.Errorf("scheduler: job %s in %s is for the target %q, so no scheduler will do it", id, b.URL, spec.Target)
	}
	return c.Conn.Job(id).Register(ctx, spec.Target)
}

// samePlace reports whether two canonical URLs differ in parameters only: people
// may reach a bucket in another way than schedulers and workers.
func samePlace(a, b string) bool {
	a, _, _ = strings.Cut(a, "?")
	b, _, _ = strings.Cut(b, "?")
	return a == b
}

// job opens the target of a job and reads its specification.
func (c *Client) job(ctx context.Context, target, id string) (*storage.Bucket, jobs.Spec, error) {
	b, err := c.Buckets.Open(ctx, target)
	if err != nil {
		return nil, jobs.Spec{}, err
	}
	if !jobs.ValidID(id) {
		return nil, jobs.Spec{}, fmt.Errorf("scheduler: %q in %s: %w", id, b.URL, ErrNoJob)
	}
	spec, ok, err := readSpec(ctx, b, id)
	switch {
	case err == nil && !ok:
		err = fmt.Errorf("scheduler: %s in %s: %w", id, b.URL, ErrNoJob)
	case err == nil && spec.ID != id:
		err = fmt.Errorf("scheduler: %s: the specification of job %s is that of %q: somebody has changed or copied it", b.URL, id, spec.ID)
	}
	return b, spec, err
}

// Spec reads the specification of a job.
func (c *Client) Spec(ctx context.Context, target, id string) (jobs.Spec, error) {
	_, spec, err := c.job(ctx, target, id)
	return spec, err
}

// Plan reads the plan of a job; one that is not planned yet is an error for
// which storage.IsNotExist holds.
func (c *Client) Plan(ctx context.Context, target, id string) (jobs.Plan, error) {
	return read[jobs.Plan](ctx, c, target, id, jobs.Folder(id).Plan())
}

// Report reads the report of a job; one that has not ended is an error for which
// storage.IsNotExist holds.
func (c *Client) Report(ctx context.Context, target, id string) (jobs.Report, error) {
	return read[jobs.Report](ctx, c, target, id, jobs.Folder(id).Report())
}

func read[T any](ctx context.Context, c *Client, target, id, key string) (v T, err error) {
	b, _, err := c.job(ctx, target, id)
	if err != nil {
		return v, err
	}
	v, ok, err := getJSON[T](ctx, b, key)
	if err == nil && !ok {
		_, _, err = storage.Stat(ctx, b, key)
	}
	return v, err
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

// Retry submits a new job for the objects of an ended job that failed or were
// rejected, which are judged anew, with its specification, which mutate may change; nil changes
// nothing.
func (c *Client) Retry(ctx context.Context, target, id string, mutate func(*jobs.Spec)) (jobs.Spec, error) {
	b, spec, err := c.job(ctx, target, id)
	if err != nil {
		return spec, err
	}
	report, err := c.Report(ctx, target, id)
	if err != nil {
		return spec, err
	}
	if report.FailedList == "" {
		return spec, fmt.Errorf("scheduler: job %s has nothing to try again: %w", id, ErrNothing)
	}
	if err := storedOptions(c.Codecs, &spec); err != nil {
		return spec, err
	}
	if report.FailedList != jobs.Folder(id).Failed() {
		return spec, fmt.Errorf("scheduler: the report of job %s names the list %q, want %q", id, report.FailedList, jobs.Folder(id).Failed())
	}
	spec.Target = b.URL
	spec.ID, spec.Token, spec.Created, spec.Parent, spec.Manifest = "", "", time.Time{}, id, ""
	spec.Filter, spec.Again = jobs.Filter{}, []jobs.Outcome{jobs.OutcomeRejected}
	if mutate != nil {
		mutate(&spec)
	}
	list, err := openObject(ctx, b, report.FailedList)
	if err != nil {
		return spec, err
	}
	return c.Submit(ctx, spec, list, JSONL)
}

// ErrNothing: there is nothing to do.
var ErrNothing = errors.New("nothing to do")

// DryRun makes the plan that a job would get, with its estimate, and writes
// nothing. Its arguments are those of Submit. The chunks are those for workers with
// as many slots as this machine has cores.
func (c *Client) DryRun(ctx context.Context, spec jobs.Spec, manifest io.Reader, format string) (jobs.Plan, error) {
	asset, err := c.complete(ctx, &spec)
	if err != nil {
		return jobs.Plan{}, err
	}
	source, err := c.Buckets.Open(ctx, spec.Source)
	if err != nil {
		return jobs.Plan{}, err
	}
	target, err := c.Buckets.Open(ctx, spec.Target)
	if err != nil {
		return jobs.Plan{}, err
	}
	resolved, err := resolveStored(c.Codecs, &spec)
	if err == nil && asset != nil {
		resolved, err = resolved.WithAsset(asset)
	}
	if err != nil {
		return jobs.Plan{}, err
	}
	listed, named := memory(c.Memory).sorter(), memory(c.Memory).sorter()
	defer listed.close()
	defer named.close()
	p, err := newPreparation(ctx, c.Buckets, c.Codecs, &spec, source, target, "")
	if err != nil {
		return jobs.Plan{}, err
	}
	defer p.close()
	p.add = spoolTo(&listed)
	if manifest == nil {
		err = p.list(ctx)
	} else {
		lacking := int64(0)
		err = sortManifest(&named, func(fn func(jobs.Entry) error) error {
			return parseManifest(manifest, format, spec.Source, func(e jobs.Entry) error {
				if !complete(&e) {
					lacking++
				}
				return fn(e)
			})
		})
		if err == nil {
			err = p.fromGiven(ctx, distinct(spool(&named)), lacking)
		}
	}
	if err != nil {
		return jobs.Plan{}, fmt.Errorf("scheduler: list the source: %w", err)
	}
	pl := &planning{spec: &spec, resolved: resolved, source: source, target: target, at: p.at, all: spool(&listed), slots: runtime.GOMAXPROCS(0), memory: memory(c.Memory)}
	pl.endpoint = c.Buckets.S3Endpoint
	pl.workers, pl.cores = machines(ctx, c.Conn)
	return pl.plan(ctx)
}
