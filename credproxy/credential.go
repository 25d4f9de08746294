package credproxy

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"strings"

	"github.com/org/claude-sandbox/internal/redact"
)

// oauthBeta must be named in Anthropic-Beta for an OAuth token to be accepted.
const oauthBeta = "oauth-2025-04-20"

// Credential is a secret of the model API. However it is printed or
// marshalled, it shows as "[redacted]". The zero value is no credential.
type Credential struct {
	kind    kind
	secret  string
	headers *http.Header // of a gateway; nil = none
	minted  *minted      // the secret is made anew from time to time; nil = it stays
	cloud   *cloud       // whose form of the API requests have; nil = Anthropic's own
	region  string       // of the cloud
}

type kind int

const (
	noCredential kind = iota
	apiKey
	oauthToken
	bearerToken
	mintedToken
)

// Redactor takes the secret out of texts, in the forms in which it commonly leaks.
func (c Credential) Redactor() *redact.Redactor {
	return redact.New(redact.Options{Secrets: c.secrets()})
}

// secrets are all values that must not be shown.
func (c Credential) secrets() []string {
	all := []string{c.secret}
	if c.minted != nil {
		all = c.minted.tokens()
	}
	if c.headers != nil {
		for _, values := range *c.headers {
			all = append(all, values...)
		}
	}
	return all
}

// APIKey is a key of the API's console ("sk-ant-api…"), sent as X-Api-Key.
func APIKey(secret string) (Credential, error) { return newCredential(apiKey, secret) }

// OAuthToken is a token of `claude setup-token` ("sk-ant-oat…"), sent as a
// bearer token with the beta header that it needs.
func OAuthToken(secret string) (Credential, error) { return newCredential(oauthToken, secret) }

// BearerToken is a key of another API, or of a gateway in front of the API, sent as a bearer token.
func BearerToken(secret string) (Credential, error) { return newCredential(bearerToken, secret) }

// headerLine is a line of WithHeaders.
var headerLine = regexp.MustCompile(`^([A-Za-z0-9-]+): *([!-~]([ -~]*[!-~])?)$`)

// ownHeaders are those that a gateway's may not replace, and the beginnings of such.
var ownHeaders = regexp.MustCompile(`^(Authorization|X-Api-Key|Host|Cookie|Connection|Te|Trailer|Upgrade|Expect|Keep-Alive|` +
	`Accept.*|Anthropic-.*|Content-.*|Proxy-.*|Transfer-.*)$`)

// WithHeaders returns the credential with headers that a gateway asks for, "Name: value" each.
// Their values are secrets, too. Its errors never show one.
func (c Credential) WithHeaders(lines []string) (Credential, error) {
	headers := http.Header{}
	for i, line := range lines {
		m := headerLine.FindStringSubmatch(line)
		if m == nil {
			return Credential{}, fmt.Errorf("header %d is not of the form Name: value", i+1)
		}
		name := http.CanonicalHeaderKey(m[1])
		if ownHeaders.MatchString(name) {
			return Credential{}, fmt.Errorf("the header %s is one that requests have already", name)
		}
		headers.Add(name, m[2])
	}
	if len(headers) > 0 {
		c.headers = &headers
	}
	return c, nil
}

// ParseCredential tells an OAuth token from an API key by its prefix.
func ParseCredential(secret string) (Credential, error) {
	if strings.HasPrefix(strings.TrimSpace(secret), "sk-ant-oat") {
		return OAuthToken(secret)
	}
	return APIKey(secret)
}

// newCredential accepts surrounding white space, which files and pasted text
// have. Its errors never show the secret.
func newCredential(k kind, secret string) (Credential, error) {
	secret = strings.TrimSpace(secret)
	if len(secret) < 8 {
		return Credential{}, errors.New("the model API's credential is empty or too short")
	}
	for i := range len(secret) {
		if secret[i] <= ' ' || secret[i] > '~' {
			return Credential{}, fmt.Errorf("the model API's credential has a character at position %d that a header cannot hold", i+1)
		}
	}
	return Credential{kind: k, secret: secret}, nil
}

// set adds the credential to an outgoing request's headers.
func (c Credential) set(h http.Header) {
	if c.headers != nil {
		maps.Copy(h, *c.headers)
	}
	if c.kind == apiKey {
		h.Set("X-Api-Key", c.secret)
		return
	}
	secret := c.secret
	if c.minted != nil {
		all := c.minted.tokens()
		secret = all[len(all)-1]
	}
	h.Set("Authorization", "Bearer "+secret)
	if c.kind == oauthToken || c.kind == mintedToken {
		h.Set("Anthropic-Beta", withOAuthBeta(h.Values("Anthropic-Beta")))
	}
}

// withOAuthBeta merges: the agent's own list must survive.
func withOAuthBeta(lines []string) string {
	var list []string
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" && name != oauthBeta {
				list = append(list, name)
			}
		}
	}
	return strings.Join(append(list, oauthBeta), ",")
}

const redacted = "[redacted]"

// String returns "[redacted]".
func (Credential) String() string { return redacted }

// GoString returns "[redacted]".
func (Credential) GoString() string { return redacted }

// Format writes "[redacted]" for every verb, also those that would reach
// into the struct, such as %d.
func (Credential) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalJSON returns "[redacted]".
func (Credential) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText returns "[redacted]".
func (Credential) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns "[redacted]".
func (Credential) LogValue() slog.Value { return slog.StringValue(redacted) }

// NewSessionToken returns a fresh random token of 256 bits. Its prefix shows
// people that it is no API key.
func NewSessionToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return "sbx-session-" + hex.EncodeToString(b[:])
}
