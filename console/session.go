package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/internal/seal"
	"github.com/seed-506d8e5d/svc/signon"
)

// sessionTime is how long a session lasts after its sign-in.
const sessionTime = 12 * time.Hour

// cookiePrefix begins the name of the session's cookie. Browsers keep cookies by
// host and not by port, so the rest of the name is derived from the secret: two
// servers on one host do not sign each other out, and replicas with one secret
// share their sessions.
const cookiePrefix = "svc_console_"

// session is who is signed in. It lives in a sealed cookie alone: with the key
// itself inside, a key that is revoked or an organization that is suspended ends
// the session at the next request, on every replica.
type session struct {
	ID    string `json:"i"`           // names it when it is signed out
	Key   string `json:"k,omitempty"` // the API key
	Admin string `json:"a,omitempty"` // the hash of the admin key
	Token string `json:"t"`           // what every change must carry

	Person *signon.Person `json:"p,omitempty"` // who has signed in at the provider
	Ends   int64          `json:"e"`           // Unix seconds
}

func (s session) signedIn() bool { return s.calls() || s.Admin != "" }

// calls reports whether the session is that of somebody who may call the interface.
func (s session) calls() bool { return s.Key != "" || s.Person != nil }

// newSession returns a session that begins now.
func newSession(now time.Time) session {
	return session{ID: randomText(), Token: randomText(), Ends: now.Add(sessionTime).Unix()}
}

// randomText returns 128 random bits as text.
func randomText() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// sealer seals sessions and remembers which were signed out.
type sealer struct {
	secret []byte
	cookie string // the name of the cookie
	out    *signedOut
}

func newSealer(secret []byte) (sealer, error) {
	if len(secret) != seal.KeySize {
		return sealer{}, errors.New("console: the secret must have 32 bytes")
	}
	name := sha256.Sum256(append([]byte(cookiePrefix), secret...))
	return sealer{
		secret: secret, cookie: cookiePrefix + hex.EncodeToString(name[:4]), out: &signedOut{ends: make(map[string]int64)},
	}, nil
}

// sealed returns the value of a cookie that holds v. The kind is part of the seal: a
// cookie of one kind is none of another.
func (s sealer) sealed(kind string, v any) (string, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	data, err := seal.Seal(s.secret, plain, []byte(kind))
	return base64.RawURLEncoding.EncodeToString(data), err
}

// unseal reads the value of such a cookie, and reports whether it is one of ours.
func (s sealer) unseal(kind, value string, v any) bool {
	data, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return false
	}
	plain, err := seal.Open(s.secret, data, []byte(kind))
	return err == nil && json.Unmarshal(plain, v) == nil
}

// open returns the session in a cookie. What is no session of ours, or has
// ended, is no session.
func (s sealer) open(value string, now time.Time) (session, bool) {
	var opened session
	if !s.unseal(cookiePrefix, value, &opened) || opened.Ends <= now.Unix() || s.out.has(opened.ID) {
		return session{}, false
	}
	return opened, true
}

// signedOut are the sessions that were signed out before their end, so that a
// copy of their cookie opens nothing. Those of other replicas are not known.
type signedOut struct {
	mu   sync.Mutex
	ends map[string]int64 // by session ID
}

// maxSignedOut bounds what is remembered. Beyond it sessions that have ended are
// forgotten first; one takes a sign-in, so that nobody reaches it by accident.
const maxSignedOut = 10_000

func (s *signedOut) add(ended session, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ends) >= maxSignedOut {
		for id, end := range s.ends {
			if end <= now.Unix() {
				delete(s.ends, id)
			}
		}
	}
	if len(s.ends) < maxSignedOut {
		s.ends[ended.ID] = ended.Ends
	}
}

func (s *signedOut) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.ends[id]
	return ok
}

// restore reads the session of a request and whether it is an administrator's.
func (c *Console) restore(r *http.Request) (s session, admin bool) {
	cookie, err := r.Cookie(c.seal.cookie)
	if err != nil {
		return session{}, false
	}
	s, ok := c.seal.open(cookie.Value, c.opts.Now())
	if !ok || s.Person != nil && (c.opts.SignOn == nil || !c.opts.SignOn.Grants(*s.Person)) {
		return session{}, false
	}
	return s, s.Admin != "" && c.opts.AdminKey != "" && sameText(s.Admin, hashed(c.opts.AdminKey))
}

// setCookie sets the cookie of a session, or takes it away from a visitor who is not
// signed in any more.
func (c *Console) setCookie(v *request, s session) error {
	cookie := &http.Cookie{
		Name: c.seal.cookie, Path: c.opts.Prefix, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: v.encrypted(),
	}
	if !s.signedIn() {
		cookie.MaxAge = -1
		http.SetCookie(v.w, cookie)
		return nil
	}
	value, err := c.seal.sealed(cookiePrefix, s)
	if err != nil {
		return err
	}
	cookie.Value, cookie.Expires = value, time.Unix(s.Ends, 0)
	http.SetCookie(v.w, cookie)
	return nil
}

// encrypted reports whether the browser speaks HTTPS to us or to what is before us.
func (v *request) encrypted() bool {
	return v.r.TLS != nil || v.r.Header.Get("X-Forwarded-Proto") == "https"
}

// hashed returns the hash of a key as text.
func hashed(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// sameText compares in a time that tells nothing but the lengths.
func sameText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
