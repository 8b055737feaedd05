package page

import (
	"net/http"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/api"
)

// tab is a set of states that the list of jobs can be narrowed to.
type tab struct {
	Name, Key string
	states    []jobs.State
	Chosen    bool
}

var tabs = []tab{
	{Name: "All", Key: ""},
	{Name: "Active", Key: "active", states: []jobs.State{jobs.StateNew, jobs.StatePreparing, jobs.StateRunning, jobs.StatePausing, jobs.StateFinishing, jobs.StateCancelling}},
	{Name: "Waiting", Key: "waiting", states: []jobs.State{jobs.StatePlanned, jobs.StatePaused, jobs.StateInterrupted, jobs.StateRefused}},
	{Name: "Done", Key: "done", states: []jobs.State{jobs.StateDone}},
	{Name: "Ended early", Key: "ended", states: []jobs.State{jobs.StateFailed, jobs.StateCancelled}},
}

// jobsOnPage is how many jobs a page of the list has.
const jobsOnPage = 50

// jobsView is a page of the list of jobs.
type jobsView struct {
	Tabs    []tab
	State   string
	Search  string
	Jobs    []api.Job
	Next    string // cursor of the next page
	Partial bool   // the search has not seen all jobs
}

func (v *jobsView) events() string { return "" }

// mostSearched is how many pages of the list a search reads for one of its own.
const mostSearched = 10

func (p *page) jobs(rw http.ResponseWriter, r *http.Request) {
	v := &jobsView{State: r.FormValue("state"), Search: strings.TrimSpace(r.FormValue("q")), Next: r.FormValue("cursor")}
	q := api.JobsQuery{Limit: jobsOnPage}
	for _, t := range tabs {
		if t.Chosen = t.Key == v.State; t.Chosen {
			for _, s := range t.states {
				q.States = append(q.States, string(s))
			}
		}
		v.Tabs = append(v.Tabs, t)
	}
	for range mostSearched {
		q.Cursor = v.Next
		list, err := p.api.Jobs(r.Context(), q)
		if err != nil {
			p.failWith(rw, r, err)
			return
		}
		for _, j := range list.Jobs {
			if matches(&j, v.Search) {
				v.Jobs = append(v.Jobs, j)
			}
		}
		if v.Next = list.Next; v.Next == "" || len(v.Jobs) >= jobsOnPage || v.Search == "" {
			break
		}
	}
	v.Partial = v.Search != "" && v.Next != ""
	p.show(rw, r, http.StatusOK, "jobs", "Jobs", v)
}

// matches reports whether a job has each word of a search in its id, places, codec or state.
func matches(j *api.Job, search string) bool {
	text := strings.ToLower(strings.Join([]string{j.Job, j.Source, j.Target, j.Codec, j.Options, j.State}, " "))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(search)), func(word string) bool { return !strings.Contains(text, word) })
}

// workersView is all workers.
type workersView struct {
	Workers []api.Worker
	Cards   []card
}

// card is a kind of device and how many workers use it.
type card struct {
	Device          string
	Workers, Chunks int
	Slots           int
	Rate            float64
}

func (v *workersView) events() string { return "" }

func (p *page) workers(rw http.ResponseWriter, r *http.Request) {
	all, err := p.api.Workers(r.Context())
	if err != nil {
		p.failWith(rw, r, err)
		return
	}
	v := &workersView{Workers: all.Workers}
	for _, w := range all.Workers {
		if w.State == "gone" {
			continue
		}
		i := slices.IndexFunc(v.Cards, func(c card) bool { return c.Device == w.Device })
		if i < 0 {
			i, v.Cards = len(v.Cards), append(v.Cards, card{Device: w.Device})
		}
		c := &v.Cards[i]
		c.Workers, c.Chunks, c.Slots, c.Rate = c.Workers+1, c.Chunks+w.Chunks, c.Slots+w.Slots, c.Rate+w.Rate
	}
	slices.SortFunc(v.Cards, func(a, b card) int { return strings.Compare(a.Device, b.Device) })
	p.show(rw, r, http.StatusOK, "workers", "Workers", v)
}
