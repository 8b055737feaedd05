package scheduler

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// RecordQuery says which records of a job are wanted.
type RecordQuery struct {
	Outcomes []jobs.Outcome // nil: all
	Class    string         // of the error; empty: any
	Prefix   string         // of the key; of a medical image the whole key
	Known    bool           // in place of the job's own records those that [Client.Known] gives
	Cursor   string         // of the page before; empty: the first page
	Limit    int            // most records of the page
}

// RecordPage is a part of the records of a job, in the order of their keys.
type RecordPage struct {
	Records []jobs.Result
	Next    string // cursor of the next page; empty: this is the last one
}

// pageScan bounds how many records are looked at for a page: one with few matches comes back short, with a cursor.
const pageScan = 200_000

// ErrCursor: a cursor was not made by an earlier page.
var ErrCursor = errors.New("the cursor is not that of an earlier page")

// cursor is where a page ended: in which object of the job's folder, behind which key. A job that has ended meanwhile has
// its records in other objects; the key says where to go on in any case.
type cursor struct {
	Object string `json:"o"`
	Key    string `json:"k"`
}

func (c cursor) String() string {
	data, _ := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(data)
}

func parseCursor(text string) (c cursor, err error) {
	if text == "" {
		return c, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &c) != nil || c.Object == "" {
		return c, fmt.Errorf("scheduler: %w", ErrCursor)
	}
	return c, nil
}

// Records gives a page of the records of a job: of an ended one from its merged records, or from the list of failures
// where nothing else is wanted, of another one from the chunks that are done. A page costs at most the reading of the
// objects that it lies in.
func (c *Client) Records(ctx context.Context, target, id string, q RecordQuery) (page RecordPage, err error) {
	at, err := parseCursor(q.Cursor)
	if err != nil {
		return page, err
	}
	b, _, err := c.job(ctx, target, id)
	if err != nil {
		return page, err
	}
	objects, err := recordObjects(ctx, b, id, &q)
	if err != nil {
		return page, err
	}
	first := max(0, slices.Index(objects, at.Object))
	names := sitekey.NewReader(ctx, b)
	medical := false // the key of the cursor is that of a medical image
	if at.Key, medical, err = openedText(at.Key, names); err != nil {
		return page, fmt.Errorf("scheduler: %w", ErrCursor)
	}
	scanned := 0
	for _, object := range objects[first:] {
		lines := rawLines
		if object == jobs.Folder(id).Failed() {
			lines = plainLines
		}
		err := lines(ctx, b, object, func(line []byte) error {
			if isHeader(line) {
				return nil
			}
			var r struct {
				Key     string       `json:"key"`
				KeyHash string       `json:"key_hash"`
				Format  string       `json:"source_format"`
				Outcome jobs.Outcome `json:"outcome"`
				Class   string       `json:"class"`
			}
			if err := json.Unmarshal(line, &r); err != nil {
				return fmt.Errorf("scheduler: records of job %s: %w", id, err)
			}
			if at.Object != "" && r.Key <= at.Key {
				return nil
			}
			if len(page.Records) == q.Limit || scanned == pageScan {
				next := at
				if next.Key, err = sealedText(at.Key, medical, names); err != nil {
					return err
				}
				page.Next = next.String()
				return errEnough
			}
			scanned++
			at, medical = cursor{object, r.Key}, (&jobs.Result{Key: r.Key, KeyHash: r.KeyHash, SourceFormat: r.Format}).Medical()
			if !q.has(r.Key, medical) || q.Class != "" && r.Class != q.Class || q.Outcomes != nil && !slices.Contains(q.Outcomes, r.Outcome) {
				return nil
			}
			var full jobs.Result
			if err := json.Unmarshal(line, &full); err != nil {
				return fmt.Errorf("scheduler: records of job %s: %w", id, err)
			}
			if err := names.Complete(&full); err != nil {
				return err
			}
			page.Records = append(page.Records, full)
			return nil
		})
		if errors.Is(err, errEnough) {
			return page, nil
		}
		if err != nil {
			return RecordPage{}, err
		}
	}
	return page, nil
}

// has reports whether the prefix that is asked for is that of a key. The key of a medical image has to be known as a whole, so
// that it is not found out letter by letter.
func (q *RecordQuery) has(key string, medical bool) bool {
	if medical && q.Prefix != "" {
		return key == q.Prefix
	}
	return strings.HasPrefix(key, q.Prefix)
}

// recordObjects gives the keys of the objects that hold the wanted records, in the order of their keys.
func recordObjects(ctx context.Context, b *storage.Bucket, id string, q *RecordQuery) (objects []string, err error) {
	if q.Known {
		plan, _, err := getJSON[jobs.Plan](ctx, b, jobs.Folder(id).Plan())
		for n := range plan.KnownParts {
			objects = append(objects, jobs.Folder(id).Known(n))
		}
		return objects, err
	}
	report, ended, err := getJSON[jobs.Report](ctx, b, jobs.Folder(id).Report())
	if err != nil {
		return nil, err
	}
	other := func(o jobs.Outcome) bool { return o != jobs.OutcomeFailed && o != jobs.OutcomeRejected }
	switch {
	case ended && q.Outcomes != nil && !slices.ContainsFunc(q.Outcomes, other):
		if report.FailedList == jobs.Folder(id).Failed() {
			objects = append(objects, report.FailedList)
		}
		return objects, nil
	case ended && len(report.Results) > 0:
		for _, key := range report.Results {
			if !strings.HasPrefix(key, jobs.Folder(id).Dir()) {
				return nil, fmt.Errorf("scheduler: the report of job %s names records in %q, which is not its folder", id, key)
			}
		}
		return report.Results, nil
	}
	done, err := shards(ctx, b, id)
	for _, n := range done {
		objects = append(objects, jobs.Folder(id).Result(n))
	}
	return objects, err
}
