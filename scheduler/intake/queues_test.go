package intake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
)

// cloudQueue is a queue of a cloud that a stand-in on this machine serves.
type cloudQueue struct {
	events string                               // its URL for --events
	tell   func(key string)                     // sends what the cloud's store sends of a new object
	forge  func(body string)                    // sends something else
	left   func() (waiting, unacknowledged int) // messages
}

// queueOfSQS is a queue of moto, which implements Amazon's services.
func queueOfSQS(t *testing.T) cloudQueue {
	m := services.Moto(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	address := m.URL() + "/123456789012/events"
	call := func(values url.Values) string {
		t.Helper()
		values.Set("Version", "2012-11-05")
		req, err := http.NewRequest(http.MethodPost, m.URL(), strings.NewReader(values.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v: %s %s (%v)", values, resp.Status, body, err)
		}
		return string(body)
	}
	call(url.Values{"Action": {"CreateQueue"}, "QueueName": {"events"}, "Attribute.1.Name": {"VisibilityTimeout"}, "Attribute.1.Value": {"5"}})
	send := func(body string) {
		call(url.Values{"Action": {"SendMessage"}, "QueueUrl": {address}, "MessageBody": {body}})
	}
	return cloudQueue{
		events: "awssqs://sqs.us-east-1.amazonaws.com/123456789012/events?region=us-east-1&endpoint=" + url.QueryEscape(m.URL()),
		tell: func(key string) {
			send(fmt.Sprintf(`{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"source"},"object":{"key":%q,"size":1}}}]}`,
				strings.ReplaceAll(url.QueryEscape(key), "%2F", "/")))
		},
		forge: send,
		left: func() (waiting, unacknowledged int) {
			text := call(url.Values{"Action": {"GetQueueAttributes"}, "QueueUrl": {address}, "AttributeName.1": {"All"}})
			number := func(name string) (n int) {
				_, rest, _ := strings.Cut(text, "<Name>"+name+"</Name>")
				_, rest, _ = strings.Cut(rest, "<Value>")
				if _, err := fmt.Sscanf(rest, "%d", &n); err != nil {
					t.Fatalf("%s: %v: %s", name, err, text)
				}
				return n
			}
			return number("ApproximateNumberOfMessages"), number("ApproximateNumberOfMessagesNotVisible")
		},
	}
}

// queueOfPubSub is a subscription of the fake that Google's client library brings.
func queueOfPubSub(t *testing.T) cloudQueue {
	s := pstest.NewServer()
	t.Cleanup(func() { s.Close() })
	t.Setenv("PUBSUB_EMULATOR_HOST", s.Addr)
	const topic, subscription = "projects/p/topics/objects", "projects/p/subscriptions/intake"
	if _, err := s.GServer.CreateTopic(t.Context(), &pubsubpb.Topic{Name: topic}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.GServer.CreateSubscription(t.Context(), &pubsubpb.Subscription{Name: subscription, Topic: topic, AckDeadlineSeconds: 10}); err != nil {
		t.Fatal(err)
	}
	return cloudQueue{
		events: "gcppubsub://" + subscription,
		tell: func(key string) {
			body, _ := json.Marshal(map[string]string{"kind": "storage#object", "bucket": "source", "name": key})
			s.Publish(topic, body, map[string]string{"eventType": "OBJECT_FINALIZE", "bucketId": "source", "objectId": key, "payloadFormat": "JSON_API_V1"})
		},
		forge: func(body string) { s.Publish(topic, []byte(body), nil) },
		left: func() (waiting, unacknowledged int) {
			for _, m := range s.Messages() {
				if m.Acks == 0 {
					unacknowledged++
				}
			}
			return 0, unacknowledged
		},
	}
}

// Queues of clouds: what they tell of is compressed once, and each message is acknowledged, whatever it says. What came while
// there was no intake is there when one comes.
func TestQueuesOfClouds(t *testing.T) {
	for name, open := range map[string]func(*testing.T) cloudQueue{"SQS": queueOfSQS, "Pub Sub": queueOfPubSub, "Service Bus": queueOfServiceBus} {
		t.Run(name, func(t *testing.T) {
			q := open(t)
			r := newRig(t, "mem://source", "mem://target")
			opts := func() *Options {
				return &Options{Events: q.events, Every: 24 * time.Hour, BatchWait: 100 * time.Millisecond, BatchObjects: 8}
			}
			empty := func() {
				t.Helper()
				faults.Until(t, 3*time.Minute, "all messages to be acknowledged", func() bool {
					waiting, unacknowledged := q.left()
					return waiting+unacknowledged == 0
				})
			}
			r.put(0)
			stop := r.start(opts())
			r.done() // by the first listing, the only one
			r.settled()
			for n := 1; n < 10; n++ {
				key := r.put(n)
				for range n%3 + 1 { // some are doubled
					q.tell(key)
				}
				if n%4 == 0 {
					q.forge("{")
					q.tell("no such object.png")
				}
			}
			r.done()
			empty()
			r.settled()
			stop()
			r.exactlyOnce()

			q.tell(r.put(10))
			stop = r.start(opts())
			r.done()
			empty()
			r.settled()
			stop()
			r.exactlyOnce()
		})
	}
}

// queueOfServiceBus is a subscription of a stand-in that speaks AMQP.
func queueOfServiceBus(t *testing.T) cloudQueue {
	s := services.ServiceBus(t, "objects", "intake")
	t.Setenv("SERVICEBUS_CONNECTION_STRING", s.Connection)
	return cloudQueue{
		events: "azuresb://objects?subscription=intake",
		tell: func(key string) {
			s.Send(fmt.Sprintf(`[{"eventType":"Microsoft.Storage.BlobCreated","subject":"/blobServices/default/containers/source/blobs/%s","data":{"api":"PutBlob"}}]`, key))
		},
		forge: s.Send,
		left:  s.Left,
	}
}
