package services

import (
	"strconv"
	"testing"
)

// NATSServer is a nats-server process, without streams: what nobody receives is gone. Start, Stop, Kill, Pause and
// Resume act on the process; it comes back on the same port.
type NATSServer struct {
	*process
	Port int
}

// NATS starts a nats-server.
func NATS(t testing.TB) *NATSServer {
	t.Helper()
	n := &NATSServer{Port: FreePort(t)}
	addr := "127.0.0.1:" + strconv.Itoa(n.Port)
	n.process = newProcess(t, program(t, "nats-server"), t.TempDir(), listening(addr), "--addr", "127.0.0.1", "--port", strconv.Itoa(n.Port))
	n.Start()
	return n
}

// URL returns nats://host:port.
func (n *NATSServer) URL() string { return "nats://127.0.0.1:" + strconv.Itoa(n.Port) }
