package storage

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// secretParam matches the names of query parameters that carry a secret in some store's URLs.
var secretParam = regexp.MustCompile(`(?i)(secret|password|passwd|token|signature|credential|^sig$|^sas$|access_?key|account_?key)`)

// Canonical returns the one spelling of a bucket's URL: paths become file:///absolute, slashes at the end are
// dropped, query parameters are sorted, user names, passwords and parameters that look like a secret are removed.
func Canonical(raw string) (string, error) {
	u, err := parse(raw)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// parse reads a path or URL into its canonical form.
func parse(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, fmt.Errorf("storage: empty bucket URL")
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return fileURL(raw)
	}
	switch scheme {
	case "file":
		return parseFile(raw, rest)
	case "mem", "s3", "gs", "azblob":
	default:
		return nil, fmt.Errorf("storage: %q: unknown scheme %q, want a path or file://, mem://, s3://, gs:// or azblob://", redact(raw), scheme)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("storage: bucket URL %q cannot be parsed", redact(raw))
	}
	if u.Host == "" && scheme != "mem" {
		return nil, fmt.Errorf("storage: %q names no bucket", redact(raw))
	}
	if u.Host == "" {
		u.Host = "default" // of mem:// only
	}
	prefix := strings.Trim(u.Path, "/")
	for part := range strings.SplitSeq(prefix, "/") {
		if part == "." || part == ".." || part == "" && prefix != "" {
			return nil, fmt.Errorf("storage: %q: prefix %q has an empty, . or .. part", redact(raw), prefix)
		}
	}
	u.Path, u.RawPath = "", ""
	if prefix != "" {
		u.Path = "/" + prefix
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	q := u.Query()
	for name, values := range q {
		if secretParam.MatchString(name) {
			delete(q, name)
			continue
		}
		for i, v := range values {
			values[i] = withoutUser(v)
		}
	}
	u.RawQuery, u.ForceQuery = q.Encode(), false
	return u, nil
}

// withoutUser removes user names and passwords from a value that is a URL. Without the first one another can be one.
func withoutUser(v string) string {
	for {
		e, err := url.Parse(v)
		if err != nil || e.User == nil {
			return v
		}
		e.User = nil
		v = e.String()
	}
}

// parseFile reads file://path. The path may be relative after "file://./", may hold "?" and "#" only escaped.
func parseFile(raw, rest string) (*url.URL, error) {
	if strings.HasPrefix(rest, ".") {
		return fileURL(rest)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("storage: bucket URL %q: %w", raw, err)
	}
	if u.Host != "" && u.Host != "localhost" {
		return nil, fmt.Errorf("storage: %q: host %q in a file URL, want file:///%s%s", raw, u.Host, u.Host, u.Path)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("storage: %q: a file URL has no parameters; write ? as %%3F and # as %%23, or give the plain path", raw)
	}
	if u.Path == "" {
		return nil, fmt.Errorf("storage: %q names no folder", raw)
	}
	return fileURL(u.Path)
}

func fileURL(path string) (*url.URL, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("storage: path %q: %w", path, err)
	}
	return &url.URL{Scheme: "file", Path: filepath.ToSlash(abs)}, nil
}

// redact cuts what may hold a secret from a URL that is quoted in an error.
func redact(raw string) string {
	if scheme, rest, ok := strings.Cut(raw, "://"); ok {
		rest, _, _ = strings.Cut(rest, "?")
		if _, after, ok := strings.Cut(rest, "@"); ok {
			rest = after
		}
		return scheme + "://" + rest
	}
	return raw
}
