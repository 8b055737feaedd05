//go:build !nonats

package intake

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"path"
	"time"

	"github.com/nats-io/nats.go"
	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/natspubsub"
)

// openNATS subscribes to a subject of the server at NATS_SERVER_URL: nats://subject?queue=group. Messages are taken as
// they are, as servers of stores send them. It connects again for as long as it takes, and what was sent meanwhile is
// lost, as NATS without streams keeps nothing.
var openNATS driver = func(_ context.Context, u *url.URL, lost func()) (*pubsub.Subscription, func(), error) {
	conn, err := nats.Connect(cmp.Or(os.Getenv("NATS_SERVER_URL"), nats.DefaultURL), nats.Name("pelmill intake"), nats.MaxReconnects(-1),
		nats.ReconnectWait(time.Second), nats.ReconnectHandler(func(*nats.Conn) { lost() }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) { lost() })) // such as a consumer that is too slow
	if err != nil {
		return nil, nil, err
	}
	sub, err := natspubsub.OpenSubscriptionV2(conn, path.Join(u.Host, u.Path), &natspubsub.SubscriptionOptions{Queue: u.Query().Get("queue")})
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	var subscribed *nats.Subscription
	if sub.As(&subscribed) {
		err = subscribed.SetPendingLimits(mostMessages, mostMessages*1024)
	}
	return sub, conn.Close, err
}
