package instances

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/pelmill/pelmill/storage"
)

// auditDir is where a target has the audit trail.
const auditDir = root + "intake/audit/"

// Sender is who sends an instance, or does something else that the audit trail has.
type Sender struct {
	Protocol string `json:"protocol"`          // stow, c-store, commitment, job or command
	Peer     string `json:"peer,omitempty"`    // network address without the port
	Name     string `json:"name,omitempty"`    // of its token, or its AE title
	Called   string `json:"called,omitempty"`  // AE title that it has called
	Session  string `json:"session,omitempty"` // of an association or a request, to tell which lines belong together
}

// Line is one of the audit trail. It has no value of an instance: hashes of UIDs are keyed.
type Line struct {
	Time     time.Time `json:"time"`
	Actor    Sender    `json:"actor"`
	Action   string    `json:"action"`  // receive, commit, compress, release, delete or remove
	Outcome  string    `json:"outcome"` // an Outcome, or that of a job
	Reason   string    `json:"reason,omitempty"`
	Instance string    `json:"instance,omitempty"` // keyed hash
	Series   string    `json:"series,omitempty"`   // keyed hash
	Study    string    `json:"study,omitempty"`    // keyed hash
	Object   string    `json:"object,omitempty"`   // keyed hash of a key that is not made of hashes, else the key
	Class    string    `json:"class,omitempty"`    // SOP Class UID, where it is one of the standard
	Syntax   string    `json:"syntax,omitempty"`   // Transfer Syntax UID, where it is one of the standard; of a result, its own
	Bytes    int64     `json:"bytes,omitempty"`
	SHA256   string    `json:"sha256,omitempty"` // of the file

	// Of a result.
	Job          string   `json:"job,omitempty"`
	TargetBytes  int64    `json:"target_bytes,omitempty"`
	TargetSHA256 string   `json:"target_sha256,omitempty"`
	PixelHash    string   `json:"pixel_hash,omitempty"`
	Changed      []string `json:"changed,omitempty"` // tags of elements that differ in the result
	Codec        string   `json:"codec,omitempty"`
	Version      int      `json:"version,omitempty"`
	Options      string   `json:"options,omitempty"`
	Decoder      string   `json:"decoder,omitempty"` // what decoded the source, with its version
	Verified     string   `json:"verified,omitempty"`
	Exact        string   `json:"exact,omitempty"` // what more than the pixels was proved, see jobs.Result
}

// standardUID gives a UID of the standard as it is, and nothing of another text: it could be anything.
func standardUID(uid string) string {
	const dicom = "1.2.840.10008."
	if rest, ok := strings.CutPrefix(uid, dicom); ok && len(uid) <= 64 && strings.Trim(rest, "0123456789.") == "" {
		return uid
	}
	return ""
}

// audit writes lines. In a folder a line is synced when add returns; elsewhere, where nothing can be appended to,
// lines are collected to objects of a second.
type audit struct {
	b *storage.Bucket

	mu      sync.Mutex
	pending []byte
	next    *flush // which the pending lines go with
	failed  error  // of the last object of a bucket
	timer   *time.Timer

	writing sync.Mutex // held while lines are appended
}

// flush is one write of several lines.
type flush struct {
	done bool
	err  error
}

// openAudit continues the trail of a target. A line that a loss of power has cut is ended first.
func openAudit(ctx context.Context, b *storage.Bucket) (*audit, error) {
	a := &audit{b: b, next: &flush{}}
	if b.Kind() != "file" {
		return a, nil
	}
	o, _, err := storage.Stat(ctx, b, auditKey())
	switch {
	case storage.IsNotExist(err):
		return a, nil
	case err != nil:
		return nil, err
	case o.Size == 0:
		return a, nil
	}
	last, err := storage.GetRange(ctx, b, o.Key, o.Size-1, 1)
	if err == nil && last[0] != '\n' {
		a.pending = []byte("\n")
	}
	return a, err
}

// auditKey is where the lines of today are in a folder.
func auditKey() string { return auditDir + now().Format("2006-01-02") + ".jsonl" }

const (
	auditEvery = time.Second
	auditBytes = 1 << 20 // of an object
	auditTime  = time.Minute
)

// add writes a line.
func (a *audit) add(line Line) error {
	if line.Time.IsZero() {
		line.Time = now()
	}
	text, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("instances: audit: %w", err)
	}
	a.mu.Lock()
	a.pending = append(append(a.pending, text...), '\n')
	mine := a.next
	if a.b.Kind() != "file" {
		defer a.mu.Unlock()
		if len(a.pending) >= auditBytes {
			a.writeLocked()
		} else if a.timer == nil {
			a.timer = time.AfterFunc(auditEvery, func() {
				a.mu.Lock()
				defer a.mu.Unlock()
				a.writeLocked()
			})
		}
		return a.failed
	}
	a.mu.Unlock()
	// Who comes while somebody writes waits here, and one of them writes the lines of all.
	a.writing.Lock()
	defer a.writing.Unlock()
	if mine.done {
		return mine.err
	}
	a.mu.Lock()
	data := a.pending
	a.pending, a.next = nil, &flush{}
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), auditTime)
	defer cancel()
	mine.done, mine.err = true, storage.AppendSynced(ctx, a.b, auditKey(), data)
	return mine.err
}

// writeLocked writes what is pending as an object of its own. Lines that cannot be written stay for the next time.
func (a *audit) writeLocked() {
	a.timer = nil
	if len(a.pending) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), auditTime)
	defer cancel()
	t := now()
	_, a.failed = storage.Put(ctx, a.b, auditDir+t.Format("2006-01-02/150405.000-")+rand.Text()[:8]+".jsonl", a.pending, nil)
	if a.failed == nil {
		a.pending = nil
	}
}

func (a *audit) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.b.Kind() == "file" {
		return nil // add has written all
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	a.writeLocked()
	return a.failed
}

// note writes the line of an instance that was received.
func (s *Store) note(from Sender, rec Receipt, h header, st *staged, why error) error {
	line := Line{Actor: from, Action: "receive", Outcome: string(rec.Outcome), Object: rec.Key, Class: standardUID(h.class), Syntax: standardUID(h.syntax), Bytes: st.size, SHA256: st.sha256()}
	if why != nil {
		line.Reason = string(reasonOf(why))
	}
	for _, u := range []struct {
		to         *string
		kind, text string
	}{{&line.Instance, "instance", h.instance}, {&line.Series, "series", h.series}, {&line.Study, "study", h.study}} {
		if u.text != "" {
			*u.to = s.hash.Hash(u.kind, u.text)
		}
	}
	return s.audit.add(line)
}

// refused writes the line of an instance that was not taken. That it cannot be written changes nothing for the sender.
func (s *Store) refused(from Sender, rec Receipt, h header, st *staged, why error) {
	s.note(from, rec, h, st, why)
}

// Note writes a line of the audit trail.
func (s *Store) Note(line Line) error { return s.audit.add(line) }

// Hash is the keyed hash of a text of some kind, for the audit trail and for logs.
func (s *Store) Hash(kind, text string) string { return s.hash.Hash(kind, text) }
