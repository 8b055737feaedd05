package notify

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Secrets sign: a message has a signature of each, so that a receiver can change from one to another.
type Secrets [][]byte

// Bounds of a file of secrets. Standard Webhooks wants 24 to 64 bytes.
const (
	mostSecrets   = 4
	leastSecret   = 24
	longestSecret = 64
	secretFile    = 4096
)

// secretPrefix marks a secret in the notation of Standard Webhooks; base64 follows.
const secretPrefix = "whsec_"

// ReadSecrets reads a file with a secret a line, whsec_ and base64; the first ones are the newest. Errors name the line and
// nothing of it.
func ReadSecrets(file string) (Secrets, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("notify: secrets: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, secretFile+1))
	if err != nil {
		return nil, fmt.Errorf("notify: secrets: %w", err)
	}
	if len(data) > secretFile {
		return nil, fmt.Errorf("notify: secrets: %s has more than %d bytes", file, secretFile)
	}
	secrets, err := parseSecrets(data)
	if err != nil {
		return nil, fmt.Errorf("notify: secrets: %s: %w", file, err)
	}
	return secrets, nil
}

func parseSecrets(data []byte) (secrets Secrets, err error) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		text, ok := strings.CutPrefix(text, secretPrefix)
		secret, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil || len(secret) < leastSecret || len(secret) > longestSecret {
			return nil, fmt.Errorf("line %d: want %s and the base64 of %d to %d random bytes", n, secretPrefix, leastSecret, longestSecret)
		}
		secrets = append(secrets, secret)
	}
	switch {
	case len(secrets) == 0:
		return nil, errors.New("no secret")
	case len(secrets) > mostSecrets:
		return nil, fmt.Errorf("%d secrets: want at most %d", len(secrets), mostSecrets)
	}
	return secrets, nil
}

// sign gives the value of webhook-signature.
func (s Secrets) sign(id string, at time.Time, body []byte) string {
	var all []string
	for _, secret := range s {
		m := hmac.New(sha256.New, secret)
		io.WriteString(m, id+"."+strconv.FormatInt(at.Unix(), 10)+".")
		m.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(m.Sum(nil)))
	}
	return strings.Join(all, " ")
}
