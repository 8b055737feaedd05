package services

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// MotoServer is a process of moto, which implements services of Amazon, SQS among them.
type MotoServer struct {
	*process
	Port int
}

// Moto starts moto's server.
func Moto(t testing.TB) *MotoServer {
	t.Helper()
	m := &MotoServer{Port: FreePort(t)}
	path := inTools(t, "moto", "bin", "moto_server")
	m.process = newProcess(t, path, t.TempDir(), listening("127.0.0.1:"+strconv.Itoa(m.Port)), "-H", "127.0.0.1", "-p", strconv.Itoa(m.Port))
	m.Start()
	return m
}

// URL returns http://host:port.
func (m *MotoServer) URL() string { return "http://127.0.0.1:" + strconv.Itoa(m.Port) }

// inTools finds a file below .tools, or ends the test.
func inTools(t testing.TB, path ...string) string {
	t.Helper()
	at := filepath.Join(append([]string{Root(t), ".tools"}, path...)...)
	if _, err := os.Stat(at); err != nil {
		Missing(t, "%s is not in .tools/; run make services", filepath.Join(path...))
	}
	return at
}

// ServiceBusServer is a stand-in for a subscription of Azure Service Bus, testdata/servicebus.py: it speaks AMQP 1.0 with
// Apache's Qpid Proton, and of Azure's own only what a receiver that locks messages needs.
type ServiceBusServer struct {
	// Connection is for SERVICEBUS_CONNECTION_STRING.
	Connection string

	t   testing.TB
	mu  sync.Mutex
	in  *json.Encoder
	out *bufio.Scanner
}

// ServiceBus starts the stand-in with a topic's subscription.
func ServiceBus(t testing.TB, topic, subscription string) *ServiceBusServer {
	t.Helper()
	port := FreePort(t)
	cmd := exec.Command(inTools(t, "qpid-proton", "bin", "python3"), filepath.Join(Root(t), "internal", "services", "testdata", "servicebus.py"),
		"127.0.0.1:"+strconv.Itoa(port), topic+"/Subscriptions/"+subscription)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close() // which ends it, also when the test process dies
		cmd.Wait()
	})
	s := &ServiceBusServer{t: t, in: json.NewEncoder(in), out: bufio.NewScanner(out),
		Connection: fmt.Sprintf("Endpoint=sb://127.0.0.1:%d;SharedAccessKeyName=name;SharedAccessKey=key;UseDevelopmentEmulator=true", port)}
	s.ask(map[string]any{}) // it listens
	return s
}

// ask sends a request and gives the numbers of messages that wait and of those that are locked.
func (s *ServiceBusServer) ask(request any) (waiting, locked int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.in.Encode(request); err != nil {
		s.t.Fatalf("services: service bus: %v", err)
	}
	var answer struct{ Waiting, Locked int }
	if !s.out.Scan() {
		s.t.Fatalf("services: service bus has ended: %v", s.out.Err())
	}
	if err := json.Unmarshal(s.out.Bytes(), &answer); err != nil {
		s.t.Fatalf("services: service bus: %s: %v", s.out.Bytes(), err)
	}
	return answer.Waiting, answer.Locked
}

// Send puts a message into the subscription.
func (s *ServiceBusServer) Send(body string) { s.t.Helper(); s.ask(map[string]string{"send": body}) }

// Left is how many messages wait and how many are locked by a receiver, which has not settled them.
func (s *ServiceBusServer) Left() (waiting, locked int) {
	s.t.Helper()
	return s.ask(map[string]any{})
}
