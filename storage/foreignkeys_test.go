package storage_test

import (
	"crypto/md5"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/storage"
)

// Objects that other programs wrote to S3 under keys that gocloud escapes are listed under these keys and can be read
// under them, and so can those that it wrote itself.
func TestS3KeysWithControlCharacters(t *testing.T) {
	gw := services.VersityGW(t)
	b, err := storage.NewBuckets().Open(t.Context(), gw.NewBucket("controls"))
	if err != nil {
		t.Fatal(err)
	}
	var client *s3.Client
	if !b.As(&client) {
		t.Fatal("the bucket has no client of S3")
	}
	// Other control characters have no place in the listings of this server, which does not encode keys.
	foreign := []string{"line\nbreak.png", "tab\t.png", "quote\".png", "ü ß.png", "a%2F#?.png"}
	for _, key := range foreign {
		in := &s3.PutObjectInput{Bucket: aws.String("controls"), Key: aws.String(key), Body: strings.NewReader(key)}
		if _, err := client.PutObject(t.Context(), in); err != nil {
			t.Fatalf("%q: %v", key, err)
		}
	}
	const own = "own\x02.png"
	if _, err := storage.Put(t.Context(), b, own, []byte(own), nil); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	err = storage.Walk(t.Context(), b, nil, func(p storage.Page) error {
		for _, o := range p.Objects {
			listed[o.Key] = true
			got, err := storage.Get(t.Context(), b, o.Key, -1, &o)
			if err != nil || string(got.Data) != o.Key {
				t.Errorf("%q holds %q (%v)", o.Key, got.Data, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range append(foreign, own) {
		if !listed[key] {
			t.Errorf("%q was not listed", key)
		}
	}
}

// A server that encodes keys in listings, as S3 itself does, is asked to; what it lists can be read whatever is in the
// name.
func TestS3ListsEncodedKeys(t *testing.T) {
	const key = "pre fix/esc\x1b]0;title\x07+%41.png"
	sum := fmt.Sprintf("%x", md5.Sum([]byte(key)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("list-type") == "2" && r.URL.Query().Get("encoding-type") == "url":
			fmt.Fprintf(w, `<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%s</Key><Size>%d</Size><ETag>&quot;%s&quot;</ETag><LastModified>2026-01-02T03:04:05Z</LastModified></Contents></ListBucketResult>`,
				strings.ReplaceAll(url.QueryEscape(key), "%2F", "/"), len(key), sum)
		case r.URL.Path == "/b/"+key:
			w.Header().Set("ETag", `"`+sum+`"`)
			fmt.Fprint(w, key)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `<Error><Code>NoSuchKey</Code></Error>`)
		}
	}))
	defer server.Close()
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
	b, err := storage.NewBuckets().Open(t.Context(), services.S3URL(server.URL, "b"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = storage.Walk(t.Context(), b, nil, func(p storage.Page) error {
		for _, o := range p.Objects {
			n++
			got, err := storage.Get(t.Context(), b, o.Key, -1, nil)
			if o.Key != key || err != nil || string(got.Data) != key {
				t.Errorf("%q holds %q (%v)", o.Key, got.Data, err)
			}
		}
		return nil
	})
	if err != nil || n != 1 {
		t.Errorf("%d objects were listed (%v)", n, err)
	}
}
