package queue

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// address is a parsed Redis URL.
type address struct {
	kind     kind
	hosts    []string // host:port; the socket's path for socket
	user     string
	password string
	master   string // of the sentinels
	db       int
	tls      *tls.Config

	sentinelUser, sentinelPassword string

	inProcess bool // answers however busy the machine is, so that no reply is an outage
}

type kind int

const (
	single kind = iota
	socket
	sentinel
	cluster
)

// schemes gives for each scheme the kind, the default port and whether it is TLS.
var schemes = map[string]struct {
	kind kind
	port string
	tls  bool
}{
	"redis":           {single, "6379", false},
	"rediss":          {single, "6379", true},
	"unix":            {socket, "", false},
	"redis-socket":    {socket, "", false},
	"redis-sentinel":  {sentinel, "26379", false},
	"rediss-sentinel": {sentinel, "26379", true},
	"redis-cluster":   {cluster, "6379", false},
	"rediss-cluster":  {cluster, "6379", true},
}

// parseAddress reads a URL. It does not use net/url for the whole, which refuses
// lists of hosts and quotes the URL, password included, in its errors; the
// errors of parseAddress quote no more than scheme, hosts and parameter names.
func parseAddress(s string) (*address, error) {
	name, rest, ok := strings.Cut(s, "://")
	scheme, known := schemes[name]
	if !ok || !known {
		if !ok || strings.Contains(name, "@") {
			name = "no scheme"
		}
		return nil, fmt.Errorf("queue: redis address (%s): want redis, rediss, unix, redis-sentinel or redis-cluster://", name)
	}
	a := &address{kind: scheme.kind}
	if scheme.tls {
		a.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if authority != "" && !strings.Contains(authority, "@") && (strings.Contains(path, "@") || strings.HasPrefix(authority, ":")) {
		// A slash or question mark in a password cuts it in two, and the
		// messages below would show the halves.
		return nil, fmt.Errorf("queue: redis address %s://...: no host; special characters of a password are percent-encoded", name)
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, password, hasPassword := strings.Cut(authority[:at], ":")
		authority = authority[at+1:]
		var err1, err2 error
		a.user, err1 = url.PathUnescape(user)
		a.password, err2 = url.PathUnescape(password)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("queue: redis address %s://...@%s: user or password is not percent-encoded", name, authority)
		}
		if !hasPassword {
			return nil, fmt.Errorf("queue: redis address %s://...@%s: want user:password@ or :password@", name, authority)
		}
	}

	if a.kind == socket {
		if authority != "" || path == "" {
			return nil, fmt.Errorf("queue: redis address %s://%s: want %s:///path/to/socket", name, authority, name)
		}
		a.hosts = []string{"/" + path}
	} else {
		for host := range strings.SplitSeq(authority, ",") {
			full, err := withPort(host, scheme.port)
			if err != nil && strings.Contains(query, "@") {
				return nil, fmt.Errorf("queue: redis address %s://...: malformed host; special characters of a password are percent-encoded", name)
			}
			if err != nil {
				return nil, fmt.Errorf("queue: redis address %s://%s: %w", name, authority, err)
			}
			a.hosts = append(a.hosts, full)
		}
		if a.kind == single && len(a.hosts) > 1 {
			return nil, fmt.Errorf("queue: redis address %s://%s: one host only; for several use redis-sentinel or redis-cluster", name, authority)
		}
	}
	if err := a.path(name, authority, path); err != nil {
		return nil, err
	}
	if err := a.query(name, authority, query); err != nil {
		return nil, err
	}
	if a.kind == cluster && a.db != 0 {
		return nil, fmt.Errorf("queue: redis address %s://%s: db %d: a cluster has database 0 only", name, authority, a.db)
	}
	if a.tls != nil && a.kind == single {
		a.tls.ServerName, _, _ = net.SplitHostPort(a.hosts[0])
	}
	return a, nil
}

// path reads what stands behind the hosts: a database or the master's name.
func (a *address) path(name, authority, path string) error {
	path = strings.TrimSuffix(path, "/")
	switch a.kind {
	case single:
		if path == "" {
			return nil
		}
		db, err := strconv.Atoi(path)
		if err != nil || db < 0 {
			return fmt.Errorf("queue: redis address %s://%s/%s: the path is the number of a database", name, authority, path)
		}
		a.db = db
	case sentinel:
		if path == "" || strings.Contains(path, "/") {
			return fmt.Errorf("queue: redis address %s://%s/%s: the path is the name of the master", name, authority, path)
		}
		a.master = path
	case cluster:
		if path != "" && path != "0" {
			return fmt.Errorf("queue: redis address %s://%s/%s: a cluster takes no path", name, authority, path)
		}
	}
	return nil
}

func (a *address) query(name, authority, query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("queue: redis address %s://%s: malformed parameters", name, authority)
	}
	for key := range values {
		value := values.Get(key)
		switch {
		case key == "db":
			if a.db, err = strconv.Atoi(value); err != nil || a.db < 0 {
				return fmt.Errorf("queue: redis address %s://%s: db %q: want a number", name, authority, value)
			}
		case key == "ca" && a.tls != nil:
			pem, err := os.ReadFile(value)
			if err != nil {
				return fmt.Errorf("queue: redis address %s://%s: ca: %w", name, authority, err)
			}
			a.tls.RootCAs = x509.NewCertPool()
			if !a.tls.RootCAs.AppendCertsFromPEM(pem) {
				return fmt.Errorf("queue: redis address %s://%s: ca %s: no certificate in it", name, authority, value)
			}
		case key == "sentinel_user" && a.kind == sentinel:
			a.sentinelUser = value
		case key == "sentinel_password" && a.kind == sentinel:
			a.sentinelPassword = value
		case strings.Contains(key, "@"):
			return fmt.Errorf("queue: redis address %s://...: special characters of a password are percent-encoded", name)
		default:
			return fmt.Errorf("queue: redis address %s://%s: unknown parameter %q", name, authority, key)
		}
	}
	return nil
}

func withPort(host, port string) (string, error) {
	if host == "" {
		return "", fmt.Errorf("no host")
	}
	if h, p, err := net.SplitHostPort(host); err == nil {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return "", fmt.Errorf("port %q: want 1 to 65535", p)
		}
		return net.JoinHostPort(h, p), nil
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.Contains(bare, ":") && bare == host {
		return "", fmt.Errorf("host %q: want host:port", host)
	}
	return net.JoinHostPort(bare, port), nil
}

// String is the address without anything secret.
func (a *address) String() string {
	switch a.kind {
	case socket:
		return "unix://" + a.hosts[0]
	case sentinel:
		return "redis-sentinel://" + strings.Join(a.hosts, ",") + "/" + a.master
	case cluster:
		return "redis-cluster://" + strings.Join(a.hosts, ",")
	}
	if a.tls != nil {
		return "rediss://" + a.hosts[0]
	}
	return "redis://" + a.hosts[0]
}

// Waits of the client. Redis answers within milliseconds; anything slower is
// an outage, which the callers bridge.
const (
	dialTimeout = 5 * time.Second
	replyTime   = 3 * time.Second
)

// client makes a client; it connects on first use.
func (a *address) client() redis.UniversalClient {
	// Hosted Redis that does not know it answers the notification handshake
	// with an error, and miniredis does not know it.
	quiet := func() *maintnotifications.Config {
		return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	}
	switch a.kind {
	case sentinel:
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: a.master, SentinelAddrs: a.hosts,
			SentinelUsername: a.sentinelUser, SentinelPassword: a.sentinelPassword,
			Username: a.user, Password: a.password, DB: a.db, TLSConfig: a.tls,
			DialTimeout: dialTimeout, ReadTimeout: replyTime, WriteTimeout: replyTime,
			ContextTimeoutEnabled: true, DisableIdentity: true,
		})
	case cluster:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: a.hosts, Username: a.user, Password: a.password, TLSConfig: a.tls,
			DialTimeout: dialTimeout, ReadTimeout: replyTime, WriteTimeout: replyTime,
			ContextTimeoutEnabled: true, DisableIdentity: true, MaintNotificationsConfig: quiet(),
		})
	}
	network, reply := "tcp", replyTime
	if a.kind == socket {
		network = "unix"
	}
	if a.inProcess {
		reply = -1
	}
	return redis.NewClient(&redis.Options{
		Network: network, Addr: a.hosts[0], Username: a.user, Password: a.password, DB: a.db, TLSConfig: a.tls,
		DialTimeout: dialTimeout, ReadTimeout: reply, WriteTimeout: reply,
		ContextTimeoutEnabled: true, DisableIdentity: true, MaintNotificationsConfig: quiet(),
	})
}
