package page

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/scheduler/api"
)

// formView is the form for a new job, with what was given before where it was not right.
type formView struct {
	Error   string
	Token   string // makes the submission once, however often the form is sent
	Codecs  []api.Codec
	Targets []api.Target
	Allowed []string

	Source, Target, Codec, Options, Device, Verify, Larger, Others, Include, Exclude string
	Priority, Sample                                                                 int
}

func (p *page) form(rw http.ResponseWriter, r *http.Request) {
	var b [16]byte
	rand.Read(b[:])
	v := &formView{Token: "page-" + hex.EncodeToString(b[:]), Codec: "webp", Device: "auto", Verify: "full", Larger: "leave", Others: "leave", Sample: 20,
		Source: r.FormValue("source"), Target: r.FormValue("target")}
	p.showForm(rw, r, http.StatusOK, v)
}

func (p *page) showForm(rw http.ResponseWriter, r *http.Request, status int, v *formView) {
	v.Codecs = p.api.Codecs().Codecs
	if t, err := p.api.Targets(r.Context()); err == nil {
		v.Targets, v.Allowed = t.Targets, t.Allowed
	}
	p.show(rw, r, status, "new", "New job", v)
}

// submit makes a job that waits for start after its plan, and leads to it.
func (p *page) submit(rw http.ResponseWriter, r *http.Request) {
	v := &formView{
		Token: r.PostFormValue("token"), Source: strings.TrimSpace(r.PostFormValue("source")), Target: strings.TrimSpace(r.PostFormValue("target")),
		Codec: r.PostFormValue("codec"), Options: strings.TrimSpace(r.PostFormValue("options")), Device: r.PostFormValue("device"), Verify: r.PostFormValue("verify"),
		Larger: r.PostFormValue("larger"), Others: r.PostFormValue("others"), Include: r.PostFormValue("include"), Exclude: r.PostFormValue("exclude"),
	}
	wrong := func(status int, text string) {
		v.Error = plain.Line(text)
		p.showForm(rw, r, status, v)
	}
	var err, serr error
	v.Priority, err = strconv.Atoi(r.PostFormValue("priority"))
	v.Sample, serr = strconv.Atoi(r.PostFormValue("sample"))
	options, good := pairs(v.Options)
	switch {
	case err != nil || v.Priority < 0 || v.Priority > 3:
		wrong(http.StatusUnprocessableEntity, "Priority: a number from 0 to 3 is wanted.")
		return
	case serr != nil || v.Sample < 0 || v.Sample > 1000:
		wrong(http.StatusUnprocessableEntity, "Sample: a number from 0 to 1000 is wanted.")
		return
	case v.Source == "" || v.Target == "":
		wrong(http.StatusUnprocessableEntity, "Source and target are both wanted.")
		return
	case !good:
		wrong(http.StatusUnprocessableEntity, "Options: pairs such as effort=9 are wanted, with spaces between them.")
		return
	}
	s := api.Submission{
		Source: v.Source, Target: v.Target, Codec: v.Codec, Options: options, Sample: v.Sample, Device: v.Device, Verify: v.Verify,
		Larger: v.Larger, Others: v.Others, Include: strings.Fields(v.Include), Exclude: strings.Fields(v.Exclude), Settings: api.Settings{Priority: &v.Priority},
	}
	j, _, err := p.api.Submit(r.Context(), s, v.Token)
	if err != nil {
		wrong(api.StatusOf(err), sentence(err))
		return
	}
	http.Redirect(rw, r, "/jobs/"+j.Job, http.StatusSeeOther)
}

// pairs reads options such as "effort=9 exact=true".
func pairs(text string) (options map[string]string, ok bool) {
	for _, pair := range strings.Fields(text) {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return nil, false
		}
		if options == nil {
			options = map[string]string{}
		}
		options[key] = value
	}
	return options, true
}
