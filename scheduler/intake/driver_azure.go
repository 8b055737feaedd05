//go:build !noazure

package intake

import (
	"context"
	"net/url"

	"gocloud.dev/pubsub"
	_ "gocloud.dev/pubsub/azuresb" // azuresb://
)

// openServiceBus receives from a topic of Azure Service Bus: azuresb://TOPIC?subscription=NAME, with SERVICEBUS_CONNECTION_STRING.
var openServiceBus driver = func(ctx context.Context, u *url.URL, _ func()) (*pubsub.Subscription, func(), error) {
	sub, err := pubsub.DefaultURLMux().OpenSubscriptionURL(ctx, u)
	return sub, func() {}, err
}
