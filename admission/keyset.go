package admission

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Source reads a JSON Web Key Set (RFC 7517).
type Source func(ctx context.Context) ([]byte, error)

// maxKeySet bounds a key set, in bytes.
const maxKeySet = 1 << 20

// FromFile reads a key set from a file.
func FromFile(path string) Source {
	return func(context.Context) ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readKeySet(f)
	}
}

// FromURL reads a key set over HTTP.
func FromURL(client *http.Client, url string) Source {
	return func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s answers %s", req.URL.Redacted(), resp.Status)
		}
		return readKeySet(resp.Body)
	}
}

func readKeySet(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxKeySet+1))
	if err == nil && len(raw) > maxKeySet {
		err = fmt.Errorf("the key set is larger than %d bytes", maxKeySet)
	}
	return raw, err
}

// How often a key set is read.
const (
	freshFor     = 10 * time.Minute // then it is read again, in the background
	retryAfter   = 10 * time.Second // between two attempts: a stranger with made-up key ids is no lever
	fetchTimeout = 5 * time.Second
)

// KeySet keeps the public keys of whoever signs the tokens. It follows a
// rotation: a key that it does not know makes it read the source again, and so
// does age. When the source is away it goes on with the keys that it has.
type KeySet struct {
	source Source
	now    func() time.Time

	keys atomic.Pointer[[]jose.JSONWebKey] // nil until the first success
	due  atomic.Int64                      // when the keys are stale, Unix ms

	mu       sync.Mutex // one reader of the source at a time
	tried    time.Time
	lastErr  error
	ctx      context.Context
	cancel   context.CancelFunc
	fetching sync.WaitGroup
}

// NewKeySet returns the key set of a source, with now as its clock (default
// time.Now). Nothing is read before the first token comes, or Refresh is called.
func NewKeySet(source Source, now func() time.Time) *KeySet {
	if now == nil {
		now = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &KeySet{source: source, now: now, ctx: ctx, cancel: cancel}
}

// Close ends what runs in the background and waits for it.
func (k *KeySet) Close() {
	k.cancel()
	k.fetching.Wait()
}

// Refresh reads the source now, and says what is wrong with it: for a check of
// the configuration.
func (k *KeySet) Refresh(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fetch(ctx)
}

// find returns the keys that may have signed a token: those of its key id, or
// all when it names none.
func (k *KeySet) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	if found := k.known(id); len(found) > 0 {
		k.refreshStale()
		return found, nil
	}
	err := k.refreshUnknown(ctx, id)
	if k.keys.Load() == nil {
		return nil, err
	}
	return k.known(id), nil
}

// pause is how long it takes until the source may be read again.
func (k *KeySet) pause() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return max(k.tried.Add(retryAfter).Sub(k.now()), time.Second)
}

func (k *KeySet) known(id string) []jose.JSONWebKey {
	keys := k.keys.Load()
	if keys == nil || id == "" {
		return k.all()
	}
	var found []jose.JSONWebKey
	for _, key := range *keys {
		if key.KeyID == id {
			found = append(found, key)
		}
	}
	return found
}

func (k *KeySet) all() []jose.JSONWebKey {
	if keys := k.keys.Load(); keys != nil {
		return *keys
	}
	return nil
}

// refreshUnknown reads the source for a token whose key is not known, unless
// that was tried a moment ago. Requests that come meanwhile wait for it.
func (k *KeySet) refreshUnknown(ctx context.Context, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known(id)) > 0 {
		return nil // somebody else has fetched it while this one waited
	}
	if !k.tried.IsZero() && k.now().Sub(k.tried) < retryAfter {
		return k.lastErr
	}
	return k.fetch(ctx)
}

// refreshStale starts reading the source when the keys are old. Nobody waits.
func (k *KeySet) refreshStale() {
	due, now := k.due.Load(), k.now()
	if now.UnixMilli() < due || !k.due.CompareAndSwap(due, now.Add(retryAfter).UnixMilli()) {
		return
	}
	if k.ctx.Err() != nil {
		return
	}
	k.fetching.Go(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		_ = k.fetch(k.ctx) // the old keys go on; tried again after retryAfter
	})
}

// fetch reads the source. The caller holds mu.
func (k *KeySet) fetch(ctx context.Context) error {
	// Not the request's own deadline: what is fetched is for everybody.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	defer context.AfterFunc(k.ctx, cancel)()
	k.tried = k.now()
	keys, err := k.read(ctx)
	k.lastErr = err
	if err != nil {
		return err
	}
	k.keys.Store(&keys)
	k.due.Store(k.now().Add(freshFor).UnixMilli())
	return nil
}

func (k *KeySet) read(ctx context.Context) ([]jose.JSONWebKey, error) {
	raw, err := k.source(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the key set: %w", err)
	}
	return parseKeySet(raw)
}

// parseKeySet keeps the public keys of a set. What it does not understand is
// left out, as RFC 7517, section 5 asks.
func parseKeySet(raw []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("read the key set: %w", err)
	}
	var keys []jose.JSONWebKey
	for _, one := range set.Keys {
		var key jose.JSONWebKey
		// A secret is no public key, nor is a private one published by mistake.
		if json.Unmarshal(one, &key) == nil && key.Valid() && key.IsPublic() && strong(&key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("read the key set: it has no public key (of RSA, at least %d bits)", minRSA)
	}
	return keys, nil
}

// minRSA is the shortest RSA key that is believed, in bits (RFC 7518, section 3.3).
const minRSA = 2048

func strong(key *jose.JSONWebKey) bool {
	rsaKey, ok := key.Key.(*rsa.PublicKey)
	return !ok || rsaKey.N.BitLen() >= minRSA
}
