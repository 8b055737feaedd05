package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"gocloud.dev/pubsub"
)

// mostMessages is how many messages of a queue may be unacknowledged. The next ones stay in the queue.
const mostMessages = 20_000

// driver opens a subscription, and gives what closes its connection after it. lost is called when messages may have
// been lost.
type driver func(ctx context.Context, u *url.URL, lost func()) (sub *pubsub.Subscription, closed func(), err error)

// Schemes are the URL schemes of queues that this build knows.
func Schemes() []string { return slices.Sorted(maps.Keys(drivers())) }

// drivers are those of this build: the files driver_*.go say which tag leaves one out.
func drivers() map[string]driver {
	all := map[string]driver{}
	for _, d := range []struct {
		scheme string
		open   driver
	}{{"nats", openNATS}, {"awssqs", openSQS}, {"gcppubsub", openPubSub}, {"azuresb", openServiceBus}} {
		if d.open != nil {
			all[d.scheme] = d.open
		}
	}
	return all
}

// CheckEvents reports why the URL of a subscription cannot be one.
func CheckEvents(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return errors.New("intake: events: the URL cannot be read") // which may hold a secret
	}
	if drivers()[u.Scheme] == nil {
		return fmt.Errorf("intake: events: %q is no queue that this build knows (%s)", u.Scheme, strings.Join(Schemes(), ", "))
	}
	if u.Host == "" {
		return fmt.Errorf("intake: events: %s:// names no subject, queue or subscription", u.Scheme)
	}
	return nil
}

// subscription takes messages of a queue.
type subscription struct {
	url  *url.URL
	open driver
	log  *slog.Logger
	lost func() // a listing is wanted
}

func newSubscription(raw string, log *slog.Logger) (*subscription, error) {
	if err := CheckEvents(raw); err != nil {
		return nil, err
	}
	u, _ := url.Parse(raw)
	return &subscription{url: u, open: drivers()[u.Scheme], log: log, lost: func() {}}, nil
}

// name is what may be said of the URL: what follows the ? may be a secret.
func (s *subscription) name() string { return s.url.Scheme + "://" + s.url.Host + s.url.Path }

// Run receives until ctx ends. A subscription that breaks is opened again.
func (s *subscription) Run(ctx context.Context, to *Spool) error {
	in := newInbox(to)
	wait := time.Second
	for ctx.Err() == nil {
		began := time.Now()
		err := s.receive(ctx, in)
		if ctx.Err() != nil {
			return nil
		}
		to.metrics.trouble("receive events", err)
		s.log.Warn("cannot receive events, trying again", "queue", s.name(), "error", err)
		if time.Since(began) > time.Minute {
			wait = time.Second
		}
		sleep(ctx, wait)
		wait = min(2*wait, time.Minute)
		s.lost()
	}
	return nil
}

func (s *subscription) receive(ctx context.Context, in *inbox) error {
	sub, closed, err := s.open(ctx, s.url, s.lost)
	if err != nil {
		return err
	}
	defer closed()
	defer func() {
		late, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer done()
		sub.Shutdown(late)
	}()
	s.log.Info("receives events", "queue", s.name())
	m := in.spool.metrics
	m.trouble("receive events", nil)
	room := make(chan struct{}, mostMessages)
	for {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		msg, err := sub.Receive(ctx)
		if err != nil {
			return err
		}
		m.unacknowledged(1)
		_, err = in.deliver(ctx, msg.Body, msg.Metadata, true, func() {
			msg.Ack()
			m.unacknowledged(-1)
			<-room
		})
		if err != nil {
			return err
		}
	}
}
