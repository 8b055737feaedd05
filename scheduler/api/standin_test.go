package api_test

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
)

// standInAt marks the process that becomes the stand-in server: the address where it listens, a space, and the file with
// what it answers.
const standInAt = "PELMILL_STAND_IN"

func TestMain(m *testing.M) {
	if address, file, ok := strings.Cut(os.Getenv(standInAt), " "); ok {
		fmt.Fprintln(os.Stderr, standIn(address, file))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// standIn serves what every server must at least: it answers each request with the same bytes, those of a file,
// without looking at it, and sends its body once a second to who asked for events. What readers and the network of the
// machine cost is the same as with a real server. The file is read again once a second.
func standIn(address, file string) error {
	type texts struct{ answer, chunk []byte }
	var now atomic.Pointer[texts]
	read := func() error {
		answer, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		_, job, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
		event := append(append([]byte("event: status\nid: 0123456789abcdef\ndata: "), job...), '\n')
		now.Store(&texts{answer, fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event)})
		return nil
	}
	if err := read(); err != nil {
		return err
	}
	go func() { // ends with the process
		for read() == nil {
			time.Sleep(time.Second)
		}
	}()
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() { // ends with the process
			defer conn.Close()
			for r := bufio.NewReader(conn); ; {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				events := strings.Contains(line, "/events ")
				for len(line) > len("\r\n") {
					if line, err = r.ReadString('\n'); err != nil {
						return
					}
				}
				if !events {
					if _, err := conn.Write(now.Load().answer); err != nil {
						return
					}
					continue
				}
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
				for {
					if _, err := conn.Write(now.Load().chunk); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}
		}()
	}
}

// startStandIn starts it as a process of its own that answers with answer, until tell gives it another one. It gives the
// process and its address.
func startStandIn(t testing.TB, answer []byte) (p *faults.Process, server string, tell func(answer []byte)) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", services.FreePort(t))
	file := filepath.Join(t.TempDir(), "answer")
	tell = func(answer []byte) {
		if err := cmp.Or(os.WriteFile(file+".new", answer, 0o666), os.Rename(file+".new", file)); err != nil {
			t.Fatal(err)
		}
	}
	tell(answer)
	p = faults.Start(t, "stand-in", []string{standInAt + "=" + address + " " + file}, self)
	faults.Until(t, time.Minute, "the stand-in", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return p, "http://" + address, tell
}
