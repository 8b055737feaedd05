package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// Version is one content that a key of a target had, as a record says.
type Version struct {
	Job    string `json:"j"`
	Size   int64  `json:"s"`           // bytes
	SHA256 string `json:"h,omitempty"` // hexadecimal
}

// Owner is a job and what it compresses.
type Owner struct {
	Job    string `json:"job"`
	Source string `json:"source"` // canonical bucket URL
}

// Claim is the record of a result in a job, with the job that has written the same
// key for another source object since; Owner is nil where none has.
type Claim struct {
	Result
	Job   string // whose record it is
	Owner *Owner
}

// Damage is a result that is not as it was recorded: a line of [Damaged].
type Damage struct {
	KeyHash string `json:"key_hash,omitempty"` // of a medical image, which is written without keys and texts
	Sealed  string `json:"sealed,omitempty"`   // of a medical image: what is left out, encrypted
	Key     string `json:"key,omitempty"`      // of the source
	Format  string `json:"source_format,omitempty"`
	Job     string `json:"job"`              // that recorded the result
	Target  string `json:"target,omitempty"` // where it is
	Problem string `json:"problem"`
	Error   string `json:"error,omitempty"`
	Size    int64  `json:"found_size,omitempty"`   // of what is there instead
	SHA256  string `json:"found_sha256,omitempty"` // of what is there instead; only that may be replaced

	Parts []string `json:"parts,omitempty"` // keys of the parts of a series
}

// The problems of results that making them anew does not solve.
const (
	ProblemReplaced = "replaced" // it is now the result of another source object
	ProblemUnknown  = "unknown"  // this build does not have the codec
	ProblemStorage  = "storage"  // it cannot be read
	ProblemMemory   = "memory"   // it needs more memory than there is to be decoded
)

// Repairable reports whether the result can be made anew: it is its source's still, and something is known against it.
func (d *Damage) Repairable() bool {
	switch d.Problem {
	case ProblemReplaced, ProblemUnknown, ProblemStorage, ProblemMemory:
		return false
	}
	return true
}

// storeParams are the parameters of a bucket's URL that say which store it is
// in. All others say how to get there.
var storeParams = map[string][]string{
	"s3":     {"endpoint"},
	"azblob": {"storage_account", "domain", "localemu"},
}

// sourceStore is a canonical bucket URL in the one spelling that names the store,
// the bucket and the prefix, and no more: without region, protocol and the like,
// and with a bare host as the endpoint. Endpoints of AWS are left out, as names
// of its buckets are unique.
func sourceStore(bucket string) string {
	u, err := url.Parse(bucket)
	if err != nil {
		return bucket
	}
	store := url.Values{}
	q := u.Query()
	for _, name := range storeParams[u.Scheme] {
		if v := q.Get(name); v != "" {
			store.Set(name, v)
		}
	}
	if e := endpointHost(store.Get("endpoint")); e != "" {
		store.Set("endpoint", e)
	} else {
		store.Del("endpoint")
	}
	u.RawQuery = store.Encode()
	return u.String()
}

// endpointHost is the host, and the port where it is not that of HTTP or HTTPS.
func endpointHost(endpoint string) string {
	_, host, found := strings.Cut(strings.ToLower(endpoint), "://")
	if !found {
		host = strings.ToLower(endpoint)
	}
	host, _, _ = strings.Cut(host, "/")
	host = strings.TrimSuffix(strings.TrimSuffix(host, ":443"), ":80")
	if strings.HasSuffix(host, ".amazonaws.com") {
		return ""
	}
	return host
}

// SameSource reports whether two canonical URLs name the same bucket and prefix.
func SameSource(a, b string) bool { return a == b || sourceStore(a) == sourceStore(b) }

// SourceID names one source object: the SHA-256 of its store, bucket and key.
func SourceID(bucket, key string) string { return StoreOf(bucket).ID(key) }

// SourceStore is what a bucket's URL says of where its objects are, for who names many of them.
type SourceStore string

// StoreOf is the store of a canonical URL.
func StoreOf(bucket string) SourceStore { return SourceStore(sourceStore(bucket)) }

// ID is [SourceID] of an object in the store.
func (s SourceStore) ID(key string) string {
	sum := sha256.Sum256([]byte(string(s) + "\x00" + key))
	return hex.EncodeToString(sum[:])
}
