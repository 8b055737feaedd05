package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is how long a process has for its answer: readiness asks Redis and the stores
// behind it, and supervisors ask every few seconds.
const healthTimeout = 5 * time.Second

// maxReasons bounds what is read of an answer, in bytes.
const maxReasons = 64 << 10

func (p *program) health() *cobra.Command {
	var listens string
	var live bool
	cmd := &cobra.Command{
		Use:   "health [ADDR]",
		Short: "Ask whether a worker or scheduler is ready",
		Long: `Ask the process whose --metrics-listen is ADDR for /readyz, or with --live for /livez, and
end with code 0 where it answers that it is, with code 1 and the reasons where it is not,
and with code 8 where nothing answers. It is meant
as the health check of a container, which has no shell; there ADDR is best left to
PELMILL_METRICS_LISTEN, which the served process reads as well.

ADDR is host:port or a port alone, on loopback where it names no host.`,
		Example: "  pelmill health 127.0.0.1:9090",
		GroupID: groupServing,
		Args:    arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				listens = args[0]
			}
			address, err := dialled(listens)
			if err != nil {
				return err
			}
			e := healthEvent{Type: "health", Address: address, Check: "ready"}
			path := "/readyz"
			if live {
				e.Check, path = "live", "/livez"
			}
			if e.OK, e.Reasons, err = asked(cmd.Context(), "http://"+address+path); err != nil {
				return err
			}
			return p.presentHealth(e)
		},
	}
	cmd.Flags().StringVar(&listens, "metrics-listen", "", "`ADDRESS` of the process where none is given as an argument")
	cmd.Flags().BoolVar(&live, "live", false, "ask whether it lives, not whether it is ready")
	return cmd
}

// healthEvent is what --json prints.
type healthEvent struct {
	Type    string   `json:"type"` // "health"
	Address string   `json:"address"`
	Check   string   `json:"check"` // "ready" or "live"
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons,omitempty"` // why not
}

func (p *program) presentHealth(e healthEvent) error {
	if p.json {
		if err := p.emit(e); err != nil {
			return err
		}
		if !e.OK {
			return &exit{code: exitError}
		}
		return nil
	}
	if !e.OK {
		return fmt.Errorf("not %s: %s", e.Check, strings.Join(e.Reasons, "; "))
	}
	if !p.quiet {
		fmt.Fprintln(p.stdout, e.Check)
	}
	return nil
}

// dialled is where to reach a process that listens at an address as --metrics-listen takes it.
func dialled(listens string) (string, error) {
	if listens == "" {
		return "", usagef("health: no address: give one, or set PELMILL_METRICS_LISTEN")
	}
	host, port, err := net.SplitHostPort(listens)
	if err != nil {
		host, port = "", listens // a port alone
	}
	if _, err := net.LookupPort("tcp", port); err != nil || port == "" {
		return "", usagef("health: %q is no address: want host:port or a port", listens)
	}
	switch ip := net.ParseIP(host); {
	case host == "", ip != nil && ip.IsUnspecified() && ip.To4() != nil:
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port), nil
}

// asked reads one answer of a process about itself: whether it is well, and the reasons if it is not.
func asked(ctx context.Context, from string) (ok bool, reasons []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return false, nil, usagef("health: %w", err)
	}
	// No proxy, no redirects: the process itself is asked.
	client := &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	var failed *url.Error // whose text has the whole URL
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return false, nil, &exit{exitUnreachable, fmt.Errorf("health: no answer from %s within %v", req.URL.Host, healthTimeout)}
	case errors.As(err, &failed):
		// As text: advice for unreachable stores does not belong here.
		return false, nil, &exit{exitUnreachable, fmt.Errorf("health: %v", failed.Err)}
	case err != nil:
		return false, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return true, nil, nil
	}
	if resp.StatusCode != http.StatusServiceUnavailable {
		return false, nil, fmt.Errorf("health: %s answered %s: is that the --metrics-listen of a worker or scheduler?", req.URL.Host, resp.Status)
	}
	lines := bufio.NewScanner(io.LimitReader(resp.Body, maxReasons))
	for lines.Scan() {
		reasons = append(reasons, lines.Text())
	}
	return false, reasons, nil
}
