package queue

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/pelmill/pelmill/internal/services"
)

func TestCheckVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"6.2.0": true, "6.2": true, "7.0.15": true, "8.4.0": true, "10.0.0": true,
		"6.0.16": false, "5.0.14": false, "4.0.9": false, "2.8.19": false,
		"": true, "unstable": true, "255.255.255": true,
	} {
		err := checkVersion("redis://h:1", version)
		if (err == nil) != ok {
			t.Errorf("version %q: %v", version, err)
		}
		if err != nil && (!strings.Contains(err.Error(), version) || !strings.Contains(err.Error(), "6.2 or later")) {
			t.Errorf("version %q: %v: want both versions named", version, err)
		}
	}
}

func TestInfoFields(t *testing.T) {
	got := infoFields("# Server\r\nredis_version:7.0.15\r\n\r\n# Memory\r\nused_memory:17\r\nos:Linux: x\r\nnothing\r\n")
	want := map[string]string{"redis_version": "7.0.15", "used_memory": "17", "os": "Linux: x"}
	if len(got) != len(want) {
		t.Fatalf("%v: want %v", got, want)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %q: want %q", k, got[k], v)
		}
	}
}

// info starts a Redis that answers INFO as told.
func info(t *testing.T, answer func(p *server.Peer)) string {
	t.Helper()
	m := miniredis.RunT(t)
	m.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
		if !strings.EqualFold(cmd, "info") {
			return false
		}
		answer(p)
		return true
	})
	return "redis://" + m.Addr()
}

func TestOpenOldRedis(t *testing.T) {
	url := info(t, func(p *server.Peer) { p.WriteBulk("# Server\r\nredis_version:6.0.16\r\n") })
	_, err := Open(t.Context(), url, nil)
	if err == nil || !strings.Contains(err.Error(), "6.0.16") {
		t.Fatalf("opened: %v", err)
	}
}

func TestOpenWithoutInfo(t *testing.T) {
	url := info(t, func(p *server.Peer) { p.WriteError("NOPERM this user has no permissions to run the 'info' command") })
	c := open(t, url)
	if version, err := c.Version(t.Context()); err != nil || version != "" {
		t.Errorf("version %q, %v", version, err)
	}
	if used, max, err := c.Memory(t.Context()); err != nil || used != 0 || max != 0 {
		t.Errorf("memory %d of %d, %v: want unknown", used, max, err)
	}
	if policy, err := c.Policy(t.Context()); err != nil || policy != "" {
		t.Errorf("policy %q, %v: want unknown", policy, err)
	}
}

func TestMemory(t *testing.T) {
	url := info(t, func(p *server.Peer) {
		p.WriteBulk("redis_version:7.2.0\r\nused_memory:700\r\nmaxmemory:1000\r\nmaxmemory_policy:allkeys-lru\r\n")
	})
	c := open(t, url)
	if used, max, err := c.Memory(t.Context()); err != nil || used != 700 || max != 1000 {
		t.Errorf("memory %d of %d, %v", used, max, err)
	}
	if policy, err := c.Policy(t.Context()); err != nil || policy != "allkeys-lru" {
		t.Errorf("policy %q, %v", policy, err)
	}
}

// TestMemoryOfCluster: the fullest shard counts, and the worst policy.
func TestMemoryOfCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: starts three Redis: not with -short")
	}
	t.Parallel()
	cluster := services.RedisCluster(t)
	c := open(t, cluster.URL())
	cluster.Nodes[0].CLI("config", "set", "maxmemory", "1gb")
	cluster.Nodes[1].CLI("config", "set", "maxmemory", "20mb")
	cluster.Nodes[1].CLI("config", "set", "maxmemory-policy", "allkeys-lru")
	used, max, err := c.Memory(t.Context())
	if err != nil || used == 0 || max != 20<<20 {
		t.Errorf("memory %d of %d, %v: want that of the second master", used, max, err)
	}
	if policy, err := c.Policy(t.Context()); err != nil || policy != "allkeys-lru" {
		t.Errorf("policy %q, %v", policy, err)
	}
}

func TestFuller(t *testing.T) {
	tests := []struct {
		u, m, used, max int64
		want            bool
	}{
		{5, 10, 0, 0, true}, {5, 0, 0, 0, true}, {5, 0, 9, 10, false}, {5, 10, 9, 0, true},
		{5, 10, 4, 10, true}, {5, 10, 5, 10, false}, {50, 1000, 9, 10, false}, {3, 0, 4, 0, false},
	}
	for _, test := range tests {
		if got := fuller(test.u, test.m, test.used, test.max); got != test.want {
			t.Errorf("%d of %d is fuller than %d of %d: %v", test.u, test.m, test.used, test.max, got)
		}
	}
}

func TestClockSkew(t *testing.T) {
	c := open(t, "")
	for _, skew := range []time.Duration{-time.Hour, 0, time.Hour} {
		c.embedded.SetTime(time.Now().Add(skew))
		got, err := c.Clock(t.Context())
		if err != nil || (got-skew).Abs() > time.Minute {
			t.Errorf("skew %v, %v: want %v", got, err, skew)
		}
	}
}

func TestEmbeddedIsPrivate(t *testing.T) {
	c, other := open(t, ""), open(t, "")
	addr, err := net.ResolveTCPAddr("tcp", c.address.hosts[0])
	if err != nil {
		t.Fatal(err)
	}
	if addr == nil || !addr.IP.IsLoopback() {
		t.Fatalf("listens on %v", addr)
	}
	for name, password := range map[string]string{"none": "", "a guess": "pelmill", "that of another": other.address.password} {
		stranger := redis.NewClient(&redis.Options{Addr: addr.String(), Password: password})
		if err := stranger.Get(context.Background(), "pelmill:jobs").Err(); err == nil || err == redis.Nil {
			t.Errorf("password %s: served: %v", name, err)
		}
		stranger.Close()
	}
	if strings.Contains(c.String(), c.address.password) || len(c.address.password) < 32 {
		t.Error("the password is shown or short")
	}
}

// TestEmbeddedExpires: without it a leader's lock would last for ever.
func TestEmbeddedExpires(t *testing.T) {
	c := open(t, "")
	ctx := t.Context()
	for key, ttl := range map[string]time.Duration{"short": 2 * ttlTick, "long": time.Hour} {
		if err := c.Redis().Set(ctx, key, "v", ttl).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(time.Minute); c.Redis().Exists(ctx, "short").Val() != 0; time.Sleep(ttlTick / 5) {
		if time.Now().After(deadline) {
			t.Fatal("a key outlived its time by a minute")
		}
	}
	if left := c.Redis().TTL(ctx, "long").Val(); left <= 0 || left > time.Hour {
		t.Errorf("%v are left of an hour", left)
	}
}
