//go:build !nogcs

package intake

import (
	"context"
	"net/url"

	"gocloud.dev/pubsub"
	_ "gocloud.dev/pubsub/gcppubsub" // gcppubsub://
)

// openPubSub receives from a subscription of Google Cloud Pub/Sub: gcppubsub://projects/PROJECT/subscriptions/NAME.
var openPubSub driver = func(ctx context.Context, u *url.URL, _ func()) (*pubsub.Subscription, func(), error) {
	sub, err := pubsub.DefaultURLMux().OpenSubscriptionURL(ctx, u)
	return sub, func() {}, err
}
