package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/internal/thumbnail"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api"
	"github.com/pelmill/pelmill/scheduler/report"
	"github.com/pelmill/pelmill/storage"
)

const (
	objectsOnPage = 50
	mostImage     = 32 << 20 // bytes of a file of which a picture is made
	mostSamples   = 64 << 20 // of the image in it
	imageSide     = 512      // samples of the picture
)

// object is a record as the page shows it.
type object struct {
	jobs.Result
	Name   string // as it is shown
	Link   string // to its own view; empty: hashed
	Text   string // what happened
	Saving float64
	Shown  bool // pictures of it may be shown
}

func (p *page) present(id string, r jobs.Result) object {
	o := object{Result: r, Name: plain.Shorten(plain.Name(r.Key), 120), Text: plain.Line(r.Error)}
	if r.Size > 0 && r.TargetSize > 0 {
		o.Saving = 1 - float64(r.TargetSize)/float64(r.Size)
	}
	if p.opts.HashKeys || r.Medical() {
		o.Name, o.Text = cmp.Or(r.KeyHash, report.Hashed(r.Key)), class.Meaning(r.Class)
		return o
	}
	o.Link = "/jobs/" + id + "/object?" + url.Values{"key": {r.Key}}.Encode()
	o.Shown = r.Size <= mostImage && r.SourceFormat != "" && len(r.Parts) == 0
	return o
}

// objectsView is a page of the records of a job.
type objectsView struct {
	ID       string
	Outcome  string // chosen, with commas
	Class    string
	Prefix   string
	Objects  []object
	Next     string
	Outcomes []string
}

func (p *page) objects(rw http.ResponseWriter, r *http.Request) {
	v := &objectsView{ID: r.PathValue("id"), Outcome: r.FormValue("outcome"), Class: r.FormValue("class"), Prefix: r.FormValue("prefix")}
	q := api.ResultsQuery{Class: v.Class, Prefix: v.Prefix, Cursor: r.FormValue("cursor"), Limit: objectsOnPage}
	for _, o := range jobs.Outcomes() {
		v.Outcomes = append(v.Outcomes, string(o))
	}
	for name := range strings.SplitSeq(v.Outcome, ",") {
		if o := jobs.Outcome(name); slices.Contains(jobs.Outcomes(), o) {
			q.Outcomes = append(q.Outcomes, o)
		}
	}
	if p.opts.HashKeys {
		v.Prefix, q.Prefix = "", ""
	}
	list, err := p.api.Results(r.Context(), v.ID, q)
	if err != nil {
		p.failWith(rw, r, err)
		return
	}
	for _, rec := range list.Results {
		v.Objects = append(v.Objects, p.present(v.ID, rec))
	}
	v.Next = list.Next
	p.show(rw, r, http.StatusOK, "objects", "Objects of job "+v.ID, v)
}

// record finds the record of an object that may be shown.
func (p *page) record(ctx context.Context, id, key string) (object, error) {
	q := api.ResultsQuery{Prefix: key, Limit: objectsOnPage}
	for key != "" {
		list, err := p.api.Results(ctx, id, q)
		if err != nil {
			return object{}, err
		}
		for _, r := range list.Results {
			if o := p.present(id, r); r.Key == key && o.Link != "" {
				return o, nil
			}
		}
		if q.Cursor = list.Next; q.Cursor == "" {
			break
		}
	}
	return object{}, errNoObject
}

// errNoObject: the job has no such record, or one that is not shown.
var errNoObject = fmt.Errorf("the job has no record of this object that may be shown")

// objectView is an object of a job, with pictures of it before and after.
type objectView struct {
	ID string
	object
	Source, Target string // URLs of the pictures; empty: none
}

func (p *page) object(rw http.ResponseWriter, r *http.Request) {
	id, key := r.PathValue("id"), r.FormValue("key")
	o, err := p.record(r.Context(), id, key)
	if err == errNoObject {
		p.fail(rw, r, http.StatusNotFound, sentence(err)+".")
		return
	}
	if err != nil {
		p.failWith(rw, r, err)
		return
	}
	v := &objectView{ID: id, object: o}
	if o.Shown {
		v.Source = "/jobs/" + id + "/image?" + url.Values{"key": {key}, "of": {"source"}}.Encode()
		if o.Outcome == jobs.OutcomeCompressed && o.TargetSize <= mostImage {
			v.Target = "/jobs/" + id + "/image?" + url.Values{"key": {key}, "of": {"result"}}.Encode()
		}
	}
	p.show(rw, r, http.StatusOK, "object", "Object of job "+id, v)
}

func (p *page) enter(ctx context.Context) bool {
	select {
	case p.busy <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *page) leave() { <-p.busy }

// image serves a small picture of an object's source or result.
func (p *page) image(rw http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if !p.enter(ctx) {
		http.Error(rw, "too many pictures are being made at once", http.StatusServiceUnavailable)
		return
	}
	defer p.leave()
	png, err := p.picture(ctx, r.PathValue("id"), r.FormValue("key"), r.FormValue("of") == "result")
	if err != nil {
		p.log.Debug("no picture of an object", "job", r.PathValue("id"), "error", err)
		http.Error(rw, "no picture can be made of this", http.StatusUnprocessableEntity)
		return
	}
	rw.Header().Set("Content-Type", "image/png")
	rw.Header().Set("Cache-Control", "private, max-age=300")
	rw.Write(png)
}

// picture reads a source or a result and decodes it, within the page's own limits.
func (p *page) picture(ctx context.Context, id, key string, result bool) ([]byte, error) {
	o, err := p.record(ctx, id, key)
	if err != nil {
		return nil, err
	}
	if !o.Shown {
		return nil, errNoObject
	}
	j, err := p.api.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	place, name := j.Source, o.Key
	var c codec.Codec
	if result {
		place, name = j.Target, o.Target
		if c, err = codecs.Find(o.Codec); err != nil {
			return nil, err
		}
	}
	b, err := p.client.Buckets.Open(ctx, place)
	if err != nil {
		return nil, err
	}
	got, err := storage.Get(ctx, b, name, mostImage, nil)
	if err != nil {
		return nil, err
	}
	return thumbnail.PNG(ctx, c, got.Data, scheduler.Assets(b), imageSide, mostSamples)
}
