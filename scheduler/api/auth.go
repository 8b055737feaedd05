package api

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
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

// Tokens are the tokens of a file. It has a token a line:
//
//	# comment
//	ROLE SHA256 NAME
//
// ROLE is read or operate, SHA256 the SHA-256 of the token in hexadecimal digits, NAME anything, for people. Tokens are random, so
// that one round of a hash is enough: openssl rand -hex 32. A file that changes is read again within a second; while what it has
// cannot be read, the tokens of before hold.
type Tokens struct {
	file string

	mu      sync.Mutex
	looked  time.Time
	changed time.Time // of the file
	size    int64
	list    []token
	fault   func(error)
}

type token struct {
	role Role
	hash [sha256.Size]byte
}

// mostTokens bounds a file of tokens in bytes.
const mostTokens = 1 << 20

// ReadTokens reads a file of tokens; fault is told when it cannot be read again later, and may be nil.
func ReadTokens(file string, fault func(error)) (*Tokens, error) {
	t := &Tokens{file: file, fault: fault}
	return t, t.read()
}

func (t *Tokens) read() error {
	info, err := os.Stat(t.file)
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	t.looked = time.Now()
	if info.ModTime().Equal(t.changed) && info.Size() == t.size {
		return nil
	}
	if info.Size() > mostTokens {
		return fmt.Errorf("tokens: %s has more than %d bytes", t.file, mostTokens)
	}
	data, err := os.ReadFile(t.file)
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	list, err := parseTokens(data)
	if err != nil {
		return fmt.Errorf("tokens: %s: %w", t.file, err)
	}
	t.list, t.changed, t.size = list, info.ModTime(), info.Size()
	return nil
}

// parseTokens reads the lines of a file of tokens. Errors name the line and nothing of it, which may be a secret.
func parseTokens(data []byte) (list []token, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		var next token
		switch words[0] {
		case "read":
			next.role = RoleRead
		case "operate":
			next.role = RoleOperate
		default:
			return nil, fmt.Errorf("line %d: want read or operate, the SHA-256 of the token, and a name", n)
		}
		if len(words) < 2 {
			return nil, fmt.Errorf("line %d: no SHA-256", n)
		}
		hash, err := hex.DecodeString(words[1])
		if err != nil || len(hash) != sha256.Size {
			return nil, fmt.Errorf("line %d: the second word is no SHA-256, which has 64 hexadecimal digits", n)
		}
		next.hash = [sha256.Size]byte(hash)
		list = append(list, next)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no token")
	}
	return list, nil
}

// role is what the bearer of a token may do. It takes as long for a token that is nearly right as for any other.
func (t *Tokens) role(text string) Role {
	t.mu.Lock()
	if time.Since(t.looked) > time.Second {
		if err := t.read(); err != nil {
			t.looked = time.Now()
			if t.fault != nil {
				t.fault(err)
			}
		}
	}
	list := slices.Clone(t.list)
	t.mu.Unlock()
	hash := sha256.Sum256([]byte(text))
	role := RoleNone
	for _, known := range list {
		if subtle.ConstantTimeCompare(hash[:], known.hash[:]) == 1 {
			role = max(role, known.role)
		}
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
