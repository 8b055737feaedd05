// Package page is the status page of a scheduler: jobs, a job, its objects, workers, and a
// form for a new job.
//
// Every view is made by the server and is whole without a script. The one script there is asks
// for the view again when an event says that the job has changed, or every few seconds where
// events do not come, and replaces the parts that are other now. So the page shows what package
// api knows, from the answers that it keeps for a second, and readers cost storage nothing.
//
// # Safety
//
// It stands behind the guards of package api: its roles, its check of origins and hosts. No
// view has a script or a style in its text, names another host, or can be framed. Names of
// objects are text. Keys and texts of medical images are hashed, and they are never shown.
package page

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api"
)

// Options of [New].
type Options struct {
	Log      *slog.Logger // nil: nothing is logged
	HashKeys bool         // show hashes in place of object keys, and no pictures, whatever the sources are
}

// page serves the views.
type page struct {
	api    *api.API
	client *scheduler.Client
	opts   Options
	log    *slog.Logger
	views  map[string]*template.Template
	busy   chan struct{} // pictures and reports that are made at once: they cost memory
}

//go:embed templates static
var files embed.FS

// madeAtOnce is how many pictures or reports are made at once.
const madeAtOnce = 2

// New makes the page of an API. client reads what the API does not serve: objects, and reports
// for people.
func New(a *api.API, client *scheduler.Client, opts *Options) http.Handler {
	p := &page{api: a, client: client, views: map[string]*template.Template{}, busy: make(chan struct{}, madeAtOnce)}
	if opts != nil {
		p.opts = *opts
	}
	if p.log = p.opts.Log; p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	for _, name := range []string{"jobs", "job", "objects", "object", "workers", "new", "error", "signin"} {
		p.views[name] = template.Must(template.New("layout.html").Funcs(functions).ParseFS(files, "templates/layout.html", "templates/"+name+".html"))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.jobs)
	mux.HandleFunc("GET /jobs/{id}", p.job)
	mux.HandleFunc("POST /jobs/{id}/{action}", p.act)
	mux.HandleFunc("GET /jobs/{id}/objects", p.objects)
	mux.HandleFunc("GET /jobs/{id}/object", p.object)
	mux.HandleFunc("GET /jobs/{id}/image", p.image)
	mux.HandleFunc("GET /jobs/{id}/report", p.report)
	mux.HandleFunc("GET /workers", p.workers)
	mux.HandleFunc("GET /new", p.form)
	mux.HandleFunc("POST /new", p.submit)
	mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		p.fail(rw, r, http.StatusNotFound, "Nothing is here.")
	})
	root := http.NewServeMux()
	root.HandleFunc("GET /static/{name}", p.static)
	root.Handle("/", p.signedIn(mux))
	return headers(root)
}

// policy is the Content-Security-Policy of all views but reports.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(rw, r)
	})
}

// signedIn lets those through who may read, and changes of those who may operate; others are
// asked for a token.
func (p *page) signedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch role := api.RoleOf(r.Context()); {
		case role == api.RoleNone:
			p.show(rw, r, http.StatusUnauthorized, "signin", "Sign in", r.URL.RawQuery == api.UnknownToken)
		case r.Method != http.MethodGet && r.Method != http.MethodHead && role != api.RoleOperate:
			p.fail(rw, r, http.StatusForbidden, "Your token may read, not change.")
		default:
			next.ServeHTTP(rw, r)
		}
	})
}

// static serves an embedded file.
func (p *page) static(rw http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	data, err := fs.ReadFile(files, "static/"+name)
	if err != nil {
		http.NotFound(rw, r)
		return
	}
	rw.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	rw.Header().Set("Cache-Control", "max-age=300")
	rw.Write(data)
}

// frame is what all views have.
type frame struct {
	Title    string
	Tab      string // which link of the navigation stands for the view
	Role     string
	Operates bool
	SignedIn bool
	Events   string // URL of the events that say when the view is another one; empty: it is asked for now and then
	Live     bool
	View     any
}

// live is a view that changes by itself; events may be empty.
type live interface{ events() string }

// show answers with a view.
func (p *page) show(rw http.ResponseWriter, r *http.Request, status int, name, title string, view any) {
	role := api.RoleOf(r.Context())
	_, cookie := r.Cookie(api.Cookie)
	f := frame{Title: title, Tab: name, Role: role.String(), Operates: role == api.RoleOperate, SignedIn: cookie == nil && role != api.RoleNone, View: view}
	if l, ok := view.(live); ok {
		f.Live, f.Events = true, l.events()
	}
	var out bytes.Buffer
	if err := p.views[name].Execute(&out, f); err != nil {
		p.log.Error("the page cannot show a view", "view", name, "error", err)
		http.Error(rw, "the page cannot show this", http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.WriteHeader(status)
	rw.Write(out.Bytes())
}

// problem is an error as the page shows it.
type problem struct {
	Status int
	Name   string
	Text   string
}

func (p *page) fail(rw http.ResponseWriter, r *http.Request, status int, text string) {
	p.show(rw, r, status, "error", http.StatusText(status), problem{status, http.StatusText(status), plain.Line(text)})
}

// failWith shows an error of the API.
func (p *page) failWith(rw http.ResponseWriter, r *http.Request, err error) {
	p.fail(rw, r, api.StatusOf(err), sentence(err))
}

// sentence is the text of an error of the API.
func sentence(err error) string {
	text := err.Error()
	var known *api.Problem
	if errors.As(err, &known) {
		text = known.Detail
	}
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}
