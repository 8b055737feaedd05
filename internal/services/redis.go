package services

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// RedisServer is a redis-server process. Start, Stop, Kill, Pause and Resume act on the process; it comes back on the
// same port, empty unless its arguments make it persistent.
type RedisServer struct {
	*process
	Port int
}

// Redis starts a redis-server that writes nothing to disk and never evicts. Arguments are those of the program, such
// as "--maxmemory", "20mb", "--appendonly", "yes" or "--requirepass", "x".
func Redis(t testing.TB, args ...string) *RedisServer {
	t.Helper()
	r := newRedis(t, args...)
	r.Start()
	return r
}

func newRedis(t testing.TB, args ...string) *RedisServer {
	t.Helper()
	path := program(t, "redis-server")
	r := &RedisServer{Port: FreePort(t)}
	all := append([]string{"--port", strconv.Itoa(r.Port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--maxmemory-policy", "noeviction", "--daemonize", "no", "--repl-diskless-sync-delay", "0"}, args...)
	r.process = newProcess(t, path, t.TempDir(), func() error { return pong(r.Addr()) }, all...)
	return r
}

// Addr returns host:port.
func (r *RedisServer) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port)) }

// URL returns redis://host:port/0.
func (r *RedisServer) URL() string { return "redis://" + r.Addr() + "/0" }

// CLI runs one command through redis-cli and returns its answer, one line for each element.
func (r *RedisServer) CLI(args ...string) string {
	r.t.Helper()
	out, err := cli(r.t, r.Port, args...)
	if err != nil {
		r.t.Fatalf("services: redis-cli %q: %v: %s", args, err, out)
	}
	return out
}

func cli(t testing.TB, port int, args ...string) (string, error) {
	t.Helper()
	out, err := exec.Command(program(t, "redis-cli"), append([]string{"-p", strconv.Itoa(port)}, args...)...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err == nil && (strings.HasPrefix(text, "ERR ") || strings.HasPrefix(text, "(error)")) {
		err = errNotReady
	}
	return text, err
}

// pong asks a Redis whether it serves. One that wants a password does.
func pong(addr string) error {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(line, "+PONG") && !strings.HasPrefix(line, "-NOAUTH") {
		return fmt.Errorf("%w: %q", errNotReady, line)
	}
	return nil
}

// Sentinel is a master, a replica and three sentinels that watch them and fail over within seconds: late enough that a
// master which a busy machine keeps waiting is not taken for a dead one.
type Sentinel struct {
	Name            string   // of the master, as the sentinels know it
	Addrs           []string // of the sentinels
	Master, Replica *RedisServer

	t         testing.TB
	sentinels []*RedisServer
}

// RedisSentinel starts a Sentinel set-up. Kill or Pause the Master to make the Replica the new one.
func RedisSentinel(t testing.TB) *Sentinel {
	t.Helper()
	s := &Sentinel{Name: "pelmill", Master: Redis(t), t: t}
	s.Replica = Redis(t, "--replicaof", "127.0.0.1 "+strconv.Itoa(s.Master.Port))
	waitFor(t, "replica in sync", func() bool {
		return strings.Contains(s.Replica.CLI("info", "replication"), "master_link_status:up")
	})
	for range 3 {
		r := &RedisServer{Port: FreePort(t)}
		dir := t.TempDir()
		conf := filepath.Join(dir, "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\nsentinel monitor %s 127.0.0.1 %d 2\nsentinel down-after-milliseconds %s 4000\n"+
			"sentinel failover-timeout %s 10000\nsentinel parallel-syncs %s 1\n", r.Port, s.Name, s.Master.Port, s.Name, s.Name, s.Name)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.process = newProcess(t, program(t, "redis-server"), dir, func() error { return pong(r.Addr()) }, conf, "--sentinel")
		r.Start()
		s.sentinels = append(s.sentinels, r)
		s.Addrs = append(s.Addrs, r.Addr())
	}
	waitFor(t, "sentinels know each other and the replica", func() bool {
		for _, r := range s.sentinels {
			out := r.CLI("sentinel", "master", s.Name)
			if !field(out, "num-other-sentinels", "2") || !field(out, "num-slaves", "1") {
				return false
			}
		}
		return true
	})
	return s
}

// URL returns redis-sentinel://host:port,.../name.
func (s *Sentinel) URL() string {
	return "redis-sentinel://" + strings.Join(s.Addrs, ",") + "/" + s.Name
}

// MasterAddr returns the address that the sentinels give out now.
func (s *Sentinel) MasterAddr() string {
	s.t.Helper()
	lines := strings.Fields(s.sentinels[0].CLI("sentinel", "get-master-addr-by-name", s.Name))
	if len(lines) != 2 {
		s.t.Fatalf("services: sentinel gives no master: %q", lines)
	}
	return net.JoinHostPort(lines[0], lines[1])
}

// field looks for a name and the value on the next line in the answer of a sentinel.
func field(out, name, value string) bool {
	return strings.Contains("\n"+out+"\n", "\n"+name+"\n"+value+"\n")
}

// Cluster is three masters that share all slots, without replicas.
type Cluster struct {
	Addrs []string
	Nodes []*RedisServer
}

// RedisCluster starts a Cluster and waits until every node sees all slots served.
func RedisCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{}
	for range 3 {
		r := Redis(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(FreePort(t)), "--cluster-node-timeout", "30000")
		c.Nodes = append(c.Nodes, r)
		c.Addrs = append(c.Addrs, r.Addr())
	}
	args := append([]string{"--cluster", "create"}, c.Addrs...)
	if out, err := cli(t, c.Nodes[0].Port, append(args, "--cluster-replicas", "0", "--cluster-yes")...); err != nil {
		t.Fatalf("services: redis-cli --cluster create: %v: %s", err, out)
	}
	waitFor(t, "cluster_state:ok on all nodes", func() bool {
		for _, r := range c.Nodes {
			if out := r.CLI("cluster", "info"); !strings.Contains(out, "cluster_state:ok") || !strings.Contains(out, "cluster_known_nodes:3") {
				return false
			}
		}
		return true
	})
	return c
}

// URL returns redis-cluster://host:port,...
func (c *Cluster) URL() string { return "redis-cluster://" + strings.Join(c.Addrs, ",") }

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(startTimeout); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("services: not reached: %s", what)
		}
	}
}
