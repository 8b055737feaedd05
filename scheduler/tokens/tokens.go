// Package tokens reads files of bearer tokens. Such a file has a token a line:
//
//	# comment
//	ROLE SHA256 NAME
//
// ROLE is what the bearer may do, SHA256 the SHA-256 of the token in hexadecimal digits, NAME anything, for people. Tokens
// are random, so that one round of a hash is enough: openssl rand -hex 32. A file that changes is read again within a
// second; while what it has cannot be read, the tokens of before hold.
package tokens

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// File is a file of tokens. It is safe for concurrent use.
type File struct {
	file  string
	roles []string
	fault func(error)

	mu      sync.Mutex
	looked  time.Time
	changed time.Time // of the file
	size    int64
	list    []token
}

// Bearer is whom a token belongs to.
type Bearer struct{ Role, Name string }

type token struct {
	Bearer
	hash [sha256.Size]byte
}

// mostBytes bounds a file of tokens.
const mostBytes = 1 << 20

// Read reads a file whose lines have one of the given roles; fault is told when it cannot be read again later, and may
// be nil.
func Read(file string, roles []string, fault func(error)) (*File, error) {
	f := &File{file: file, roles: roles, fault: fault}
	return f, f.read()
}

func (f *File) read() error {
	info, err := os.Stat(f.file)
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	f.looked = time.Now()
	if info.ModTime().Equal(f.changed) && info.Size() == f.size {
		return nil
	}
	if info.Size() > mostBytes {
		return fmt.Errorf("tokens: %s has more than %d bytes", f.file, mostBytes)
	}
	data, err := os.ReadFile(f.file)
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	list, err := parse(data, f.roles)
	if err != nil {
		return fmt.Errorf("tokens: %s: %w", f.file, err)
	}
	f.list, f.changed, f.size = list, info.ModTime(), info.Size()
	return nil
}

// parse reads the lines of a file of tokens. Errors name the line and nothing of it, which may be a secret.
func parse(data []byte, roles []string) (list []token, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if !slices.Contains(roles, words[0]) {
			return nil, fmt.Errorf("line %d: want %s, the SHA-256 of the token, and a name", n, strings.Join(roles, " or "))
		}
		if len(words) < 2 {
			return nil, fmt.Errorf("line %d: no SHA-256", n)
		}
		hash, err := hex.DecodeString(words[1])
		if err != nil || len(hash) != sha256.Size {
			return nil, fmt.Errorf("line %d: the second word is no SHA-256, which has 64 hexadecimal digits", n)
		}
		list = append(list, token{Bearer{words[0], strings.Join(words[2:], " ")}, [sha256.Size]byte(hash)})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no token")
	}
	return list, nil
}

// Bearers are those whose token a text is. It takes as long for a text that is nearly right as for any other.
func (f *File) Bearers(text string) (all []Bearer) {
	f.mu.Lock()
	if time.Since(f.looked) > time.Second {
		if err := f.read(); err != nil {
			f.looked = time.Now()
			if f.fault != nil {
				f.fault(err)
			}
		}
	}
	list := slices.Clone(f.list)
	f.mu.Unlock()
	hash := sha256.Sum256([]byte(text))
	for _, known := range list {
		if subtle.ConstantTimeCompare(hash[:], known.hash[:]) == 1 {
			all = append(all, known.Bearer)
		}
	}
	return all
}
