package storage

import (
	"net"
	"net/url"
	"regexp"
	"strings"
)

// amazonHost is an endpoint of Amazon's S3, with the region in its last group.
var amazonHost = regexp.MustCompile(`^s3(?:-accelerate|-fips)?(?:\.dualstack)?[.-]?([a-z0-9-]*)\.amazonaws\.com(?:\.cn)?$`)

// amazon is the part of Amazon's cloud that a region belongs to; names of buckets are unique in it.
func amazon(region string) string {
	for _, part := range []string{"cn", "us-gov", "us-iso", "eu-isoe"} {
		if strings.HasPrefix(region, part+"-") {
			return "aws-" + part
		}
	}
	return "aws"
}

// hostOf is the host, port and path of an endpoint, without what makes no difference: case, the scheme's own port, a
// slash at the end, and which of its names the own machine has.
func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		if u, err = url.Parse("https://" + endpoint); err != nil {
			return endpoint
		}
	}
	host, port := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), u.Port()
	if m := amazonHost.FindStringSubmatch(host); m != nil {
		return amazon(m[1])
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		host = "localhost"
	} else if ip != nil {
		host = ip.String()
	}
	if port == "" {
		port = "443"
		if strings.EqualFold(u.Scheme, "http") {
			port = "80"
		}
	}
	return host + ":" + port + strings.TrimSuffix(u.Path, "/")
}
