package sitekey_test

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// forgetful is a store that speaks S3 and ignores conditions, as some do.
type forgetful struct {
	mu      sync.Mutex
	objects map[string][]byte
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := strings.TrimPrefix(r.URL.Path, "/b/")
	if r.URL.Query().Get("list-type") == "2" {
		fmt.Fprint(w, `<ListBucketResult>`)
		for _, k := range slices.Sorted(maps.Keys(f.objects)) {
			if strings.HasPrefix(k, r.URL.Query().Get("prefix")) {
				fmt.Fprintf(w, `<Contents><Key>%s</Key><Size>%d</Size><ETag>&quot;%x&quot;</ETag><LastModified>2026-01-02T03:04:05Z</LastModified></Contents>`, k, len(f.objects[k]), md5.Sum(f.objects[k]))
			}
		}
		fmt.Fprint(w, `</ListBucketResult>`)
		return
	}
	if r.Method == http.MethodPut {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		f.objects[key] = data
	}
	data, ok := f.objects[key]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `<Error><Code>NoSuchKey</Code></Error>`)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, md5.Sum(data)))
	if r.Method == http.MethodPut {
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if r.Method == http.MethodGet {
		w.Write(data)
	}
}

// Two processes make the key of a target at once, on a store that has the last of both. What each has sealed is opened, by
// readers of either and by new ones, also when the store has lost the key that is in use.
func TestTwoKeysOnAStoreWithoutConditions(t *testing.T) {
	store := &forgetful{objects: map[string][]byte{}}
	server := httptest.NewServer(store)
	defer server.Close()
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
	b, err := storage.NewBuckets().Open(t.Context(), services.S3URL(server.URL, "b"))
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]byte
	for range 3 {
		r := records()[0]
		if err := sitekey.NewWriter(b).Result(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
		written := r.Written()
		line, err := json.Marshal(&written)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
		store.mu.Lock()
		delete(store.objects, jobs.SiteKey) // the next one has looked before it was there
		store.mu.Unlock()
	}
	if _, err := sitekey.Open(t.Context(), b, jobs.SiteKey, true); err != nil { // as the last one's write
		t.Fatal(err)
	}
	if bytes.Equal(lines[0], lines[1]) {
		t.Fatal("both have one key, so nothing is tried")
	}
	one := sitekey.NewReader(t.Context(), b)
	for range 2 {
		for i, line := range lines {
			for _, r := range []*sitekey.Reader{one, sitekey.NewReader(t.Context(), b)} {
				if opened, err := r.Line(line); err != nil || !bytes.HasPrefix(opened, []byte(`{"key":"`)) {
					t.Errorf("record %d: %s, %v", i, opened, err)
				}
			}
		}
	}
	other := records()[0]
	if err := sitekey.New([32]byte{1}).SealResult(&other); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Unseal(other.Sealed); err == nil {
		t.Error("a text is opened that none of the keys has sealed")
	}
}
