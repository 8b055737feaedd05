package scheduler

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// columns says where a table has what; -1 is nowhere.
type columns struct {
	bucket, key, size, etag, time, latest, marker, series int
}

// named reads a header; ok is false where the row is none.
func named(row []string) (c columns, ok bool) {
	c = columns{-1, -1, -1, -1, -1, -1, -1, -1}
	for i, name := range row {
		name = strings.NewReplacer("_", "", " ", "", "-", "").Replace(strings.ToLower(name))
		switch name {
		case "bucket":
			c.bucket = i
		case "key":
			c.key = i
		case "size":
			c.size = i
		case "etag":
			c.etag = i
		case "lastmodifieddate", "lastmodified", "modtime":
			c.time = i
		case "islatest":
			c.latest = i
		case "isdeletemarker":
			c.marker = i
		case "series":
			c.series = i
		}
	}
	return c, c.key >= 0
}

// table reads a CSV file, one row at a time.
type table struct {
	inventory bool
	source    *url.URL
	prefix    string // of the source in its bucket, "" or with a slash at its end
	cols      columns
}

func newTable(source *url.URL, inventory bool) *table {
	t := &table{inventory: inventory, source: source, cols: columns{-1, 0, 1, 2, -1, -1, -1, -1}}
	if inventory {
		t.cols = columns{0, 1, 2, 4, 3, -1, -1, -1}
	}
	if source.Scheme != "file" {
		if t.prefix = strings.Trim(source.Path, "/"); t.prefix != "" {
			t.prefix += "/"
		}
	}
	return t
}

func (t *table) parse(r io.Reader, fn func(jobs.Entry) error) error {
	rows := newRecordReader(r, longestRecord, true)
	small := bufio.NewReaderSize(nil, 16) // at least; what one row's parser reads from
	for first := true; ; first = false {
		record, whole, err := rows.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("scheduler: manifest: %w", err)
		}
		var e jobs.Entry
		switch {
		case len(bytes.TrimRight(record, "\r\n")) == 0:
			continue
		case !whole:
			e = badLine(rows.line, record, "is no row of %d bytes at most, or lacks a closing quotation mark", longestRecord)
		default:
			row, err := fields(record, small)
			if err != nil {
				e = badLine(rows.line, record, "is no CSV (%v)", errors.Unwrap(err))
				break
			}
			if c, ok := named(row); first && ok {
				t.cols = c
				continue
			}
			if e, err = t.entry(row); err != nil {
				e = badLine(rows.line, record, "%v", err)
			}
		}
		if e.Key == "" {
			continue
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

// fields splits one row.
func fields(record []byte, small *bufio.Reader) ([]string, error) {
	if bytes.IndexByte(record, '"') < 0 {
		return strings.Split(string(bytes.TrimRight(record, "\r\n")), ","), nil
	}
	small.Reset(bytes.NewReader(record))
	rows := csv.NewReader(small)
	rows.FieldsPerRecord = -1
	return rows.Read()
}

// entry reads a row; an entry without key is one to leave out.
func (t *table) entry(row []string) (e jobs.Entry, err error) {
	c := t.cols
	at := func(i int) string {
		if i < 0 || i >= len(row) {
			return ""
		}
		return row[i]
	}
	if strings.EqualFold(at(c.latest), "false") || strings.EqualFold(at(c.marker), "true") {
		return e, nil
	}
	key := at(c.key)
	if key == "" {
		return e, fmt.Errorf("has no key in %d columns", len(row))
	}
	if t.inventory {
		if key, err = url.QueryUnescape(key); err != nil {
			return e, fmt.Errorf("has a key that is not URL-encoded (%v)", err)
		}
		if bucket := at(c.bucket); bucket != "" && t.source.Scheme != "file" && bucket != t.source.Host {
			return e, fmt.Errorf("names bucket %.80q and the source is %s", bucket, t.source.Redacted())
		}
		var ok bool
		if key, ok = strings.CutPrefix(key, t.prefix); !ok || key == "" {
			return e, nil
		}
	}
	e = givenEntry(key, t.source.Scheme == "file")
	e.ETag = strings.Trim(at(c.etag), `"`)
	if n, err := strconv.ParseInt(at(c.size), 10, 64); err == nil && n >= 0 {
		e.Size = n
	} else {
		// A third column that is no number is the version of a manifest of S3
		// Batch Operations, and what follows has no known order.
		e.ETag = ""
	}
	if t, err := time.Parse(time.RFC3339, at(c.time)); err == nil {
		e.ModTime = t
	}
	e.Pin = pinOf(&e)
	if series := at(c.series); series != "" {
		return seriesEntry(series, []jobs.Entry{e}, t.source.Scheme == "file"), nil
	}
	return e, nil
}
