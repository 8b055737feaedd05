package intake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Bounds of the webhook.
const (
	webhookClients = 256              // requests at once, those that wait for their batch included
	webhookWait    = 25 * time.Second // longest wait for the batch; senders give up after 3 to 30 s
	webhookRead    = 10 * time.Second // longest time to send a message
	webhookRetry   = "15"             // seconds after which a sender should try again
)

// gridValidation is the kind of the event by which Azure Event Grid asks whether the endpoint wants events.
const gridValidation = "Microsoft.EventGrid.SubscriptionValidationEvent"

// Webhook takes messages by POST, to any path. It answers 200 when the batch with all objects of the message is
// stored, or there is nothing to do, and 503 where that takes longer or the spool is full: the sender tries again, and
// what came twice is done once. A sender that hangs up has its message taken all the same.
type Webhook struct {
	Address string // host:port; without a host: loopback
	Token   string // that requests must show as bearer or as password of basic authentication; empty: none

	log    *slog.Logger
	wait   time.Duration // webhookWait, but in tests
	listen net.Listener  // of tests; nil: Address
}

// Check refuses to listen to everybody without a token.
func (w *Webhook) Check() error {
	host, port, err := net.SplitHostPort(w.Address)
	if err != nil {
		host, port = "", w.Address
	}
	if host == "" {
		host = "127.0.0.1"
	}
	ip := net.ParseIP(host)
	if w.Token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("intake: webhook at %s: without a token only loopback is served", w.Address)
	}
	w.Address = net.JoinHostPort(host, port)
	return nil
}

// Run serves until ctx ends.
func (w *Webhook) Run(ctx context.Context, to *Spool) error {
	l := w.listen
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", w.Address); err != nil {
			return fmt.Errorf("intake: webhook at %s: %w", w.Address, err)
		}
	}
	server := &http.Server{
		Handler: w.handler(ctx, newInbox(to)), ReadHeaderTimeout: webhookRead, ReadTimeout: webhookRead, WriteTimeout: webhookRead + 2*webhookWait,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(w.log.Handler(), slog.LevelDebug),
	}
	w.log.Info("webhook", "address", l.Addr().String())
	var serving sync.WaitGroup
	defer serving.Wait()
	defer context.AfterFunc(ctx, func() { server.Close() })()
	serving.Go(func() { <-ctx.Done() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("intake: webhook at %s: %w", w.Address, err)
	}
	return nil
}

func (w *Webhook) handler(ctx context.Context, in *inbox) http.Handler {
	clients := make(chan struct{}, webhookClients)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Cache-Control", "no-store")
		if !w.allowed(r) {
			rw.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(rw, "a token is needed", http.StatusUnauthorized)
			return
		}
		select {
		case clients <- struct{}{}:
			defer func() { <-clients }()
		default:
			w.later(rw, in)
			return
		}
		switch r.Method {
		case http.MethodPost:
			w.post(ctx, rw, r, in)
		case http.MethodOptions: // CloudEvents, 3.1 of the webhook's specification: who may send
			rw.Header().Set("WebHook-Allowed-Origin", "*")
			rw.Header().Set("Allow", "POST, OPTIONS")
		default:
			rw.Header().Set("Allow", "POST, OPTIONS")
			http.Error(rw, "want POST", http.StatusMethodNotAllowed)
		}
	})
}

// allowed compares tokens in constant time.
func (w *Webhook) allowed(r *http.Request) bool {
	if w.Token == "" {
		return true
	}
	shown, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, password, ok := r.BasicAuth(); ok && !bearer {
		shown = password
	}
	a, b := sha256.Sum256([]byte(shown)), sha256.Sum256([]byte(w.Token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// later asks the sender to try again.
func (w *Webhook) later(rw http.ResponseWriter, in *inbox) {
	in.spool.metrics.hint(hintFull)
	rw.Header().Set("Retry-After", webhookRetry)
	http.Error(rw, "not stored yet", http.StatusServiceUnavailable)
}

func (w *Webhook) post(ctx context.Context, rw http.ResponseWriter, r *http.Request, in *inbox) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxMessage))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			http.Error(rw, "the message is too large", http.StatusRequestEntityTooLarge)
		}
		return // the connection is broken, or too slow
	}
	if answer := validation(body); answer != nil {
		rw.Header().Set("Content-Type", "application/json")
		rw.Write(answer)
		return
	}
	w.confirmation(body)
	stored := make(chan struct{})
	var once sync.Once
	// A message of which a part was taken is not done.
	full, err := in.deliver(ctx, body, attributes(r.Header), false, func() { once.Do(func() { close(stored) }) })
	if full || err != nil {
		w.later(rw, in)
		return
	}
	wait := w.wait
	if wait == 0 {
		wait = webhookWait
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-stored:
		rw.WriteHeader(http.StatusOK)
	case <-t.C:
		w.later(rw, in)
	case <-ctx.Done():
		w.later(rw, in)
	case <-r.Context().Done():
	}
}

// attributes are those of Google's notifications, where they come as headers.
func attributes(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"bucketId", "objectId", "eventType"} {
		if v := h.Get("X-Goog-Pubsub-Attribute-" + name); v != "" {
			out[name] = v
		}
	}
	return out
}

// validation answers the question of Azure Event Grid; nil: the message is another one.
func validation(body []byte) []byte {
	if !bytes.Contains(body, []byte(gridValidation)) {
		return nil
	}
	var events []struct {
		EventType string `json:"eventType"`
		Data      struct {
			Code string `json:"validationCode"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &events) != nil || len(events) != 1 || events[0].EventType != gridValidation {
		return nil
	}
	answer, _ := json.Marshal(map[string]string{"validationResponse": events[0].Data.Code})
	return answer
}

// confirmation says what to do about a question of Amazon SNS. The address in it is not visited: anybody could have
// sent it.
func (w *Webhook) confirmation(body []byte) {
	if !bytes.Contains(body, []byte("SubscriptionConfirmation")) {
		return
	}
	var m struct{ Type, TopicArn string }
	if json.Unmarshal(body, &m) == nil && m.Type == "SubscriptionConfirmation" {
		w.log.Warn("Amazon SNS asks to confirm a subscription; confirm it with aws sns confirm-subscription", "topic", m.TopicArn)
	}
}
