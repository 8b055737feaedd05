package queue

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	tests := []struct {
		url  string
		want address
		tls  bool
	}{
		{"redis://h", address{kind: single, hosts: []string{"h:6379"}}, false},
		{"redis://h/", address{kind: single, hosts: []string{"h:6379"}}, false},
		{"redis://h:1/7", address{kind: single, hosts: []string{"h:1"}, db: 7}, false},
		{"redis://h?db=7", address{kind: single, hosts: []string{"h:6379"}, db: 7}, false},
		{"redis://[::1]:1", address{kind: single, hosts: []string{"[::1]:1"}}, false},
		{"redis://[::1]", address{kind: single, hosts: []string{"[::1]:6379"}}, false},
		{"redis://:a%40%2F%3Fb@h", address{kind: single, hosts: []string{"h:6379"}, password: "a@/?b"}, false},
		{"redis://u:a:b@c@h", address{kind: single, hosts: []string{"h:6379"}, user: "u", password: "a:b@c"}, false},
		{"rediss://u:p@h:1", address{kind: single, hosts: []string{"h:1"}, user: "u", password: "p"}, true},
		{"unix:///run/redis@1.sock?db=2", address{kind: socket, hosts: []string{"/run/redis@1.sock"}, db: 2}, false},
		{"redis-socket:///s", address{kind: socket, hosts: []string{"/s"}}, false},
		{"unix://:p@/s", address{kind: socket, hosts: []string{"/s"}, password: "p"}, false},
		{"redis-sentinel://a,b:1,c/m", address{kind: sentinel, hosts: []string{"a:26379", "b:1", "c:26379"}, master: "m"}, false},
		{"redis-sentinel://u:p@a/m?db=1&sentinel_user=x&sentinel_password=y%40z",
			address{kind: sentinel, hosts: []string{"a:26379"}, user: "u", password: "p", master: "m", db: 1, sentinelUser: "x", sentinelPassword: "y@z"}, false},
		{"redis-cluster://:p@a:1,[::1]:2", address{kind: cluster, hosts: []string{"a:1", "[::1]:2"}, password: "p"}, false},
		{"rediss-cluster://a", address{kind: cluster, hosts: []string{"a:6379"}}, true},
	}
	for _, test := range tests {
		got, err := parseAddress(test.url)
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
			continue
		}
		if (got.tls != nil) != test.tls || got.tls != nil && got.kind == single && got.tls.ServerName != "h" {
			t.Errorf("%s: TLS %+v", test.url, got.tls)
		}
		w := test.want
		if got.kind != w.kind || !slices.Equal(got.hosts, w.hosts) || got.user != w.user || got.password != w.password || got.master != w.master ||
			got.db != w.db || got.sentinelUser != w.sentinelUser || got.sentinelPassword != w.sentinelPassword {
			t.Errorf("%s: %+v: want %+v", test.url, *got, w)
		}
		if again, err := parseAddress(got.String()); err != nil || again.kind != got.kind || !slices.Equal(again.hosts, got.hosts) {
			t.Errorf("%s: %s does not parse to the same: %v", test.url, got, err)
		}
	}
}

// TestParseAddressErrors: what is wrong is said, and the password is not.
func TestParseAddressErrors(t *testing.T) {
	noPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(noPEM, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ url, say string }{
		{"localhost:6379", "want redis"},
		{"http://h", "http"},
		{"user:hunter2@h:6379", "want redis"},
		{"redis:hunter2@h://", "want redis"},
		{"redis://", "no host"},
		{"redis://hunter2@h", ":password@"},
		{"redis://:hunter2@h:99999", "99999"},
		{"redis://:hunter2@h:x", `"x"`},
		{"redis://:hunter2@h/x", "number of a database"},
		{"redis://:hunter2@h/-1", "number of a database"},
		{"redis://:hunter2@h?db=x", "db"},
		{"redis://:hunter2@h?colour=blue", "colour"},
		{"redis://:hunter2@h?ca=x", "ca"},
		{"redis://:hunter2@a,b", "one host"},
		{"redis://:hunter2/x@h", "percent-encoded"},
		{"redis://:x/hunter2@h", "percent-encoded"},
		{"redis://u:x/hunter2@h", "percent-encoded"},
		{"redis://:hunter2?x@h", "percent-encoded"},
		{"redis://:x?hunter2@h", "percent-encoded"},
		{"redis://u:x?hunter2@h", "percent-encoded"},
		{"redis://u:hunter2?x@h", "percent-encoded"},
		{"redis://h?hunter2@h", "percent-encoded"},
		{"redis://:hunter2%zz@h", "percent-encoded"},
		{"rediss://:hunter2@h?ca=/none", "/none"},
		{"rediss://:hunter2@h?ca=" + noPEM, "no certificate"},
		{"unix://hunter2:x@h/s", "/path/to/socket"},
		{"unix:///", "/path/to/socket"},
		{"redis-sentinel://:hunter2@h", "name of the master"},
		{"redis-sentinel://:hunter2@h/a/b", "name of the master"},
		{"redis-sentinel://h/m?sentinel_password=hunter2&x=y", `"x"`},
		{"redis-cluster://:hunter2@h/1", "no path"},
		{"redis-cluster://:hunter2@h?db=1", "database 0 only"},
		{"redis-cluster://:hunter2@h,,i", "no host"},
		{"redis://:hunter2@::1", "host:port"},
	}
	for _, test := range tests {
		_, err := parseAddress(test.url)
		switch {
		case err == nil:
			t.Errorf("%s was taken", test.url)
		case strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: the error shows the password: %v", test.url, err)
		case !strings.Contains(err.Error(), test.say):
			t.Errorf("%s: %v: want it to say %q", test.url, err, test.say)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"h", "h:1/2", "a,b/m?db=1", "/s", "[::1]:1", "h?ca=x", "x@y@z", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const secret = "hunter2-is-secret"
		for scheme := range schemes {
			a, err := parseAddress(scheme + "://user:" + secret + "@" + s)
			if err != nil {
				if strings.Contains(err.Error(), secret) {
					t.Fatalf("%q: the error shows the password: %v", s, err)
				}
				continue
			}
			if len(a.hosts) == 0 {
				t.Fatalf("%q: no hosts", s)
			}
			if strings.Contains(a.String(), secret) {
				t.Fatalf("%q: %s shows the password", s, a)
			}
		}
	})
}
