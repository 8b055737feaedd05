package services_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/services"
)

func TestRedisComesBackOnItsPort(t *testing.T) {
	r := services.Redis(t, "--appendonly", "yes")
	r.CLI("set", "k", "v")
	r.Stop()
	if r.Running() {
		t.Fatal("runs after Stop")
	}
	r.Start()
	if got := r.CLI("get", "k"); got != "v" {
		t.Fatalf("after a restart with appendonly: %q", got)
	}
	r.Pause()
	r.Resume()
	r.CLI("flushall")
	if got := r.CLI("dbsize"); got != "0" {
		t.Fatal(got)
	}
}

func TestPortsAreGivenOnce(t *testing.T) {
	seen := map[int]bool{}
	for range 100 {
		port := services.FreePort(t)
		if seen[port] || port >= 32768 {
			t.Errorf("port %d, after %d others", port, len(seen))
		}
		seen[port] = true
	}
}

func TestSentinelFailsOver(t *testing.T) {
	s := services.RedisSentinel(t)
	if s.MasterAddr() != s.Master.Addr() {
		t.Fatal(s.MasterAddr())
	}
	s.Master.Kill()
	for end := time.Now().Add(3 * time.Minute); s.MasterAddr() != s.Replica.Addr(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no fail-over")
		}
	}
}

func TestClusterServesAllSlots(t *testing.T) {
	c := services.RedisCluster(t)
	if out := c.Nodes[1].CLI("cluster", "info"); !strings.Contains(out, "cluster_slots_ok:16384") {
		t.Fatal(out)
	}
}

func TestStoresStart(t *testing.T) {
	for name, start := range map[string]func(testing.TB) *services.Store{"versitygw": services.VersityGW, "fakegcs": services.FakeGCS, "azurite": services.Azurite} {
		t.Run(name, func(t *testing.T) {
			t.Log(start(t).NewBucket("pelmill-test"))
		})
	}
}
