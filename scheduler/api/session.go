package api

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Session is what the browser of a person may do.
type Session struct {
	Role string `json:"role" enum:"none,read,operate"`
	Open bool   `json:"open" doc:"Everybody may do everything: the scheduler has neither tokens nor client certificates"`
}

// signIn is the token that a person gives.
type signIn struct {
	Token string `json:"token"`
}

// UnknownToken is the query of the page that a form with an unknown token leads to.
const UnknownToken = "unknown-token"

// sessionRoutes let browsers keep a token in a cookie that no script can read and that no other site sends:
// a page cannot send a header with a link or a stream of events.
func (a *API) sessionRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/session", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		json.NewEncoder(rw).Encode(Session{RoleOf(r.Context()).String(), a.open()})
	})
	mux.HandleFunc("POST /v1/session", func(rw http.ResponseWriter, r *http.Request) {
		token, form, ok := readToken(rw, r)
		switch {
		case !ok:
		case (a.opts.Tokens == nil || a.opts.Tokens.role(token) == RoleNone) && form:
			rw.Header().Set("Location", "/?"+UnknownToken)
			rw.WriteHeader(http.StatusSeeOther)
		case a.opts.Tokens == nil || a.opts.Tokens.role(token) == RoleNone:
			write(rw, problem(http.StatusUnauthorized, "no such token"))
		default:
			http.SetCookie(rw, a.cookie(r, token, 0))
			ended(rw, form)
		}
	})
	leave := func(form bool) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			http.SetCookie(rw, a.cookie(r, "", -1))
			ended(rw, form)
		}
	}
	mux.HandleFunc("DELETE /v1/session", leave(false))
	mux.HandleFunc("POST /v1/session/end", leave(true))
}

func (a *API) cookie(r *http.Request, token string, age int) *http.Cookie {
	return &http.Cookie{Name: Cookie, Value: token, Path: "/", MaxAge: age, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode}
}

// ended answers to a program with nothing, and leads the form of a page back to it.
func ended(rw http.ResponseWriter, form bool) {
	if form {
		rw.Header().Set("Location", "/")
		rw.WriteHeader(http.StatusSeeOther)
		return
	}
	rw.WriteHeader(http.StatusNoContent)
}

// readToken reads JSON or a form.
func readToken(rw http.ResponseWriter, r *http.Request) (token string, form, ok bool) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/x-www-form-urlencoded" {
		if err := r.ParseForm(); err != nil {
			write(rw, problem(http.StatusUnprocessableEntity, "this is no form"))
			return "", true, false
		}
		return r.PostForm.Get("token"), true, true
	}
	var in signIn
	lines := json.NewDecoder(r.Body)
	lines.DisallowUnknownFields()
	err := lines.Decode(&in)
	if tooLarge(err) {
		write(rw, problem(http.StatusRequestEntityTooLarge, "this is too large for a token"))
		return "", false, false
	}
	if err != nil || in.Token == "" {
		write(rw, problem(http.StatusUnprocessableEntity, `want {"token": "..."}`)) // the error may quote the token
		return "", false, false
	}
	return in.Token, false, true
}

// tooLarge reports whether a body was cut at its limit.
func tooLarge(err error) bool {
	var most *http.MaxBytesError
	return errors.As(err, &most)
}

// describeSession adds the routes of sessions.
func describeSession(spec *huma.OpenAPI, problems func(map[string]*huma.Response, ...int) map[string]*huma.Response) {
	nothing := func() map[string]*huma.Response {
		return map[string]*huma.Response{"204": {Description: "Done"}, "303": {Description: "Done, after a form"}}
	}
	session := spec.Components.Schemas.Schema(reflect.TypeFor[Session](), true, "Session")
	token := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"token": {Type: huma.TypeString, MinLength: new(int)}}, Required: []string{"token"}, AdditionalProperties: false}
	*token.Properties["token"].MinLength = 1
	none := []map[string][]string{{}}
	spec.AddOperation(&huma.Operation{OperationID: "get-session", Method: http.MethodGet, Path: "/v1/session", Summary: "What the client may do", Security: none,
		Responses: problems(map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{"application/json": {Schema: session}}}}, http.StatusForbidden, http.StatusServiceUnavailable)})
	spec.AddOperation(&huma.Operation{OperationID: "sign-in", Method: http.MethodPost, Path: "/v1/session", Summary: "Keep a token in a cookie, for browsers", Security: none,
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: token}}},
		Responses:   problems(nothing(), http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusServiceUnavailable)})
	spec.AddOperation(&huma.Operation{OperationID: "sign-out", Method: http.MethodDelete, Path: "/v1/session", Summary: "Drop the cookie", Security: none,
		Responses: problems(nothing(), http.StatusForbidden, http.StatusServiceUnavailable)})
}
