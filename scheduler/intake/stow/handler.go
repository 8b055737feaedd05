package stow

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/pelmill/pelmill/scheduler/intake/instances"
)

const mediaType = "application/dicom"

// handler is what every request passes. found is told the key of each new object of the spool.
func (s *Server) handler(found func(key string)) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Cache-Control", "no-store")
		rw.Header().Set("X-Content-Type-Options", "nosniff")
		from := instances.Sender{Protocol: "stow", Session: rand.Text()[:12]}
		from.Peer, _, _ = net.SplitHostPort(r.RemoteAddr)
		switch {
		case s.opts.Tokens == nil && s.opts.Listen == nil && !loopback(r.Host):
			http.Error(rw, "without tokens only names of loopback are answered to, such as localhost", http.StatusMisdirectedRequest)
			return
		case origin.Check(r) != nil:
			http.Error(rw, "a page of another origin has sent this", http.StatusForbidden)
			return
		case !s.allowed(r, &from):
			rw.Header().Set("WWW-Authenticate", `Bearer realm="pelmill"`)
			http.Error(rw, "a token is needed: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		study, ok := route(r.URL.Path)
		switch {
		case !ok:
			http.Error(rw, "no such route: instances are stored with POST /studies", http.StatusNotFound)
			return
		case r.Method != http.MethodPost:
			rw.Header().Set("Allow", "POST")
			http.Error(rw, "want POST", http.StatusMethodNotAllowed)
			return
		}
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		default:
			later(rw)
			return
		}
		req := &request{s: s, from: from, study: study, found: found}
		req.serve(rw, r)
	})
}

// allowed reports whether a request shows a token, and whose it is.
func (s *Server) allowed(r *http.Request, from *instances.Sender) bool {
	if s.opts.Tokens == nil {
		return true
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	for _, b := range s.opts.Tokens.Bearers(strings.TrimSpace(text)) {
		from.Name = b.Name
		return true
	}
	return false
}

// route gives the study of a path; empty: any.
func route(p string) (study string, ok bool) {
	dir, last := path.Split(strings.TrimSuffix(p, "/"))
	if last == "studies" {
		return "", true
	}
	return last, path.Base(dir) == "studies" && last != "" && len(last) <= 64 && strings.Trim(last, "0123456789.") == ""
}

// later asks the sender to try again.
func later(rw http.ResponseWriter) {
	rw.Header().Set("Retry-After", retryAfter)
	http.Error(rw, "no room at the moment", http.StatusServiceUnavailable)
}

// request is one Store transaction.
type request struct {
	s      *Server
	from   instances.Sender
	study  string           // that all instances must have; empty: any
	found  func(key string) // is told of new objects of the spool
	answer answer
	busy   int // instances that may be taken another time
}

func (q *request) serve(rw http.ResponseWriter, r *http.Request) {
	kind, params, err := mime.ParseMediaType(quoteType(r.Header.Get("Content-Type")))
	switch {
	case err != nil || kind != "multipart/related" || !strings.EqualFold(params["type"], mediaType):
		http.Error(rw, `want Content-Type: multipart/related; type="application/dicom"`, http.StatusUnsupportedMediaType)
		return
	case params["boundary"] == "":
		http.Error(rw, "the media type has no boundary", http.StatusBadRequest)
		return
	case r.Header.Get("Content-Encoding") != "" && r.Header.Get("Content-Encoding") != "identity":
		http.Error(rw, "want no Content-Encoding", http.StatusUnsupportedMediaType)
		return
	case r.ContentLength > q.s.opts.MostBytes:
		http.Error(rw, "the body is too large", http.StatusRequestEntityTooLarge)
		return
	case !q.s.store.Room(r.ContentLength):
		q.s.store.NoRoom(q.from)
		later(rw)
		return
	}
	r.Body = http.MaxBytesReader(rw, r.Body, q.s.opts.MostBytes)
	control := http.NewResponseController(rw)
	body := &timedBody{r: r.Body, control: control, end: time.Now().Add(requestTime)}
	err = q.parts(r.Context(), multipart.NewReader(body, params["boundary"]))
	control.SetWriteDeadline(time.Now().Add(idleTime))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(rw, "the body is too large", http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(rw, "the body is malformed, or has no instance; parts before the fault may have been stored", http.StatusBadRequest)
	case len(q.answer.stored) == 0 && q.busy == len(q.answer.failed):
		later(rw)
	default:
		q.answer.write(rw)
	}
}

// quoteType puts the type of a multipart media type into quotes, which RFC 2387 asks for and some senders forget.
func quoteType(media string) string {
	for _, bare := range []string{"type=application/dicom;", "type=application/dicom"} {
		if strings.HasSuffix(media, bare) || strings.HasSuffix(bare, ";") && strings.Contains(media, bare) {
			return strings.Replace(media, bare, strings.Replace(bare, mediaType, `"`+mediaType+`"`, 1), 1)
		}
	}
	return media
}

var errNoInstance = errors.New("stow: no part, or too many")

// parts stores the parts of a body. Its error is that the body is malformed.
func (q *request) parts(ctx context.Context, body *multipart.Reader) error {
	for n := 0; ; n++ {
		// NextPart would undo a transfer encoding, which DICOM does not have and some senders claim.
		part, err := body.NextRawPart()
		switch {
		case errors.Is(err, io.EOF) && n > 0:
			return nil
		case err != nil:
			return err
		case n == mostParts:
			return errNoInstance
		}
		if err := q.part(ctx, part); err != nil {
			return err
		}
		part.Close()
	}
}

// part stores one instance. Its error is that of the body.
func (q *request) part(ctx context.Context, part *multipart.Part) error {
	if kind := part.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != mediaType {
			q.answer.fail(instances.Receipt{}, reasonProcessing)
			return nil
		}
	}
	body := &partReader{r: part}
	rec, err := q.s.store.Receive(ctx, q.from, body, instances.Expect{Study: q.study})
	if err == nil {
		if q.answer.stored = append(q.answer.stored, rec); rec.Key != "" && rec.Outcome == instances.Stored {
			q.found(rec.Key)
		}
		return nil
	}
	if body.err != nil {
		return body.err
	}
	switch {
	case errors.Is(err, instances.ErrFull):
		q.busy++
		q.answer.fail(rec, reasonNoSpace)
	case errors.Is(err, instances.ErrOther), errors.Is(err, instances.ErrTooLarge):
		q.answer.fail(rec, reasonOther)
	case errors.Is(err, instances.ErrNotDICOM), errors.Is(err, instances.ErrBroken):
		q.answer.fail(rec, reasonUnreadable)
	default:
		q.busy++
		q.s.opts.Log.Warn("an instance cannot be stored", "error", err)
		q.answer.fail(rec, reasonProcessing)
	}
	return nil
}

// partReader keeps the error of a body.
type partReader struct {
	r   io.Reader
	err error
}

func (p *partReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		p.err = err
	}
	return n, err
}

// timedBody bounds the time between the bytes of a body, and that of all.
type timedBody struct {
	r       io.Reader
	control *http.ResponseController
	end     time.Time
	next    time.Time
}

func (t *timedBody) Read(b []byte) (int, error) {
	// A deadline is set at most once a second: it costs as much as reading.
	if now := time.Now(); now.After(t.next) {
		t.next = now.Add(time.Second)
		deadline := now.Add(idleTime)
		if deadline.After(t.end) {
			deadline = t.end
		}
		t.control.SetReadDeadline(deadline)
	}
	return t.r.Read(b)
}
