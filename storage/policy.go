package storage

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Policy says which buckets may be opened when the URL comes from somebody else, such as whoever can write to Redis or
// to the folder of a job. It holds before any request is made. A nil policy allows everything. It does not change once
// it is made and is safe for concurrent use.
type Policy struct {
	plain bool // every plain URL of a store
	rules []rule
}

// rule is one allowed prefix.
type rule struct {
	url *url.URL // canonical; without a host every bucket of the store
}

// maxURL bounds a bucket URL in bytes.
const maxURL = 4096

// NotAllowedError means that a policy forbids to open a bucket. Nothing was requested.
type NotAllowedError struct {
	URL string // without secrets, cut where it is long; not safe to print as it is
	Why string
}

func (e *NotAllowedError) Error() string {
	return fmt.Sprintf("storage: %q may not be opened here: %s", e.URL, e.Why)
}

// Plain allows the buckets of the stores that this process is configured for: s3://, gs:// and azblob:// without any
// parameter, so that endpoint, region and credentials are the process's own. Folders and memory are not allowed.
func Plain() *Policy { return &Policy{plain: true} }

// Only allows what is under one of the prefixes, and nothing else. A prefix is a path or bucket URL as for
// [Buckets.Open], and holds for whole elements: s3://a/b allows s3://a/b and s3://a/b/c, and neither s3://a/bc nor
// s3://ab. Parameters must be the same. Folders are compared after symbolic links of what exists are resolved.
// "s3://", "gs://" and "azblob://", also with parameters, are all buckets of that store.
func Only(prefixes ...string) (*Policy, error) { return new(Policy).Plus(prefixes...) }

// Plus returns a policy that allows the prefixes too.
func (p *Policy) Plus(prefixes ...string) (*Policy, error) {
	out := &Policy{plain: p.plain, rules: slices.Clone(p.rules)}
	for _, raw := range prefixes {
		u, err := parsePrefix(raw)
		if err != nil {
			return nil, err
		}
		out.rules = append(out.rules, rule{u})
	}
	return out, nil
}

// Prefixes lists what the policy allows, for people: prefixes as for [Only], without secrets. Plain buckets of a store are its
// scheme alone.
func (p *Policy) Prefixes() []string {
	out := []string{}
	if p == nil {
		return append(out, "file:///", "mem://", "s3://", "gs://", "azblob://")
	}
	if p.plain {
		out = append(out, "s3://", "gs://", "azblob://")
	}
	for _, r := range p.rules {
		text := r.url.String()
		if r.url.Host == "" && r.url.Scheme != "file" {
			_, query, parameters := strings.Cut(text, "?")
			if text = r.url.Scheme + "://"; parameters {
				text += "?" + query
			}
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// parsePrefix reads a prefix; the host of one that is a whole store is empty.
func parsePrefix(raw string) (*url.URL, error) {
	scheme, rest, _ := strings.Cut(raw, "://")
	if stores[scheme] && (rest == "" || rest[0] == '?') {
		u, err := parse(scheme + "://any" + rest)
		if err == nil {
			u.Host = ""
		}
		return u, err
	}
	return parse(raw)
}

// stores are the schemes of stores that are reached over a network.
var stores = map[string]bool{"s3": true, "gs": true, "azblob": true}

// Store returns the prefix, for [Only], of all buckets in the store of a bucket: with the same parameters, or every
// folder. Memory has no other buckets.
func Store(raw string) (string, error) {
	u, err := parse(raw)
	if err != nil {
		return "", err
	}
	switch {
	case u.Scheme == "file":
		return "file:///", nil
	case !stores[u.Scheme]:
		return u.String(), nil
	case u.RawQuery == "":
		return u.Scheme + "://", nil
	}
	return u.Scheme + "://?" + u.RawQuery, nil
}

// IsPlain reports whether [Plain] allows a bucket.
func IsPlain(raw string) bool { return Plain().Check(raw) == nil }

// Check returns a [*NotAllowedError] where the policy forbids to open a bucket, and for what is no bucket's URL.
func (p *Policy) Check(raw string) error {
	if p == nil {
		return nil
	}
	name := shortened(redact(raw))
	not := func(why string) error { return &NotAllowedError{URL: name, Why: why} }
	if len(raw) > maxURL {
		return not(fmt.Sprintf("it is longer than %d bytes", maxURL))
	}
	u, err := parse(raw)
	if err != nil {
		return not("it is no bucket's URL")
	}
	name = shortened(u.String())
	for _, r := range p.rules {
		switch ok, err := r.allows(u); {
		case err != nil:
			return not(err.Error())
		case ok:
			return nil
		}
	}
	switch {
	case !p.plain:
		return not("it is not under any of the places that this process was told of")
	case u.Scheme == "file":
		return not("folders must be named when this process is started")
	case !stores[u.Scheme]:
		return not("memory belongs to one process")
	case u.RawQuery != "":
		return not("its parameters (" + parameters(u) + ") are for the configuration of this process to say")
	case !isBucket(u.Host):
		return not("its bucket has no name that a store could give")
	}
	return nil
}

// bucketForm are the names of buckets and containers of all stores, but for their length; no port, no ARN.
var bucketForm = regexp.MustCompile(`^[A-Za-z0-9$][A-Za-z0-9._-]*$`)

// isBucket says whether a store could give a bucket that name.
func isBucket(name string) bool { return len(name) <= 255 && bucketForm.MatchString(name) }

// parameters lists the names of a URL's parameters, without values.
func parameters(u *url.URL) string {
	var names []string
	for name := range u.Query() {
		names = append(names, shortened(name))
	}
	slices.Sort(names)
	return shortened(strings.Join(names, ", "))
}

func shortened(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// allows reports whether u is the prefix or below it.
func (r rule) allows(u *url.URL) (bool, error) {
	if u.Scheme != r.url.Scheme || u.RawQuery != r.url.RawQuery {
		return false, nil
	}
	if u.Scheme == "file" {
		root, err := resolved(filepath.FromSlash(r.url.Path))
		if err != nil {
			return false, err
		}
		path, err := resolved(filepath.FromSlash(u.Path))
		if err != nil {
			return false, err
		}
		return within(filepath.ToSlash(root), filepath.ToSlash(path)), nil
	}
	if r.url.Host == "" {
		return isBucket(u.Host), nil
	}
	return u.Host == r.url.Host && within(r.url.Path, u.Path), nil
}

// within reports whether path is root or below it. Both are without a slash at the end, but for that of the root folder.
func within(root, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// resolved follows the symbolic links of the part of a path that exists. A link to what does not exist is an error: what
// it will lead to is not known.
func resolved(path string) (string, error) {
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if _, err := os.Lstat(path); err == nil {
			return "", fmt.Errorf("%s is a link to nothing", path)
		}
		up := filepath.Dir(path)
		if up == path {
			return "", err
		}
		path, rest = up, filepath.Join(filepath.Base(path), rest)
	}
}
