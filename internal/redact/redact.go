package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Placeholder replaces every run of secret bytes, unless Options.Mask is set.
const Placeholder = "[redacted]"

// minSecret is the length in bytes below which a secret is not looked for:
// replacing every "abc" would destroy the text and hide nothing.
const minSecret = 6

// Options chooses what New looks for.
type Options struct {
	Secrets  []string // exact texts; shorter ones than 6 bytes are left out
	Patterns bool     // also well-known kinds of tokens: sk-ant-…, ghp_…, AKIA…
	Mask     bool     // replace each secret byte by '*', so that lengths stay

	// Flow lets a Writer pass on the last bytes that it has when they may begin a secret of
	// Secrets, as far as these are an eighth of it and 4 bytes: a peer may wait for them
	// before it says more. The rest of the secret is removed all the same.
	Flow bool
}

// Redactor knows what to remove. It is immutable and safe for concurrent use.
type Redactor struct {
	exact    []string       // sorted by length, longest first; any of their bytes may be escaped
	patterns [256][]pattern // by their first byte
	mask     bool
	flow     bool
	starts   [256]bool    // bytes that can begin a match
	seconds  [256]byteSet // that can follow them
}

// byteSet is a set of bytes, one bit each.
type byteSet [4]uint64

func (b *byteSet) add(c byte)      { b[c/64] |= 1 << (c % 64) }
func (b *byteSet) has(c byte) bool { return b[c/64]&(1<<(c%64)) != 0 }

// New returns a Redactor.
func New(o Options) *Redactor {
	r := &Redactor{mask: o.Mask, flow: o.Flow && !o.Patterns}
	for _, s := range o.Secrets {
		r.exact = append(r.exact, forms(s)...)
	}
	slices.SortFunc(r.exact, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	r.exact = slices.Compact(r.exact)
	for _, s := range r.exact {
		r.beginsEscaped(s)
	}
	if o.Patterns {
		for _, p := range wellKnown {
			first := p.prefix[0]
			r.patterns[first] = append(r.patterns[first], p)
			r.begins(p.prefix)
		}
	}
	return r
}

// begins notes that a match can begin as text does, which has two bytes or more.
func (r *Redactor) begins(text string) {
	r.starts[text[0]] = true
	r.seconds[text[0]].add(text[1])
}

// forms returns the texts that show secret.
func forms(secret string) []string {
	secret = strings.TrimSpace(secret)
	if len(secret) < minSecret {
		return nil
	}
	list := []string{secret, hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret)))}
	for _, escaped := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		list = append(list, escaped, percent.ReplaceAllStringFunc(escaped, strings.ToLower))
	}
	for _, html := range []bool{true, false} {
		text := secret
		for range jsonLevels {
			text = jsonEscaped(text, html)
			list = append(list, text)
		}
	}
	list = append(list, base64Forms(secret)...)
	// A key in PEM form is printed line by line.
	if strings.Contains(secret, "\n") {
		for line := range strings.SplitSeq(secret, "\n") {
			if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "-----") {
				list = append(list, line)
			}
		}
	}
	return list
}

// percent matches a percent-escaped byte, whose letters some programs write small.
var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// jsonLevels is how often a text may stand in JSON that stands in JSON: a program's
// output in an event, and a file of such events that the program printed.
const jsonLevels = 3

// jsonEscaped is text as it stands between the quotes of JSON, with the characters of
// HTML escaped or not.
func jsonEscaped(text string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(text) != nil {
		return text
	}
	return strings.TrimSuffix(b.String()[1:], "\"\n")
}

// base64Line is the length of base64's lines where a program breaks them.
const base64Line = 76

// base64Forms returns what base64 makes of secret at each of the three places
// it can have in a longer text. Characters that also depend on the secret's
// neighbours are left out.
func base64Forms(secret string) []string {
	var list []string
	for before := range 3 {
		padded := strings.Repeat("\x00", before) + secret
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString([]byte(padded))
			text = text[(before*8+5)/6:]
			if len(padded)%3 != 0 {
				text = text[:len(text)-1]
			}
			if len(text) >= minSecret {
				list = append(list, text)
			}
			if before > 0 { // lines are found where the secret begins the text
				continue
			}
			for len(text) > base64Line {
				list, text = append(list, text[:base64Line]), text[base64Line:]
			}
			if len(text) >= minSecret {
				list = append(list, text)
			}
		}
	}
	return list
}

// String returns text without the secrets.
func (r *Redactor) String(text string) string {
	var b strings.Builder
	w := r.Writer(&b)
	_, _ = io.WriteString(w, text) // a Builder does not fail
	_ = w.Close()
	return b.String()
}
