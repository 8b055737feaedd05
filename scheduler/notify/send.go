package notify

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

// Options of [New].
type Options struct {
	Secrets Secrets        // at least one
	Allow   []netip.Prefix // addresses that are connected to although they are not public, and without TLS
	Timeout time.Duration  // of an attempt, from the look-up of the name to the answer; 0: 15 s

	roots    *x509.CertPool // in tests
	resolver *net.Resolver  // in tests
}

// Bounds of an answer. Its body is not used.
const (
	mostHeaders = 64 << 10
	mostBody    = 64 << 10
	defaultTime = 15 * time.Second
)

// Sender sends notifications. It is safe for concurrent use.
type Sender struct {
	opts    Options
	secured *http.Client
	plain   *http.Client
}

// New makes a sender.
func New(opts Options) *Sender {
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTime
	}
	return &Sender{opts: opts, secured: opts.client(true), plain: opts.client(false)}
}

func (o Options) client(secure bool) *http.Client {
	dialer := &net.Dialer{Timeout: o.Timeout, Resolver: o.resolver, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		// The address is what the name was resolved to, and what is connected to: a second look-up that gives something
		// else does not come between.
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return checkAddress(to.Addr(), secure, o.Allow)
	}}
	transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: mostHeaders,
		TLSHandshakeTimeout: o.Timeout, ForceAttemptHTTP2: true}
	if o.roots != nil {
		transport.TLSClientConfig = tlsConfig(o.roots)
	}
	return &http.Client{Transport: transport, Timeout: o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// ErrGone: the receiver says that it wants no more of them (410).
var ErrGone = errors.New("the receiver wants no notifications any more (410 Gone)")

// CheckURL reports why notifications cannot be sent to a URL. The error has nothing of it but its host.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("notify: it is no URL")
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.Hostname() == "":
		return errors.New("notify: want https://host/path")
	case u.User != nil:
		return fmt.Errorf("notify: %s: no name or password may be in a URL: messages are signed", u.Host)
	case u.Fragment != "":
		return fmt.Errorf("notify: %s: a fragment (#...) is not sent", u.Host)
	case len(text) > longestURL:
		return fmt.Errorf("notify: %s: a URL of %d bytes, want at most %d", u.Host, len(text), longestURL)
	}
	return nil
}

const longestURL = 2048

// Send makes one attempt. wait is how long the receiver wants to be left alone, 0 where it does not say. An answer of 2xx is
// success; [ErrGone] ends the matter, any other error may pass.
func (s *Sender) Send(ctx context.Context, to, id string, body []byte) (wait time.Duration, err error) {
	if err := CheckURL(to); err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("notify: it is no URL")
	}
	now := time.Now()
	for name, value := range map[string]string{
		"Content-Type": "application/cloudevents+json", "User-Agent": "pelmill", "webhook-id": id,
		"webhook-timestamp": strconv.FormatInt(now.Unix(), 10), "webhook-signature": s.opts.Secrets.sign(id, now, body),
	} {
		request.Header.Set(name, value)
	}
	client := s.plain
	if request.URL.Scheme == "https" {
		client = s.secured
	}
	response, err := client.Do(request)
	if err != nil {
		var inner *url.Error // it quotes the whole URL
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return 0, fmt.Errorf("notify: %s: %w", request.URL.Host, err)
	}
	defer response.Body.Close()
	io.Copy(io.Discard, io.LimitReader(response.Body, mostBody)) // an answer that hangs here has been given
	switch code := response.StatusCode; {
	case code >= 200 && code < 300:
		return 0, nil
	case code == http.StatusGone:
		return 0, ErrGone
	case code >= 300 && code < 400:
		return 0, fmt.Errorf("notify: %s answers %d: redirects are not followed", request.URL.Host, code)
	default:
		return retryAfter(response.Header.Get("Retry-After")), fmt.Errorf("notify: %s answers %d", request.URL.Host, code)
	}
}

// retryAfter reads the header of that name in its form with seconds.
func retryAfter(text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(n), longestWait/time.Second) * time.Second
}
