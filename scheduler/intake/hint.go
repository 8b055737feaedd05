package intake

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Bounds of a message.
const (
	maxMessage = 1 << 20 // bytes; stores send a few kilobytes
	maxRecords = 10_000
	maxNested  = 5 // a message in an envelope in an envelope
)

// hint is an object that a message names.
type hint struct {
	bucket string // empty: the message does not say
	key    string
	guess  bool // the other spelling of a key that may be URL-encoded or not
}

// notice is what a message says.
type notice struct {
	hints []hint
	other int // records of something else than a new object
}

var errMessage = errors.New("intake: the message names no object in any form that is known")

// parse reads a message of a store. It knows
//
//   - Amazon S3, and what speaks like it (MinIO, versitygw, Ceph): {"Records": [{"eventName", "s3": {...}}]}
//   - the same in a notification of SNS, and from EventBridge: {"detail-type", "detail": {"bucket", "object"}}
//   - Google Cloud Storage: attributes bucketId, objectId and eventType, or the object as JSON, or the push of Pub/Sub
//   - Azure Event Grid, one event or a list, also as CloudEvents: {"eventType" or "type", "subject"}
//   - {"key": "a/b.png"} and {"keys": [...]}, for scripts of one's own
//
// It is lenient: fields may be missing, and what a message leaves open is taken as a hint. Keys of the first kind are
// URL-encoded or not, as the server likes; where that makes a difference both are given.
func parse(body []byte, attributes map[string]string) (notice, error) {
	var n notice
	if len(body) > maxMessage {
		return n, fmt.Errorf("intake: a message of %d bytes: want at most %d", len(body), maxMessage)
	}
	if id := attributes["objectId"]; id != "" {
		if kind := attributes["eventType"]; kind != "" && kind != "OBJECT_FINALIZE" {
			n.other++
			return n, nil
		}
		n.add(attributes["bucketId"], id, false)
		return n, nil
	}
	if !n.value(body, 0) {
		return notice{}, errMessage
	}
	return n, nil
}

func (n *notice) add(bucket, key string, encoded bool) {
	if key == "" || len(n.hints) >= 2*maxRecords {
		return
	}
	n.hints = append(n.hints, hint{bucket: bucket, key: key})
	if !encoded {
		return
	}
	if decoded, err := url.QueryUnescape(key); err == nil && decoded != key && decoded != "" {
		n.hints[len(n.hints)-1].guess = true
		n.hints = append(n.hints, hint{bucket: bucket, key: decoded, guess: true})
	}
}

// message has the fields of all messages that are known.
type message struct {
	Records json.RawMessage `json:"Records"`
	Event   string          `json:"Event"` // of the test event of Amazon S3 and its like

	Type      string          `json:"Type"`    // SNS: Notification
	Message   json.RawMessage `json:"Message"` // SNS: a text; Pub/Sub's push: an object, in lower case
	EventType string          `json:"eventType"`
	Detail    *struct {
		Bucket name   `json:"bucket"`
		Object object `json:"object"`
	} `json:"detail"`
	DetailType string `json:"detail-type"`

	Subject string          `json:"subject"`
	Data    json.RawMessage `json:"data"`

	Kind   string          `json:"kind"` // Google: storage#object
	Bucket json.RawMessage `json:"bucket"`
	Name   string          `json:"name"`

	Key  string   `json:"key"`
	Keys []string `json:"keys"`
}

type name struct {
	Name string `json:"name"`
}

type object struct {
	Key string `json:"key"`
}

// record is one of Amazon S3's Records.
type record struct {
	EventName string `json:"eventName"`
	S3        struct {
		Bucket name   `json:"bucket"`
		Object object `json:"object"`
	} `json:"s3"`
}

// value reads a JSON value and reports whether it is known.
func (n *notice) value(data []byte, depth int) bool {
	if depth > maxNested {
		return false
	}
	data = []byte(strings.TrimSpace(string(data)))
	if len(data) == 0 {
		return false
	}
	if data[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || len(list) > maxRecords {
			return false
		}
		known := len(list) == 0
		for _, v := range list {
			known = n.value(v, depth+1) || known
		}
		return known
	}
	if data[0] == '"' { // JSON as a text in JSON
		var text string
		return json.Unmarshal(data, &text) == nil && n.value([]byte(text), depth+1)
	}
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		var mistyped *json.UnmarshalTypeError
		if !errors.As(err, &mistyped) {
			return false
		}
	}
	return n.message(&m, depth)
}

func (n *notice) message(m *message, depth int) bool {
	kind := m.EventType
	if kind == "" {
		kind = m.Type // also "type", as names match in any letter case
	}
	switch {
	case len(m.Records) > 0:
		return n.records(m.Records)
	case strings.HasPrefix(m.Event, "s3:"): // s3:TestEvent
		n.other++
		return true
	case m.Type == "SubscriptionConfirmation", m.Type == "UnsubscribeConfirmation", kind == gridValidation:
		n.other++
		return true
	case m.Detail != nil && m.Detail.Object.Key != "":
		if m.DetailType != "" && m.DetailType != "Object Created" && !strings.HasPrefix(m.DetailType, "Object Restore Completed") {
			n.other++
			return true
		}
		n.add(m.Detail.Bucket.Name, m.Detail.Object.Key, false)
		return true
	case strings.HasPrefix(kind, "Microsoft.Storage."):
		return n.grid(kind, m.Subject)
	case strings.HasPrefix(kind, "google.cloud.storage.object.") && !strings.HasSuffix(kind, ".finalized"):
		n.other++
		return true
	case m.Kind == "storage#object" && m.Name != "":
		n.add(text(m.Bucket), m.Name, false)
		return true
	case len(m.Message) > 0 && m.Message[0] == '{' && n.push(m.Message, depth):
		return true
	case len(m.Message) > 0:
		return n.value(m.Message, depth+1)
	case m.Key != "" || len(m.Keys) > 0:
		bucket := text(m.Bucket)
		n.add(bucket, m.Key, false)
		for _, key := range m.Keys {
			n.add(bucket, key, false)
		}
		return true
	case len(m.Data) > 0:
		return n.value(m.Data, depth+1)
	}
	return false
}

// records reads Records of Amazon S3; those without a kind count as new objects.
func (n *notice) records(data []byte) bool {
	var all []json.RawMessage
	if json.Unmarshal(data, &all) != nil || len(all) > maxRecords {
		return false
	}
	known := len(all) == 0
	for _, raw := range all {
		var r record
		if err := json.Unmarshal(raw, &r); err != nil && r.S3.Object.Key == "" {
			continue
		}
		kind := strings.TrimPrefix(r.EventName, "s3:")
		switch {
		case kind != "" && !strings.HasPrefix(kind, "ObjectCreated:") && !strings.HasPrefix(kind, "ObjectRestore:Completed"):
			n.other++
			known = true
		case r.S3.Object.Key != "":
			n.add(r.S3.Bucket.Name, r.S3.Object.Key, true)
			known = true
		}
	}
	return known
}

// grid reads the subject of Azure: /blobServices/default/containers/CONTAINER/blobs/KEY.
func (n *notice) grid(kind, subject string) bool {
	_, rest, _ := strings.Cut(subject, "/containers/")
	container, key, ok := strings.Cut(rest, "/blobs/")
	switch {
	case kind != "Microsoft.Storage.BlobCreated" && kind != "Microsoft.Storage.BlobRenamed":
		n.other++
		return true
	case ok && key != "":
		n.add(container, key, false)
		return true
	}
	return false
}

// push reads the message of a push subscription of Pub/Sub.
func (n *notice) push(data []byte, depth int) bool {
	var m struct {
		Attributes map[string]string `json:"attributes"`
		Data       string            `json:"data"`
	}
	if json.Unmarshal(data, &m) != nil || m.Attributes == nil && m.Data == "" {
		return false
	}
	body, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil {
		return false
	}
	if m.Attributes["objectId"] == "" {
		return n.value(body, depth+1)
	}
	inner, err := parse(body, m.Attributes)
	n.hints, n.other = append(n.hints, inner.hints...), n.other+inner.other
	return err == nil
}

// text is a JSON value that is a text, empty where it is none.
func text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}
