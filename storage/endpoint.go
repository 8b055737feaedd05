package storage

import (
	"fmt"
	"net/url"
)

// ParseEndpoint checks the address of an S3 service, such as http://minio:9000, for [Buckets].S3Endpoint.
func ParseEndpoint(raw string) (string, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", fmt.Errorf("storage: endpoint %q is no URL", redact(raw))
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("storage: endpoint %q: want http:// or https:// and a host", redact(raw))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("storage: endpoint %q: want nothing but scheme, host, port and path; credentials come from the environment", redact(raw))
	}
	return u.String(), nil
}

// atEndpoint adds the configured endpoint to the URL of an S3 bucket that names none, for the client that is opened.
// Services besides AWS are asked by path, as few have a name for each bucket.
func (bs *Buckets) atEndpoint(u url.URL) *url.URL {
	q := u.Query()
	if u.Scheme != "s3" || bs.S3Endpoint == "" || q.Has("endpoint") {
		return &u
	}
	q.Set("endpoint", bs.S3Endpoint)
	if !q.Has("use_path_style") && !q.Has("hostname_immutable") {
		q.Set("use_path_style", "true")
	}
	u.RawQuery = q.Encode()
	return &u
}
