package credential

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/internal/redact"
)

// anyUser is the user of a key that is no more than a token. GitHub, GitLab, Gitea and
// Bitbucket's HTTP access tokens take any, or this one.
const anyUser = "x-access-token"

// form is how a key stands in a request.
type form struct {
	kind string // "basic", "bearer", "header" or "query"
	name string // of the user, the field or the parameter
}

// parseForm reads a form. entry decides what "" is.
func parseForm(as, entry string) (form, error) {
	kind, name, named := strings.Cut(as, ":")
	f := form{kind, name}
	switch {
	case as == "" && strings.HasPrefix(strings.TrimSpace(entry), "git:"):
		return form{kind: "basic"}, nil
	case as == "", as == "bearer":
		return form{kind: "bearer"}, nil
	case as == "basic":
		return f, nil
	case kind == "basic" && named && isPrintable(name) && !strings.Contains(name, ":"):
		return f, nil
	case kind == "header" && httpguts.ValidHeaderFieldName(name) && !isFraming(name):
		f.name = http.CanonicalHeaderKey(name)
		return f, nil
	case kind == "query" && name != "" && url.QueryEscape(name) == name:
		return f, nil
	}
	return form{}, fmt.Errorf("%q is no form in which a key can stand in a request", as)
}

// isFraming reports whether a field says where a request goes or ends.
func isFraming(name string) bool {
	framing := []string{"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive"}
	return slices.Contains(framing, strings.ToLower(name)) || strings.HasPrefix(strings.ToLower(name), "proxy-")
}

func isPrintable(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// Keys are bindings with their values. They never change.
type Keys struct{ all []*Key }

// Key is a secret that goes with requests. However it is printed, its value is not.
type Key struct {
	bound
	form  form
	value string // the secret
	sent  string // what stands in the request
	blank *redact.Redactor
	small *redact.Redactor // of the same in small letters
}

// minValue is the length in bytes below which a value is no key: the redactor does not
// look for it.
const minValue = 8

// Fill joins bindings that Bind returned with their values by name.
func Fill(bindings []Binding, values map[string]string) (*Keys, error) {
	keys := &Keys{}
	for _, b := range bindings {
		k := &Key{bound: bound{Binding: b}, value: strings.TrimSpace(values[b.Name])}
		fail := func(why string) (*Keys, error) { return nil, fmt.Errorf("the key %s %s", b.Name, why) }
		if len(k.value) < minValue {
			return fail(fmt.Sprintf("has a value of fewer than %d characters", minValue))
		}
		if strings.ContainsFunc(k.value, func(c rune) bool { return c < ' ' || c > '~' }) {
			return fail("has a value with a character that no header can hold: it must be one line of ASCII")
		}
		var err error
		if k.bound, err = b.compile(); err != nil {
			return nil, err
		}
		if k.form, err = parseForm(b.As, b.For); err != nil {
			return fail("has a wrong form: " + err.Error())
		}
		secrets, plain := []string{k.value, strings.Join(strings.Split(k.value, ""), "\x00")}, k.value // also in UTF-16
		switch k.form.kind {
		case "basic":
			pair := k.value
			if user, password, ok := strings.Cut(k.value, ":"); k.form.name != "" || !ok {
				pair = k.form.name + ":" + k.value
				if k.form.name == "" {
					pair = anyUser + ":" + k.value
				}
			} else if user == "" || len(password) < minValue {
				return fail("needs a value of the form USER:PASSWORD, or a token")
			} else {
				secrets, plain = append(secrets, password), password
			}
			k.sent = "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))
			secrets = append(secrets, pair, k.sent[len("Basic "):])
		case "bearer":
			if strings.Contains(k.value, " ") {
				return fail("has a space in its value, and a bearer token has none")
			}
			k.sent = "Bearer " + k.value
		case "query":
			k.sent = url.QueryEscape(k.value)
		default:
			k.sent = k.value
		}
		k.blank = redact.New(redact.Options{Secrets: append(halves(plain), secrets...), Mask: true, Flow: true})
		for i := range secrets {
			secrets[i] = strings.ToLower(secrets[i])
		}
		k.small = redact.New(redact.Options{Secrets: secrets, Mask: true})
		keys.all = append(keys.all, k)
	}
	return keys, nil
}

// minHalf is the length in bytes of a half that no other text has by chance.
const minHalf = 12

// halves are the parts of a key by which an answer is found that has it cut: a host may cut its
// messages at a length, and the agent may choose how long they are before the key.
func halves(key string) []string {
	if half := len(key) / 2; half >= minHalf {
		return []string{key[:half], key[half:]}
	}
	return nil
}

// String says where the key goes, and Format the same for every verb.
func (k *Key) String() string { return k.Binding.String() }

// Format writes String for every verb, also those that would reach into the struct.
func (k *Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// MarshalJSON refuses: a Key is written nowhere.
func (k *Key) MarshalJSON() ([]byte, error) { return nil, errors.New("a key is not written") }

// Bindings are those that the keys were made of.
func (k *Keys) Bindings() (all []Binding) {
	for _, key := range k.all {
		all = append(all, key.Binding)
	}
	return all
}

// Hosts returns the hosts to which a key may go, each once.
func (k *Keys) Hosts() (hosts []operation.Host) {
	for _, key := range k.all {
		for _, h := range key.rules.Hosts() {
			if !slices.Contains(hosts, h) {
				hosts = append(hosts, h)
			}
		}
	}
	return hosts
}

// Choose judges a request by the entries of each key. It returns the first key whose
// entries allow it, with their decision; nil = none goes with it.
func (k *Keys) Choose(m *operation.Memory, req *operation.Request, body *operation.Body) (*Key, operation.Decision) {
	for _, key := range k.all {
		if d, ok := key.goesWith(m, req, body); ok {
			return key, d
		}
	}
	return nil, operation.Decision{}
}

// Redactor masks the key, and the forms in which it commonly comes back, in responses.
func (k *Key) Redactor() *redact.Redactor { return k.blank }

// IsIn reports whether the name of a field holds the key, whose letters readers of HTTP change.
func (k *Key) IsIn(name string) bool {
	name = strings.ToLower(name)
	return k.small.String(name) != name
}

// Attach makes the key the one credential of a request that goes out.
func (k *Key) Attach(h http.Header, query string) (newQuery string) {
	for field := range h {
		if isCredential(field) || k.form.kind == "header" && plainField(field) == plainField(k.form.name) {
			delete(h, field)
		}
	}
	query = withoutCredentials(query, k.form)
	switch k.form.kind {
	case "header":
		h[k.form.name] = []string{k.sent}
	case "query":
		if query != "" {
			query += "&"
		}
		query += k.form.name + "=" + k.sent
	default:
		h["Authorization"] = []string{k.sent}
	}
	return query
}

// plainField is a field's name as servers may read it, that turn it into a variable.
func plainField(name string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(name))
}

// credentialWords are words in names of fields and parameters by which servers know
// who asks.
var credentialWords = []string{
	"authorization", "authentication", "auth", "token", "tokens", "key", "apikey", "secret", "cookie", "cookie2", "session", "sessionid",
	"credential", "credentials", "password", "passwd", "jwt", "sudo", "impersonate", "user", "otp", "signature", "assertion",
}

// isCredential reports whether a field or a parameter is the sender's word about who
// they are.
func isCredential(name string) bool {
	plain := plainField(name)
	if slices.Contains([]string{"idempotency-key", "user-agent", "mcp-session-id"}, plain) {
		return false
	}
	return slices.ContainsFunc(strings.Split(plain, "-"), func(word string) bool { return slices.Contains(credentialWords, word) })
}

// withoutCredentials takes credentials, and parameters of the key's own name, out of a
// raw query. One whose name cannot be read goes, too.
func withoutCredentials(query string, f form) string {
	if query == "" {
		return ""
	}
	var kept []string
	parts := strings.Split(query, "&")
	for _, part := range parts {
		if !slices.ContainsFunc(strings.Split(part, ";"), func(one string) bool { return isCredentialParameter(one, f) }) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "&")
}

func isCredentialParameter(text string, f form) bool {
	raw, _, _ := strings.Cut(text, "=")
	name, err := url.QueryUnescape(raw)
	name, _, _ = strings.Cut(name, "[")
	return err != nil || slices.Contains(credentialParameters, plainField(name)) ||
		f.kind == "query" && plainField(name) == plainField(f.name)
}

// credentialParameters are parameters in which APIs take a credential. Parameters that
// hold such a word and mean something else, such as "user", are many.
var credentialParameters = []string{
	"access-token", "private-token", "job-token", "oauth-token", "auth-token", "api-key", "apikey", "authorization", "client-secret", "sudo",
}
