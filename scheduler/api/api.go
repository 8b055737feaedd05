package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/storage"
)

// Options of [New].
type Options struct {
	Log          *slog.Logger    // nil: nothing is logged
	Targets      []string        // canonical URLs whose jobs are listed, ended ones too
	Allow        *storage.Policy // places that sources and targets may be; nil: all
	Tokens       *Tokens         // nil: without tokens
	Certificates bool            // clients have certificates, which the listener has verified
	Prices       *jobs.Prices    // for the cost of a plan; nil: none

	// Page makes what is served outside of /v1, behind the same guards, also to clients without a role; nil: nothing.
	Page func(*API) http.Handler
}

// API serves the jobs of one queue. It is safe for concurrent use. Close must be called.
type API struct {
	client  *scheduler.Client
	opts    Options
	log     *slog.Logger
	handler http.Handler
	spec    *huma.OpenAPI

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup

	atWork  chan struct{} // requests, see mostAtWork
	streams chan struct{}
	reading chan struct{} // pages of records

	planning chan struct{} // plans that are made for a request

	plans    fresh[Plan]
	reports  fresh[jobs.Report]
	workers  fresh[Workers]
	targets  fresh[Targets]
	places   fresh[[]place]
	standing fresh[[]Job]

	changing [16]sync.Mutex // of jobs by their id, for If-Match

	mu      sync.Mutex
	watches map[string]*watch
	summed  map[string]*scheduler.RecordSums // of jobs that are not watched
	ended   map[place]Job
}

// readAtOnce is how many pages of records are read at once: they cost storage and CPU, and others may wait.
const readAtOnce = 4

// New makes an API of a client with a connection. Buckets of the client should have the policy of opts.Allow.
func New(client *scheduler.Client, opts *Options) *API {
	a := &API{client: client, watches: map[string]*watch{}, summed: map[string]*scheduler.RecordSums{}, ended: map[place]Job{},
		atWork: make(chan struct{}, mostAtWork), streams: make(chan struct{}, mostStreams), reading: make(chan struct{}, readAtOnce), planning: make(chan struct{}, 1)}
	a.ctx, a.stop = context.WithCancel(context.Background())
	if opts != nil {
		a.opts = *opts
	}
	if a.log = a.opts.Log; a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	mux := http.NewServeMux()
	a.spec = a.routes(humago.New(mux, config()))
	mux.HandleFunc("GET /v1/jobs/{id}/events", a.events)
	mux.HandleFunc("GET /v1/openapi.yaml", a.openAPI)
	a.sessionRoutes(mux)
	page := http.Handler(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		write(rw, problem(http.StatusNotFound, "nothing is here; the API is under /v1"))
	}))
	if a.opts.Page != nil {
		page = a.opts.Page(a)
	}
	v1 := a.permit(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !unknownRoute(mux, rw, r) {
			mux.ServeHTTP(rw, r)
		}
	}))
	a.handler = a.guard(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1" || strings.HasPrefix(r.URL.Path, "/v1/") {
			v1.ServeHTTP(rw, r)
			return
		}
		page.ServeHTTP(rw, r)
	}))
	return a
}

// Handler serves the API and the page.
func (a *API) Handler() http.Handler { return a.handler }

// Close ends everything that a has started.
func (a *API) Close() {
	a.stop()
	a.running.Wait()
}

// config is that of huma: our own errors, no documentation from other hosts, no links in answers.
func config() huma.Config {
	c := huma.DefaultConfig("pelmill", "1")
	c.DocsPath, c.SchemasPath, c.OpenAPIPath = "", "", ""
	c.CreateHooks = nil
	c.Info.Description = "Jobs of a pelmill scheduler: what they are, where they stand, what became of each object, and what is wanted of them."
	c.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	c.RejectUnknownQueryParameters = true
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "A token of the scheduler's --token-file. Without one, and without --client-ca, none is needed."},
	}
	c.Security = []map[string][]string{{"token": {}}, {}}
	return c
}
