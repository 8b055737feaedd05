package api

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	mostBody     = 64 << 10 // bytes of a request
	mostManifest = 32 << 20 // of a submission, which may name its objects
	mostAtWork   = 512      // requests at once, without streams of events
	mostStreams  = 256      // streams of events at once
	requestTime  = 60 * time.Second
)

// guard is what every request passes, those of the page too.
func (a *API) guard(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-Content-Type-Options", "nosniff")
		rw.Header().Set("Cache-Control", "no-store")
		if a.open() && !loopbackName(r.Host) {
			write(rw, problem(http.StatusMisdirectedRequest, "without tokens or client certificates only names of loopback are answered to, such as localhost"))
			return
		}
		if err := origin.Check(r); err != nil {
			write(rw, problem(http.StatusForbidden, "a page of another origin has sent this"))
			return
		}
		events := strings.HasPrefix(r.URL.Path, "/v1/jobs/") && strings.HasSuffix(r.URL.Path, "/events")
		slots := a.atWork
		if events {
			slots = a.streams
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			rw.Header().Set("Retry-After", "1")
			write(rw, problem(http.StatusServiceUnavailable, "too many requests at once"))
			return
		}
		role := a.roleFor(r)
		if role != RoleNone && a.serveJob(rw, r) {
			return
		}
		ctx := context.WithValue(r.Context(), roleKey{}, role)
		if !events {
			var cancel context.CancelFunc
			limit := requestTime
			if r.URL.Path == planPath {
				limit = planTime
			}
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
			control := http.NewResponseController(rw)
			control.SetReadDeadline(time.Now().Add(limit)) // a writer of tests has none
			control.SetWriteDeadline(time.Now().Add(limit))
		}
		if r.Method != http.MethodPost || r.URL.Path != "/v1/jobs" && r.URL.Path != planPath {
			r.Body = http.MaxBytesReader(rw, r.Body, mostBody+1) // operations have limits of their own, which say so
		}
		next.ServeHTTP(rw, r.WithContext(ctx))
	})
}

// open reports whether everybody who reaches the listener may do everything.
func (a *API) open() bool { return a.opts.Tokens == nil && !a.opts.Certificates }

// loopbackName reports whether the host of a request is a name of loopback: another name would mean that a page elsewhere
// had its own name resolve to loopback (DNS rebinding).
func loopbackName(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// permit lets only those to /v1 who may.
func (a *API) permit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		role := RoleOf(r.Context())
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
		switch {
		case r.URL.Path == "/v1/session" || r.URL.Path == "/v1/session/end":
		case role == RoleNone:
			rw.Header().Set("WWW-Authenticate", `Bearer realm="pelmill"`)
			write(rw, problem(http.StatusUnauthorized, "a token is needed: Authorization: Bearer TOKEN"))
			return
		case !reads && role != RoleOperate:
			write(rw, problem(http.StatusForbidden, "the token may read only"))
			return
		}
		next.ServeHTTP(rw, r)
	})
}

// write answers with a problem.
func write(rw http.ResponseWriter, err error) {
	p := problemOf(err)
	data, _ := json.Marshal(p)
	rw.Header().Set("Content-Type", "application/problem+json")
	rw.WriteHeader(p.Status)
	rw.Write(append(data, '\n'))
}

// unknownRoute answers to what mux has no route for, as a problem.
func unknownRoute(mux *http.ServeMux, rw http.ResponseWriter, r *http.Request) bool {
	h, pattern := mux.Handler(r)
	if pattern != "" {
		return false
	}
	mute := &muted{header: http.Header{}}
	h.ServeHTTP(mute, r)
	if allow := mute.header.Get("Allow"); allow != "" {
		rw.Header().Set("Allow", allow)
		write(rw, problem(http.StatusMethodNotAllowed, "this can be asked with "+allow+" only"))
		return true
	}
	write(rw, problem(http.StatusNotFound, "no such route; GET /v1/openapi.yaml lists them"))
	return true
}

// muted is a ResponseWriter that keeps the header only.
type muted struct{ header http.Header }

func (m *muted) Header() http.Header         { return m.header }
func (m *muted) Write(b []byte) (int, error) { return len(b), nil }
func (m *muted) WriteHeader(int)             {}
