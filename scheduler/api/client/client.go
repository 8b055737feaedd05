// Package client asks the HTTP API of a scheduler what pelmill's verbs about jobs need. Its methods are those of
// scheduler.Client, so that a verb does not see which of the two it has; targets are then given for the reader, as a job is
// named by its id alone.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api"
)

// Options of [New].
type Options struct {
	TokenFile string // holds the token; empty: none
	CA        string // file of the authorities that the server's certificate may have, PEM; empty: those of the system
	Cert, Key string // files of the client's certificate and its key, PEM; empty: none
}

// Client is an API. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

const (
	answerTime = 90 * time.Second // longest request
	mostAnswer = 256 << 20        // bytes
	tries      = 4                // of a request that can be repeated, while the scheduler cannot be reached
	pause      = 500 * time.Millisecond
)

// ErrUnreachable: the API cannot be reached, or it cannot reach storage or queue itself.
var ErrUnreachable = errors.New("cannot be reached")

// New makes a client of the API at an http or https URL.
func New(server string, opts *Options) (*Client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("--server: want a URL such as https://scheduler:8080")
	}
	if opts == nil {
		opts = &Options{}
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	c := &Client{base: u}
	if opts.TokenFile != "" {
		data, err := os.ReadFile(opts.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("--server-token-file: %w", err)
		}
		if c.token = strings.TrimSpace(string(data)); c.token == "" || strings.ContainsAny(c.token, "\r\n") {
			return nil, fmt.Errorf("--server-token-file: %s holds no token, which is one line", opts.TokenFile)
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if transport.TLSClientConfig, err = opts.tls(); err != nil {
		return nil, err
	}
	c.http = &http.Client{Transport: transport, Timeout: answerTime, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("it leads elsewhere, which an API does not")
	}}
	return c, nil
}

func (o *Options) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		data, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("--server-ca: %w", err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("--server-ca: %s has no certificate in PEM", o.CA)
		}
	}
	if (o.Cert == "") != (o.Key == "") {
		return nil, errors.New("--server-cert and --server-key belong together")
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("--server-cert, --server-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call makes a request and reads its answer into to. What can be repeated is, while the scheduler does not answer:
// another one takes over within seconds.
func (c *Client) call(ctx context.Context, method, path string, body, to any, header ...string) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	most := 1
	if method == http.MethodGet || len(header) > 0 {
		most = tries // a submission with its key
	}
	var err error
	for try := range most {
		if try > 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(pause << try):
			}
		}
		if err = c.once(ctx, method, path, data, to, header); !errors.Is(err, ErrUnreachable) {
			break
		}
	}
	return err
}

func (c *Client) once(ctx context.Context, method, path string, data []byte, to any, header []string) error {
	var from io.Reader
	if data != nil {
		from = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base.String()+path, from)
	if err != nil {
		return fmt.Errorf("scheduler at %s: %w", c.base.Host, err)
	}
	if data != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return fmt.Errorf("scheduler at %s %w: %w", c.base.Host, ErrUnreachable, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("scheduler at %s %w: %w", c.base.Host, ErrUnreachable, err)
	}
	if res.StatusCode >= 300 {
		return c.problem(res.StatusCode, answer)
	}
	if err := json.Unmarshal(answer, to); err != nil {
		return fmt.Errorf("scheduler at %s: its answer is none of this API: %w", c.base.Host, err)
	}
	return nil
}

// problem gives the error that scheduler.Client would have given.
func (c *Client) problem(status int, answer []byte) error {
	var p api.Problem
	if json.Unmarshal(answer, &p) != nil || p.Status != status {
		return fmt.Errorf("scheduler at %s answers %d %s, which is none of this API", c.base.Host, status, http.StatusText(status))
	}
	text := plain.Line(p.Detail)
	for _, e := range p.Errors {
		text += "; " + plain.Line(e.Location+": "+e.Message)
	}
	err := errors.New(text)
	switch {
	case status == http.StatusUnauthorized:
		return fmt.Errorf("scheduler at %s: %w (--server-token-file)", c.base.Host, err)
	case status == http.StatusServiceUnavailable:
		return fmt.Errorf("scheduler at %s: %w", c.base.Host, coded{err, ErrUnreachable})
	}
	switch p.Code {
	case api.CodeNoJob:
		return coded{err, scheduler.ErrNoJob}
	case api.CodeNothing:
		return coded{err, scheduler.ErrNothing}
	case api.CodeNoReport, api.CodeNoPlan:
		return coded{err, fs.ErrNotExist}
	}
	return err
}

// coded is an error of a kind whose text says it already.
type coded struct {
	error
	kind error
}

func (e coded) Unwrap() error { return e.kind }
