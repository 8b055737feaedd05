package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/scheduler/tokens"
)

// Role is what a client may do.
type Role int

const (
	RoleNone    Role = iota
	RoleRead         // GET
	RoleOperate      // everything
)

func (r Role) String() string { return [...]string{"none", "read", "operate"}[r] }

type roleKey struct{}

// RoleOf is the role of the client that made a request, from the request's context.
func RoleOf(ctx context.Context) Role {
	role, _ := ctx.Value(roleKey{}).(Role)
	return role
}

// Cookie is the name of the cookie that holds a token, for browsers.
const Cookie = "pelmill_token"

// Tokens are those of a file of package tokens, whose roles are read and operate.
type Tokens struct{ file *tokens.File }

// ReadTokens reads a file of tokens; fault is told when it cannot be read again later, and may be nil.
func ReadTokens(file string, fault func(error)) (*Tokens, error) {
	f, err := tokens.Read(file, []string{RoleRead.String(), RoleOperate.String()}, fault)
	return &Tokens{f}, err
}

// role is what the bearer of a token may do.
func (t *Tokens) role(text string) Role {
	role := RoleNone
	for _, b := range t.file.Bearers(text) {
		if b.Role == RoleOperate.String() {
			return RoleOperate
		}
		role = RoleRead
	}
	return role
}

// operateUnit is the organizational unit of client certificates whose bearers may change things; others may read.
const operateUnit = "operate"

// roleFor is the role of whoever makes a request.
func (a *API) roleFor(r *http.Request) Role {
	role := RoleNone
	if a.opts.Tokens == nil && !a.opts.Certificates {
		return RoleOperate
	}
	if a.opts.Certificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		role = RoleRead
		if slices.Contains(r.TLS.PeerCertificates[0].Subject.OrganizationalUnit, operateUnit) {
			return RoleOperate
		}
	}
	if a.opts.Tokens == nil {
		return role
	}
	scheme, text, bearer := strings.Cut(r.Header.Get("Authorization"), " ")
	if !bearer || !strings.EqualFold(scheme, "Bearer") {
		text = ""
		if c, err := r.Cookie(Cookie); err == nil {
			text = c.Value
		}
	}
	if text = strings.TrimSpace(text); text != "" {
		role = max(role, a.opts.Tokens.role(text))
	}
	return role
}
