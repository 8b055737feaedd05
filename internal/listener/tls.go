package listener

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// TLS is the configuration of a server from files in PEM. The certificate and its key are read again when the file of
// the certificate has changed: certificates are renewed while a server runs. clientCA has the authorities of client
// certificates; with an empty one these are not asked for.
func TLS(cert, key, clientCA string) (*tls.Config, error) {
	pair := &certificate{cert: cert, key: key}
	if _, err := pair.get(nil); err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.get}
	if clientCA == "" {
		return c, nil
	}
	data, err := os.ReadFile(clientCA)
	if err != nil {
		return nil, err
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s has no certificate in PEM", clientCA)
	}
	c.ClientAuth = tls.VerifyClientCertIfGiven // who has none may have a token
	return c, nil
}

// certificate is that of a server.
type certificate struct {
	cert, key string

	mu      sync.Mutex
	changed time.Time
	pair    *tls.Certificate
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.cert)
	if err == nil && !info.ModTime().Equal(c.changed) {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(c.cert, c.key); err == nil {
			c.pair, c.changed = &pair, info.ModTime()
		}
	}
	if c.pair == nil {
		return nil, errors.Join(errors.New("no certificate"), err)
	}
	return c.pair, nil
}

// Limit accepts so many connections at once; others wait in the queue of the system.
func Limit(l net.Listener, most int) net.Listener {
	return &limitedListener{Listener: l, free: make(chan struct{}, most)}
}

type limitedListener struct {
	net.Listener
	free chan struct{}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.free })}, nil
}

type limitedConn struct {
	net.Conn
	leave func()

	mu   sync.Mutex
	held *[]byte // see Hold; nil: nothing is held
}

func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// ErrorLog takes what net/http says of connections: it is what clients do, and no error of the server.
func ErrorLog(to *slog.Logger) *log.Logger { return log.New(&errorLog{to}, "", 0) }

type errorLog struct{ log *slog.Logger }

func (e *errorLog) Write(line []byte) (int, error) {
	e.log.Debug("connection", "says", string(line))
	return len(line), nil
}
