package credproxy

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/org/claude-sandbox/internal/redact"
)

// Minted returns a credential whose token lasts for a while. mint makes one, of the form of
// OAuthToken's, and says how long it lasts; it is never called twice at a time. The proxy has
// it make another one before a request that comes when the last one is about to end.
func Minted(mint func(ctx context.Context) (token string, lasts time.Duration, err error)) Credential {
	return Credential{kind: mintedToken, minted: &minted{mint: mint}}
}

// Renew makes the token of a Minted credential, if it has none that lasts; of others it does
// nothing. A call before a run finds out whether the service gives no token.
func (c Credential) Renew(ctx context.Context) error {
	if c.minted == nil {
		return nil
	}
	return c.minted.renew(ctx, func() {})
}

// minted is the state of such a credential. It is safe for concurrent use.
type minted struct {
	mint func(ctx context.Context) (token string, lasts time.Duration, err error)

	renewing sync.Mutex
	until    time.Time // the last token is of use; guarded by renewing

	mu  sync.Mutex
	all []string // every token so far, the last one in use; an answer could repeat any
}

// mintedEarly is how long before its end a token is made anew: a request has to arrive with it.
const mintedEarly = 30 * time.Second

// renew calls made, before anybody can use it, when there is a new token.
func (m *minted) renew(ctx context.Context, made func()) error {
	m.renewing.Lock()
	defer m.renewing.Unlock()
	if time.Now().Before(m.until) {
		return nil
	}
	begun := time.Now()
	token, lasts, err := m.mint(ctx)
	if err != nil {
		return err
	}
	checked, err := newCredential(mintedToken, token)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.all = append(m.all, checked.secret)
	m.mu.Unlock()
	m.until = begun.Add(lasts - min(mintedEarly, lasts/2))
	made()
	return nil
}

func (m *minted) tokens() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all)
}

// blank takes the secrets that there are by now out of what the agent gets. Lengths stay, so
// that Content-Length does.
type blank struct {
	secrets func() []string
	now     atomic.Pointer[redact.Redactor]
}

func (b *blank) renew() { b.now.Store(redact.New(redact.Options{Secrets: b.secrets(), Mask: true})) }

func (b *blank) String(s string) string { return b.now.Load().String(s) }

func (b *blank) Writer(w io.Writer) io.WriteCloser { return b.now.Load().Writer(w) }
