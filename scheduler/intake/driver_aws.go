//go:build !nos3

package intake

import (
	"context"
	"net/url"

	"gocloud.dev/pubsub"
	_ "gocloud.dev/pubsub/awssnssqs" // awssqs://
)

// openSQS receives from a queue of Amazon SQS: awssqs://sqs.REGION.amazonaws.com/ACCOUNT/QUEUE?region=REGION.
var openSQS driver = func(ctx context.Context, u *url.URL, _ func()) (*pubsub.Subscription, func(), error) {
	sub, err := pubsub.DefaultURLMux().OpenSubscriptionURL(ctx, u)
	return sub, func() {}, err
}
