package scheduler

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pelmill/pelmill/jobs"
)

// The formats of a manifest that a user gives.
const (
	CSV       = "csv"        // key[,size[,etag]], or any columns under a header that names them
	Inventory = "inventory"  // S3 Inventory or a manifest of S3 Batch Operations: bucket,key[,size[,time[,etag]]], keys URL-encoded
	JSONL     = "jsonl"      // {"key":..,"size":..,"etag":..} a line; a failed.jsonl is one
	FilesFrom = "files-from" // a key a line; empty lines and those that start with # or ; are left out
)

// parseManifest calls fn for each entry of a manifest, in its order. Sizes that
// are not given are -1. A gzip file is inflated. Rows of an inventory that lie
// outside the source's prefix, or are no current version, are left out.
func parseManifest(r io.Reader, format, source string, fn func(jobs.Entry) error) error {
	buf := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := buf.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(buf)
		if err != nil {
			return fmt.Errorf("scheduler: manifest: %w", err)
		}
		defer z.Close()
		buf = bufio.NewReaderSize(z, 64<<10)
	}
	if bom, _ := buf.Peek(3); string(bom) == "\xef\xbb\xbf" {
		buf.Discard(3)
	}
	switch format {
	case CSV, Inventory:
		return parseTable(buf, format == Inventory, source, fn)
	case JSONL:
		return parseJSONLines(buf, fn)
	case FilesFrom:
		return parseFilesFrom(buf, fn)
	}
	return fmt.Errorf("scheduler: manifest format %q: want %s, %s, %s or %s", format, CSV, Inventory, JSONL, FilesFrom)
}

func parseFilesFrom(r io.Reader, fn func(jobs.Entry) error) error {
	return eachLine(r, func(line []byte) error {
		if line[0] == '#' || line[0] == ';' {
			return nil
		}
		return fn(jobs.Entry{Key: strings.TrimPrefix(string(line), "/"), Size: -1})
	}, "the list of files")
}

func parseJSONLines(r io.Reader, fn func(jobs.Entry) error) error {
	n := 0
	return eachLine(r, func(line []byte) error {
		n++
		var v struct {
			Key     string    `json:"key"`
			Size    *int64    `json:"size"`
			ETag    string    `json:"etag"`
			ModTime time.Time `json:"mod_time"`
		}
		if err := json.Unmarshal(line, &v); err != nil {
			return fmt.Errorf("scheduler: manifest line %d: %w", n, err)
		}
		if v.Key == "" {
			return fmt.Errorf("scheduler: manifest line %d has no key", n)
		}
		e := jobs.Entry{Key: v.Key, Size: -1, ETag: v.ETag, ModTime: v.ModTime}
		if v.Size != nil && *v.Size >= 0 {
			e.Size = *v.Size
		}
		return fn(e)
	}, "the manifest")
}

// columns says where a table has what; -1 is nowhere.
type columns struct {
	bucket, key, size, etag, time, latest, marker int
}

// named reads a header; ok is false where the row is none.
func named(row []string) (c columns, ok bool) {
	c = columns{-1, -1, -1, -1, -1, -1, -1}
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
		}
	}
	return c, c.key >= 0
}

func parseTable(r io.Reader, inventory bool, source string, fn func(jobs.Entry) error) error {
	u, err := url.Parse(source)
	if err != nil {
		return fmt.Errorf("scheduler: manifest: source %q: %w", source, err)
	}
	prefix := ""
	if u.Scheme != "file" {
		if prefix = strings.Trim(u.Path, "/"); prefix != "" {
			prefix += "/"
		}
	}
	cols := columns{-1, 0, 1, 2, -1, -1, -1}
	if inventory {
		cols = columns{0, 1, 2, 4, 3, -1, -1}
	}
	rows := csv.NewReader(r)
	rows.FieldsPerRecord, rows.ReuseRecord = -1, true
	for first := true; ; first = false {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("scheduler: manifest: %w", err)
		}
		line, _ := rows.FieldPos(0)
		if first {
			if c, ok := named(row); ok {
				cols = c
				continue
			}
		}
		e, bucket, err := cols.entry(row, inventory)
		if err != nil {
			return fmt.Errorf("scheduler: manifest line %d: %w", line, err)
		}
		if e.Key == "" {
			continue
		}
		if inventory {
			if bucket != "" && u.Scheme != "file" && bucket != u.Host {
				return fmt.Errorf("scheduler: manifest line %d names bucket %q and the source is %s", line, bucket, source)
			}
			var ok bool
			if e.Key, ok = strings.CutPrefix(e.Key, prefix); !ok || e.Key == "" {
				continue
			}
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

// entry reads a row; an entry without key is one to leave out.
func (c columns) entry(row []string, encoded bool) (e jobs.Entry, bucket string, err error) {
	at := func(i int) string {
		if i < 0 || i >= len(row) {
			return ""
		}
		return row[i]
	}
	if strings.EqualFold(at(c.latest), "false") || strings.EqualFold(at(c.marker), "true") {
		return e, "", nil
	}
	e = jobs.Entry{Key: at(c.key), Size: -1, ETag: strings.Trim(at(c.etag), `"`)}
	if e.Key == "" {
		return e, "", fmt.Errorf("no key in %d columns", len(row))
	}
	if encoded {
		if e.Key, err = url.QueryUnescape(e.Key); err != nil {
			return e, "", err
		}
	}
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
	return e, at(c.bucket), nil
}
