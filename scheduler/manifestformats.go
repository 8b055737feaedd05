package scheduler

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// The formats of a manifest that a user gives. A line or row that names no object
// never ends a job: it becomes one failed object that says what is wrong with it.
const (
	CSV       = "csv"        // key[,size[,etag]], or any columns under a header that names them; rows of one "series" are its parts, in their order
	Inventory = "inventory"  // S3 Inventory or a manifest of S3 Batch Operations: bucket,key[,size[,time[,etag]]], keys URL-encoded
	JSONL     = "jsonl"      // {"key":..,"size":..,"etag":..} a line, of a series {"key":..,"parts":[{"key":..},..]}; a failed.jsonl is one
	FilesFrom = "files-from" // a key a line; spaces and a slash in front are dropped, empty lines and those that start with # or ; left out
)

// parseManifest calls fn for each entry of a manifest, in its order. Sizes that
// are not given are -1. A gzip file is inflated. Rows of an inventory that lie
// outside the source's prefix, or are no current version, are left out. names opens the
// keys that are sealed in lines of records. The memory that it takes is bounded, whatever the manifest holds.
func parseManifest(r io.Reader, format, source string, names *sitekey.Reader, fn func(jobs.Entry) error) error {
	buf := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := buf.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(buf)
		if err != nil {
			return fmt.Errorf("scheduler: manifest: %w", err)
		}
		defer z.Close()
		buf = bufio.NewReaderSize(z, 64<<10)
	}
	switch bom, _ := buf.Peek(3); {
	case string(bom) == "\xef\xbb\xbf":
		buf.Discard(3)
	case len(bom) > 1 && (string(bom[:2]) == "\xff\xfe" || string(bom[:2]) == "\xfe\xff"):
		return errors.New("scheduler: the manifest is UTF-16; save it as UTF-8")
	}
	u, err := url.Parse(source)
	if err != nil {
		return fmt.Errorf("scheduler: manifest: source %q: %w", source, err)
	}
	switch format {
	case CSV, Inventory:
		return newTable(u, format == Inventory).parse(buf, fn)
	case JSONL:
		return eachRecord(buf, u, longestJSON, func(line []byte, folder bool) (jobs.Entry, error) { return jsonEntry(line, folder, names) }, fn)
	case FilesFrom:
		return eachRecord(buf, u, longestRecord, fileEntry, fn)
	}
	return fmt.Errorf("scheduler: manifest format %q: want %s, %s, %s or %s", format, CSV, Inventory, JSONL, FilesFrom)
}

// eachRecord calls fn with what parse makes of each line that is not empty; an
// entry without key is one to leave out.
func eachRecord(r io.Reader, source *url.URL, most int, parse func(line []byte, folder bool) (jobs.Entry, error), fn func(jobs.Entry) error) error {
	lines := newRecordReader(r, most, false)
	for {
		record, whole, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("scheduler: manifest: %w", err)
		}
		line := bytes.TrimSpace(record)
		if len(line) == 0 {
			continue
		}
		var e jobs.Entry
		if whole {
			e, err = parse(line, source.Scheme == "file")
		} else {
			err = fmt.Errorf("has more than %d bytes", most)
		}
		if err != nil {
			e = badLine(lines.line, line, "%v", err)
		}
		if e.Key == "" {
			continue
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

func fileEntry(line []byte, folder bool) (jobs.Entry, error) {
	if line[0] == '#' || line[0] == ';' {
		return jobs.Entry{}, nil
	}
	key, _ := bytes.CutPrefix(line, []byte("/"))
	if len(key) == 0 {
		return jobs.Entry{}, errors.New("names no object")
	}
	return givenEntry(string(key), folder), nil
}

// jsonObject is an object of the source in a line of JSON.
type jsonObject struct {
	Key     string    `json:"key"`
	Size    *int64    `json:"size"`
	ETag    string    `json:"etag"`
	ModTime time.Time `json:"mod_time"`
}

func (o *jsonObject) entry(folder bool) jobs.Entry {
	e := givenEntry(o.Key, folder)
	e.ETag, e.ModTime = o.ETag, o.ModTime
	if o.Size != nil && *o.Size >= 0 {
		e.Size = *o.Size
	}
	return e
}

func jsonEntry(line []byte, folder bool, names *sitekey.Reader) (jobs.Entry, error) {
	var v struct {
		jsonObject
		Sealed  string       `json:"sealed"`
		Parts   []jsonObject `json:"parts"`
		Outcome jobs.Outcome `json:"outcome"`
		Class   string       `json:"class"`
		Error   string       `json:"error"`
	}
	if !utf8.Valid(line) {
		return jobs.Entry{}, errors.New("is no UTF-8")
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return jobs.Entry{}, fmt.Errorf("is not JSON of an object (%w)", err)
	}
	if v.Key == "" && v.Sealed != "" {
		text, err := names.Unseal(v.Sealed)
		v.Parts = nil
		if err == nil {
			err = json.Unmarshal([]byte(text), &v)
		}
		if errors.Is(err, sitekey.ErrSealed) {
			return jobs.Entry{}, fmt.Errorf("has a key that was sealed for another target, or with a %s that this one had before", jobs.SiteKey)
		}
		if err != nil {
			return jobs.Entry{}, err
		}
	}
	if v.Key == "" {
		return jobs.Entry{}, errors.New("has no key")
	}
	e := v.entry(folder)
	if v.Outcome == "" {
		e.Pin = pinOf(&e) // what a record says of the source was seen, not asked for
	}
	if len(v.Parts) > 0 {
		var parts []jobs.Entry
		for _, p := range v.Parts[:min(len(v.Parts), jobs.MaxParts+1)] {
			part := p.entry(folder)
			if v.Outcome == "" {
				part.Pin = pinOf(&part)
			}
			parts = append(parts, part)
		}
		e = seriesEntry(v.Key, parts, folder)
	}
	if v.Outcome == jobs.OutcomeFailed && v.Class == class.Key && strings.HasPrefix(v.Key, badLineKey) {
		e.Bad = v.Error // a line of failed.jsonl that named nothing does not name anything now
	}
	return e, nil
}
