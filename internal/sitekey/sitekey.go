// Package sitekey keeps names of patients out of what is written: keyed hashes of texts that may hold them, and the texts
// themselves encrypted, for programs that can read the key.
//
// A key is 32 random bytes in an object of a bucket, as hexadecimal digits. Whoever makes it first has made it for all.
// Further lines of the object are keys that it had before, where it was lost and made anew: they only open what was sealed.
//
// A store that speaks S3 may ignore that an object is to be created only where none is, and says nothing of it. Then two that
// make the key at once may each use their own, and the object has the last one. So a key that texts are sealed with lies there in a second
// object too, before anybody can use it: its name has a hash of the key, and no other key is ever written to it. What the key
// of the bucket does not open is opened by those.
//
//	key, err := sitekey.Open(ctx, target, jobs.SiteKey, true)
//	key.SealResult(&record)       // in memory: the keys, their hashes, and the keys sealed
//	line := record.Written()      // in a file: hashes, and the keys sealed
//
//	in := sitekey.NewReader(ctx, target)
//	line, err = in.Line(line)     // with keys again
//
// # Sealing
//
// It is the synthetic initialisation vector of RFC 5297, with HMAC-SHA-256 in place of CMAC: the first 16 bytes of the
// HMAC of the text are the counter with which AES-256 in counter mode encrypts it, and what is held against the text that
// comes out again. Equal texts have equal sealed forms, so that two workers write the same bytes. Each use of a key has
// its own, made of it by HMAC.
package sitekey

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// Key makes hashes and sealed texts. It is safe for concurrent use.
type Key struct {
	secret [32]byte
	mac    [32]byte     // of sealed texts
	block  cipher.Block // of sealed texts
	former []*Key       // that open texts too
}

// New makes a key of its bytes.
func New(secret [32]byte) *Key {
	k := &Key{secret: secret}
	k.mac = k.Sum("seal, authentication")
	encryption := k.Sum("seal, encryption")
	var err error
	if k.block, err = aes.NewCipher(encryption[:]); err != nil {
		panic(err) // it takes keys of 32 bytes
	}
	return k
}

// ErrNone: the bucket has no such key.
var ErrNone = errors.New("there is no such key")

// Open reads a key from an object of a bucket. With create it is made where there is none; else that is [ErrNone].
func Open(ctx context.Context, b *storage.Bucket, name string, create bool) (*Key, error) {
	got, err := storage.Get(ctx, b, name, 1<<10, nil)
	if storage.IsNotExist(err) && create {
		var secret [32]byte
		rand.Read(secret[:])
		line := []byte(hex.EncodeToString(secret[:]) + "\n")
		if b.Kind() == "s3" && name == jobs.SiteKey { // nothing is sealed with other keys
			// It stays where another one was first: that others have not read this one meanwhile is not known.
			sum := sha256.Sum256(line)
			if _, err := storage.Put(ctx, b, copyPrefix+hex.EncodeToString(sum[:])[:hashDigits], line, nil); err != nil {
				return nil, err
			}
		}
		_, err = storage.Put(ctx, b, name, line, nil)
		if exists := (*storage.ExistsError)(nil); !errors.As(err, &exists) {
			return New(secret), err
		}
		got, err = storage.Get(ctx, b, name, 1<<10, nil)
	}
	switch {
	case storage.IsNotExist(err) && !storage.Unreachable(err):
		return nil, fmt.Errorf("sitekey: %s: %s: %w", b.URL, name, ErrNone)
	case err != nil:
		return nil, err
	}
	key, err := parse(got.Data)
	if err != nil {
		return nil, fmt.Errorf("sitekey: %s: %s is no key of 64 hexadecimal digits", b.URL, name)
	}
	return key, nil
}

// copyPrefix begins the names of the second objects of keys.
const copyPrefix = jobs.SiteKey + "."

// copies reads the keys that were made for a target and lie beside the one in use.
func copies(ctx context.Context, b *storage.Bucket) (keys []*Key, err error) {
	err = storage.Walk(ctx, b, &storage.WalkOptions{Prefix: copyPrefix}, func(p storage.Page) error {
		for _, o := range p.Objects {
			got, err := storage.Get(ctx, b, o.Key, 1<<10, nil)
			if storage.IsNotExist(err) && !storage.Unreachable(err) {
				continue
			}
			if err != nil {
				return err
			}
			if key, err := parse(got.Data); err == nil {
				keys = append(keys, key)
			}
		}
		return nil
	})
	return keys, err
}

// parse makes a key of the content of its object.
func parse(data []byte) (key *Key, err error) {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if key != nil && len(line) == 0 {
			continue
		}
		var secret [32]byte
		if n, err := hex.Decode(secret[:], line[:min(len(line), 2*len(secret))]); err != nil || n != len(secret) {
			return nil, hex.ErrLength
		}
		if key == nil {
			key = New(secret)
		} else {
			key.former = append(key.former, New(secret))
		}
	}
	if key == nil {
		return nil, hex.ErrLength
	}
	return key, nil
}

// OfProcess is a key that lives as long as the process, for what is shown where a target has no key or none is known.
func OfProcess() *Key { return ofProcess() }

var ofProcess = sync.OnceValue(func() *Key {
	var secret [32]byte
	rand.Read(secret[:])
	return New(secret)
})

// Sum is the HMAC-SHA-256 of a text.
func (k *Key) Sum(text string) (sum [32]byte) {
	m := hmac.New(sha256.New, k.secret[:])
	m.Write([]byte(text))
	m.Sum(sum[:0])
	return sum
}

// hashDigits is the length of hashes: 128 bits.
const hashDigits = 32

// Hash is the keyed hash of a text of some kind, such as "instance". The same text of another kind has another hash.
func (k *Key) Hash(kind, text string) string {
	sum := k.Sum(kind + "\x00" + text)
	return hex.EncodeToString(sum[:])[:hashDigits]
}

// Name is the keyed hash that stands for the key of an object.
func (k *Key) Name(key string) string { return "hmac:" + k.Hash("key", key) }

// Seal encrypts a text.
func (k *Key) Seal(text []byte) string {
	sealed := make([]byte, aes.BlockSize+len(text))
	k.counter(sealed[:aes.BlockSize], text)
	cipher.NewCTR(k.block, sealed[:aes.BlockSize]).XORKeyStream(sealed[aes.BlockSize:], text)
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// counter is the synthetic initialisation vector of a text.
func (k *Key) counter(to, text []byte) {
	m := hmac.New(sha256.New, k.mac[:])
	m.Write(text)
	copy(to, m.Sum(nil))
}

// ErrSealed: a text was sealed with another key, or was changed since.
var ErrSealed = errors.New("it is not sealed with this key, or was changed")

// Unseal gives a text back that Seal has encrypted, with this key or a former one.
func (k *Key) Unseal(sealed string) ([]byte, error) {
	text, err := k.unseal(sealed)
	for i := 0; err != nil && i < len(k.former); i++ {
		text, err = k.former[i].unseal(sealed)
	}
	return text, err
}

func (k *Key) unseal(sealed string) ([]byte, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || len(data) < aes.BlockSize {
		return nil, fmt.Errorf("sitekey: %w", ErrSealed)
	}
	var want [aes.BlockSize]byte
	text := data[aes.BlockSize:]
	cipher.NewCTR(k.block, data[:aes.BlockSize]).XORKeyStream(text, text)
	if k.counter(want[:], text); !hmac.Equal(want[:], data[:aes.BlockSize]) {
		return nil, fmt.Errorf("sitekey: %w", ErrSealed)
	}
	return text, nil
}
