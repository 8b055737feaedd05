package intake

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// messages are what the stores send, cut to what matters and a little more.
var messages = []struct {
	name       string
	body       string
	attributes map[string]string
	want       []hint
	other      int
}{
	{name: "Amazon S3", body: `{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","awsRegion":"eu-central-1","eventName":"ObjectCreated:Put",
		"s3":{"s3SchemaVersion":"1.0","bucket":{"name":"scans","arn":"arn:aws:s3:::scans"},"object":{"key":"a/happy+face%281%29.png","size":1024,"eTag":"d41d8cd98f00b204e9800998ecf8427e","sequencer":"0055AED6DCD90281E5"}}}]}`,
		want: []hint{{"scans", "a/happy+face%281%29.png", true}, {"scans", "a/happy face(1).png", true}}},
	{name: "Amazon S3's test", body: `{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-11-22T14:00:00Z","Bucket":"scans"}`, other: 1},
	{name: "two records, one of a deletion", body: `{"Records":[{"eventName":"ObjectRemoved:Delete","s3":{"bucket":{"name":"b"},"object":{"key":"gone"}}},
		{"eventName":"ObjectCreated:CompleteMultipartUpload","s3":{"bucket":{"name":"b"},"object":{"key":"new"}}}]}`, want: []hint{{"b", "new", false}}, other: 1},
	{name: "versitygw", body: `{"Records":[{"eventVersion":"2.2","eventSource":"aws:s3","eventName":"s3:ObjectCreated:Copy","s3":{"bucket":{"name":"b"},"object":{"key":"raw key.png","size":0,"eTag":"\"q\""}}}]}`,
		want: []hint{{"b", "raw key.png", false}}},
	{name: "MinIO", body: `{"EventName":"s3:ObjectCreated:Put","Key":"b/x%2Fy.png","Records":[{"eventName":"s3:ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"x%2Fy.png","size":3}}}]}`,
		want: []hint{{"b", "x%2Fy.png", true}, {"b", "x/y.png", true}}},
	{name: "no kind", body: `{"Records":[{"s3":{"bucket":{"name":"b"},"object":{"key":"k"}}}]}`, want: []hint{{"b", "k", false}}},
	{name: "by SNS", body: `{"Type":"Notification","MessageId":"1","TopicArn":"arn:aws:sns:eu-central-1:1:t","Message":"{\"Records\":[{\"eventName\":\"ObjectCreated:Put\",\"s3\":{\"bucket\":{\"name\":\"b\"},\"object\":{\"key\":\"k\"}}}]}"}`,
		want: []hint{{"b", "k", false}}},
	{name: "SNS asks", body: `{"Type":"SubscriptionConfirmation","Token":"t","TopicArn":"arn","SubscribeURL":"https://sns.example/","Message":"You have chosen to subscribe"}`, other: 1},
	{name: "EventBridge", body: `{"version":"0","detail-type":"Object Created","source":"aws.s3","detail":{"version":"0","bucket":{"name":"b"},"object":{"key":"a+b.png","size":5}}}`,
		want: []hint{{"b", "a+b.png", false}}},
	{name: "EventBridge, a deletion", body: `{"detail-type":"Object Deleted","detail":{"bucket":{"name":"b"},"object":{"key":"k"}}}`, other: 1},
	{name: "Google, attributes", body: `{}`, attributes: map[string]string{"bucketId": "b", "objectId": "k+%20", "eventType": "OBJECT_FINALIZE"}, want: []hint{{"b", "k+%20", false}}},
	{name: "Google, a deletion", body: `{}`, attributes: map[string]string{"bucketId": "b", "objectId": "k", "eventType": "OBJECT_DELETE"}, other: 1},
	{name: "Google, the object", body: `{"kind":"storage#object","id":"b/k/1","name":"k","bucket":"b","generation":"1"}`, want: []hint{{"b", "k", false}}},
	{name: "Google, pushed", body: `{"message":{"attributes":{"bucketId":"b","objectId":"k","eventType":"OBJECT_FINALIZE"},"data":"e30=","messageId":"1"},"subscription":"s"}`, want: []hint{{"b", "k", false}}},
	{name: "Google, pushed without attributes", body: `{"message":{"data":"` + base64.StdEncoding.EncodeToString([]byte(`{"kind":"storage#object","name":"k","bucket":"b"}`)) + `"}}`, want: []hint{{"b", "k", false}}},
	{name: "Azure Event Grid", body: `[{"topic":"/subscriptions/x","subject":"/blobServices/default/containers/c/blobs/a/b c.png","eventType":"Microsoft.Storage.BlobCreated","data":{"api":"PutBlob","contentLength":5,"url":"https://x"},"dataVersion":""}]`,
		want: []hint{{"c", "a/b c.png", false}}},
	{name: "Azure as CloudEvent", body: `{"specversion":"1.0","type":"Microsoft.Storage.BlobCreated","source":"/x","subject":"/blobServices/default/containers/c/blobs/k","data":{}}`, want: []hint{{"c", "k", false}}},
	{name: "Azure, a deletion", body: `[{"eventType":"Microsoft.Storage.BlobDeleted","subject":"/blobServices/default/containers/c/blobs/k"}]`, other: 1},
	{name: "a script", body: `{"key":"k"}`, want: []hint{{"", "k", false}}},
	{name: "a script, many", body: `{"bucket":"b","keys":["k","l"]}`, want: []hint{{"b", "k", false}, {"b", "l", false}}},
	{name: "a wrong type beside", body: `{"Records":[{"eventName":7,"s3":{"bucket":{"name":"b"},"object":{"key":"k","size":"large"}}}]}`, want: []hint{{"b", "k", false}}},
}

func TestParse(t *testing.T) {
	for _, m := range messages {
		t.Run(m.name, func(t *testing.T) {
			n, err := parse([]byte(m.body), m.attributes)
			if err != nil || !slices.Equal(n.hints, m.want) || n.other != m.other {
				t.Errorf("%+v (%v), want %+v and %d others", n, err, m.want, m.other)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	nested := strings.Repeat(`{"Message":`, 100) + `{"key":"k"}` + strings.Repeat(`}`, 100)
	for name, body := range map[string]string{
		"nothing": "", "no JSON": "hello", "half": `{"Records":[{"s3":`, "an empty object": `{}`, "a number": `7`, "null": `null`,
		"deep": nested, "deep lists": strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"many": `{"Records":[` + strings.Repeat(`{},`, maxRecords) + `{}]}`,
		"long": `{"key":"` + strings.Repeat("x", maxMessage) + `"}`,
	} {
		if n, err := parse([]byte(body), nil); err == nil {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

// Whatever a message says, parsing ends, and gives no more than a message may have.
func FuzzParse(f *testing.F) {
	for _, m := range messages {
		attributes, _ := json.Marshal(m.attributes)
		f.Add([]byte(m.body), attributes)
	}
	f.Fuzz(func(t *testing.T, body, attributes []byte) {
		var a map[string]string
		json.Unmarshal(attributes, &a)
		n, err := parse(body, a)
		if err != nil && len(n.hints) > 0 || len(n.hints) > 2*maxRecords+1 {
			t.Fatalf("%d hints (%v)", len(n.hints), err)
		}
		for _, h := range n.hints {
			if h.key == "" {
				t.Fatalf("an empty key in %+v", n)
			}
			_ = utf8.ValidString(fmt.Sprint(h))
		}
	})
}
