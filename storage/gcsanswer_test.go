//go:build !nogcs

package storage

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// An object of Google's that was composed of others has no MD5, but a CRC-32C of which its client says only with the end of
// the content whether it is right.
func TestReadsFromGoogleHaveTheirChecksum(t *testing.T) {
	for sum, want := range map[string]string{"4waSgw==": "", "4waShA==": "CRC"} { // of "123456789", and another one
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Goog-Hash", "crc32c="+sum)
			w.Header().Set("X-Goog-Generation", "1")
			w.Header().Set("X-Goog-Stored-Content-Encoding", "identity")
			w.Header().Set("X-Goog-Stored-Content-Length", "9")
			w.Header().Set("Last-Modified", "Fri, 27 Nov 2026 08:00:00 GMT")
			w.Header().Set("Content-Length", "9")
			io.WriteString(w, "123456789")
		}))
		t.Cleanup(server.Close)
		t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(server.URL, "http://"))
		bs := NewBuckets()
		t.Cleanup(func() { bs.Close() })
		bs.Retry = Retry{Attempts: 2, Initial: time.Millisecond, Max: time.Millisecond}
		b, err := bs.Open(t.Context(), "gs://bucket")
		if err != nil {
			t.Fatal(err)
		}
		got, err := Get(t.Context(), b, "k", -1, nil)
		switch {
		case want == "" && (err != nil || string(got.Data) != "123456789"):
			t.Errorf("%s: %q, %v", sum, got.Data, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !Temporary(err)):
			t.Errorf("%s: %q, %v", sum, got.Data, err)
		}
	}
}
