package queue

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/internal/services"
	"github.com/pelmill/pelmill/jobs"
)

// kinds are the ways to have a Redis. Every test in surface runs on each.
var kinds = []struct {
	name string
	url  func(t *testing.T) string
}{
	{"embedded", func(t *testing.T) string { return "" }},
	{"single", func(t *testing.T) string { return services.Redis(t).URL() }},
	{"password", func(t *testing.T) string {
		return "redis://:p%2Fw%3F%40@" + services.Redis(t, "--requirepass", "p/w?@").Addr() + "/3"
	}},
	// A user that may do no more than needed; the tests themselves flush and look.
	{"user", func(t *testing.T) string {
		r := services.Redis(t)
		r.CLI("acl", "setuser", "worker", "on", ">secret", "~asynq:*", "~pelmill:*", "&asynq:*",
			"+@all", "-@admin", "-@dangerous", "+info", "+flushall", "+keys")
		return "redis://worker:secret@" + r.Addr()
	}},
	{"unix", func(t *testing.T) string {
		dir, err := os.MkdirTemp("", "redis") // short: the path of a socket has at most 107 bytes
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		path := filepath.Join(dir, "s")
		services.Redis(t, "--unixsocket", path)
		return "unix://" + path + "?db=2"
	}},
	{"tls", func(t *testing.T) string {
		cert, key := certificate(t)
		port := services.FreePort(t)
		services.Redis(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", cert, "--tls-key-file", key,
			"--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
		return fmt.Sprintf("rediss://127.0.0.1:%d/0?ca=%s", port, cert)
	}},
	{"sentinel", func(t *testing.T) string { return services.RedisSentinel(t).URL() }},
	{"cluster", func(t *testing.T) string { return services.RedisCluster(t).URL() }},
}

func TestSurface(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			if testing.Short() && k.name != "embedded" && k.name != "single" {
				t.Skip("NOT TESTED: starts more than one Redis: not with -short")
			}
			t.Parallel()
			c := open(t, k.url(t))
			for _, s := range surface {
				t.Run(s.name, func(t *testing.T) {
					flush(t, c)
					s.test(t, c)
				})
			}
		})
	}
}

// open opens a Redis and closes it with the test.
func open(t testing.TB, url string) *Conn {
	t.Helper()
	c, err := Open(t.Context(), url, &Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// masters calls fn for each server that holds data.
func masters(t testing.TB, c *Conn, fn func(ctx context.Context, node *redis.Client) error) {
	t.Helper()
	var err error
	if cc, ok := c.Redis().(*redis.ClusterClient); ok {
		err = cc.ForEachMaster(t.Context(), fn)
	} else {
		err = fn(t.Context(), c.Redis().(*redis.Client))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func flush(t testing.TB, c *Conn) {
	t.Helper()
	masters(t, c, func(ctx context.Context, node *redis.Client) error { return node.FlushAll(ctx).Err() })
	c.seen = [jobs.Priorities]snapshot{} // what is older than snapshotAge
	for p := range jobs.Priorities {
		// asynq's inspector wants to know the queues; its client tells it once.
		if err := c.Redis().SAdd(t.Context(), "asynq:queues", queueName(p)).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// keys lists the keys of all servers.
func keys(t testing.TB, c *Conn, pattern string) []string {
	t.Helper()
	var all []string
	found := make(chan []string, 100)
	masters(t, c, func(ctx context.Context, node *redis.Client) error {
		k, err := node.Keys(ctx, pattern).Result()
		found <- k
		return err
	})
	close(found)
	for k := range found {
		all = append(all, k...)
	}
	return all
}

func task(i int) jobs.Task {
	return jobs.Task{Job: "20260102-030405-abcd", Index: i}
}

func enqueue(t testing.TB, c *Conn, priority int, tasks ...jobs.Task) {
	t.Helper()
	for _, task := range tasks {
		if err := c.Tasks(priority).Enqueue(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v: want %v", err, want)
	}
}

func wantState(t testing.TB, c *Conn, priority int, task jobs.Task, want string) {
	t.Helper()
	if got, err := c.Tasks(priority).State(t.Context(), task); err != nil || got != want {
		t.Fatalf("task %s is %q, %v: want %q", task.ID(), got, err, want)
	}
}

func wantDepth(t testing.TB, c *Conn, priority int, want Depth) {
	t.Helper()
	if got, err := c.Tasks(priority).Depth(t.Context()); err != nil || got != want {
		t.Fatalf("depth %+v, %v: want %+v", got, err, want)
	}
}

// until waits for something that must come to be.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

// certificate writes a certificate for 127.0.0.1 that signs itself.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", pkcs8)
}
