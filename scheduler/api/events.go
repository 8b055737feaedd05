package api

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/pelmill/pelmill/internal/listener"
	"github.com/pelmill/pelmill/jobs"
)

const (
	commentEvery = 15 * time.Second
	streamWrite  = 10 * time.Second // longest write to a client that does not read
	streamTime   = 30 * time.Minute // after which a client connects again, so that its right to read is looked at again
)

// events streams where a job stands (text/event-stream): an event "status" whenever it changes, with the job in its data, and
// an event "end" once it has ended. The id of an event is a hash of its data: a client that comes back with the newest
// one as Last-Event-ID is sent nothing twice. A comment keeps the connection alive.
func (a *API) events(rw http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !jobs.ValidID(id) {
		write(rw, noJob(id))
		return
	}
	w, err := a.watching(id)
	if err != nil {
		write(rw, err)
		return
	}
	defer w.follow()()
	_, changed, err := w.now(r.Context())
	if err != nil {
		write(rw, err)
		return
	}
	text := w.newest()
	header := rw.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // proxies that buffer would hold events back
	s := &stream{rw: rw, request: r, control: http.NewResponseController(rw), last: r.Header.Get("Last-Event-ID")}
	s.control.SetReadDeadline(time.Time{})
	comments := time.NewTicker(commentEvery)
	defer comments.Stop()
	over := time.NewTimer(streamTime)
	defer over.Stop()
	for s.send("") && s.status(text) {
		select {
		case <-r.Context().Done():
			return
		case <-a.ctx.Done():
			return
		case <-over.C:
			return
		case <-comments.C:
			if !s.send(": nothing new\n\n") {
				return
			}
		case <-changed:
			_, next, err := w.now(r.Context())
			if changed = next; err == nil {
				text = cmp.Or(w.newest(), text)
			}
		}
	}
}

// stream writes events.
type stream struct {
	rw      http.ResponseWriter
	request *http.Request
	control *http.ResponseController
	last    string // id of the last event that the client has
}

// send writes text, which may be empty, and brings everything to the client. It is false where the client is gone.
func (s *stream) send(text string) bool {
	s.control.SetWriteDeadline(time.Now().Add(streamWrite))
	send := listener.Hold(s.request)
	_, err := io.WriteString(s.rw, text)
	return errors.Join(err, s.control.Flush(), send()) == nil
}

// status sends where the job stands, unless the client knows or nothing is known. It is false where nothing more will come.
func (s *stream) status(t *jobText) bool {
	if t == nil {
		return true
	}
	if t.id != s.last {
		if s.last = t.id; !s.send(t.event) {
			return false
		}
	}
	if t.end {
		s.send("event: end\nid: " + t.id + "\ndata: {}\n\n")
	}
	return !t.end
}
