package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"
)

// The types of events.
const (
	Done   = "done"   // every object was attempted
	Failed = "failed" // the job was given up
	Paused = "paused" // a limit is reached: the budget of the job is used up
)

// eventPrefix makes the type of a CloudEvent unique.
const eventPrefix = "com.github.pelmill.job."

// Event is the body of a notification, a CloudEvent 1.0.
type Event struct {
	SpecVersion string          `json:"specversion"` // "1.0"
	ID          string          `json:"id"`          // as webhook-id
	Source      string          `json:"source"`      // URL of the target
	Type        string          `json:"type"`        // com.github.pelmill.job.done, .failed or .paused
	Subject     string          `json:"subject"`     // id of the job
	Time        time.Time       `json:"time"`
	ContentType string          `json:"datacontenttype"` // application/json
	Data        json.RawMessage `json:"data"`
}

// Notice is one event for one URL, and how far its delivery is. It is stored, so it has no secret.
type Notice struct {
	ID       string          `json:"id"`
	Event    string          `json:"event"` // done, failed or paused
	URL      string          `json:"url"`
	Body     json.RawMessage `json:"body"` // an [Event], the same in every attempt
	Created  time.Time       `json:"created"`
	Attempts int             `json:"attempts"`
	Next     time.Time       `json:"next"`            // attempt
	Error    string          `json:"error,omitempty"` // of the last attempt
	Ended    string          `json:"ended,omitempty"` // delivered, gone or given up; empty: to be tried again
}

// How delivery ends.
const (
	Delivered = "delivered"
	Gone      = "gone"     // the receiver wants no more
	GivenUp   = "given up" // after a day
)

// The waits between attempts double from the first to the longest one.
const (
	firstWait   = 5 * time.Second
	longestWait = 2 * time.Hour
	triedFor    = 24 * time.Hour
)

// NewNotice makes the notice of an event of a job. occurrence tells events of one type of a job apart; the same event gives
// the same id however often it is made.
func NewNotice(event, target, job, occurrence, to string, at time.Time, data any) (*Notice, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	for _, part := range []string{event, target, job, occurrence, to} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	id := "msg_" + hex.EncodeToString(sum.Sum(nil)[:16])
	body, err := json.Marshal(Event{SpecVersion: "1.0", ID: id, Source: target, Type: eventPrefix + event, Subject: job, Time: at.UTC(), ContentType: "application/json", Data: raw})
	return &Notice{ID: id, Event: event, URL: to, Body: body, Created: at.UTC(), Next: at.UTC()}, err
}

// Attempted notes an attempt: its error, and how long the receiver wants to be left alone.
func (n *Notice) Attempted(at time.Time, wait time.Duration, err error) {
	n.Attempts++
	n.Error = ""
	if err != nil {
		n.Error = err.Error()
	}
	switch {
	case err == nil:
		n.Ended = Delivered
	case errors.Is(err, ErrGone):
		n.Ended = Gone
	case n.Old(at):
		n.Ended = GivenUp
	default:
		n.Next = at.Add(max(wait, jittered(pause(n.Attempts)))).UTC()
	}
}

// Old reports whether the notice was tried for long enough.
func (n *Notice) Old(now time.Time) bool { return now.Sub(n.Created) >= triedFor }

// pause is the wait after so many attempts.
func pause(attempts int) time.Duration {
	return min(firstWait<<min(attempts-1, 20), longestWait)
}

// jittered takes up to a tenth away, so that receivers that come back are not asked by everybody at once.
func jittered(d time.Duration) time.Duration { return d - rand.N(d/10) }
