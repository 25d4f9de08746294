package redact

import "strings"

// pattern is a kind of token: prefix and then at least min characters of its
// alphabet. All that follow belong to it.
type pattern struct {
	prefix   string
	min      int
	alphabet alphabets
}

// wellKnown are the tokens that an agent's output most often shows. Prefixes
// are those that the issuers document; minimum lengths are below the real
// ones, so that a cut token is found as well.
var wellKnown = []pattern{
	{"sk-ant-", 16, wordDash},       // Anthropic
	{"ghp_", 20, word},              // GitHub: personal
	{"gho_", 20, word},              // GitHub: OAuth
	{"ghu_", 20, word},              // GitHub: user to server
	{"ghs_", 20, wordDashDot},       // GitHub: server to server (the workflow's own); newer ones are JWTs
	{"ghr_", 20, word},              // GitHub: refresh
	{"github_pat_", 20, word},       // GitHub: fine grained
	{"glpat-", 16, wordDash},        // GitLab
	{"npm_", 30, word},              // npm
	{"pypi-", 16, wordDash},         // PyPI
	{"dckr_pat_", 16, wordDash},     // Docker Hub
	{"hf_", 30, word},               // Hugging Face
	{"sk-proj-", 16, wordDash},      // OpenAI
	{"sk_live_", 16, word},          // Stripe
	{"rk_live_", 16, word},          // Stripe: restricted
	{"xoxa-", 16, wordDash},         // Slack: app
	{"xoxb-", 16, wordDash},         // Slack: bot
	{"xoxp-", 16, wordDash},         // Slack: user
	{"xoxr-", 16, wordDash},         // Slack: refresh
	{"xoxs-", 16, wordDash},         // Slack: session
	{"xoxe-", 16, wordDash},         // Slack: rotating
	{"xoxe.", 16, wordDashDot},      // Slack: rotating
	{"xapp-", 16, wordDash},         // Slack: app level
	{"AKIA", 16, upper},             // AWS: key id
	{"ASIA", 16, upper},             // AWS: temporary key id
	{"AIza", 30, wordDash},          // Google
	{"eyJhbGciOi", 20, wordDashDot}, // JWT whose header begins with "alg",
	{"eyJ0eXAiOi", 20, wordDashDot}, // "typ",
	{"eyJraWQiOi", 20, wordDashDot}, // "kid",
	{"eyJlbmMiOi", 20, wordDashDot}, // "enc",
	{"eyJ4NXQiOi", 20, wordDashDot}, // "x5t"
}

// alphabets is a set of alphabets, one bit each.
type alphabets uint8

const (
	upper       alphabets = 1 << iota // A-Z 0-9
	word                              // letters, digits, _
	wordDash                          // and -
	wordDashDot                       // and .
)

// classes says which alphabets a byte belongs to.
var classes = func() (table [256]alphabets) {
	const capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for chars, set := range map[string]alphabets{
		capitals:                      upper | word | wordDash | wordDashDot,
		"abcdefghijklmnopqrstuvwxyz_": word | wordDash | wordDashDot,
		"-":                           wordDash | wordDashDot,
		".":                           wordDashDot,
	} {
		for i := range len(chars) {
			table[chars[i]] = set
		}
	}
	return table
}()

// match looks for p at the start of text. It returns the length of the match,
// 0 if there is none. undecided means that text ends too early to tell; open
// means that the match reaches the end of text and may go on.
func (p pattern) match(text string) (n int, undecided, open bool) {
	if len(text) < len(p.prefix) {
		return 0, strings.HasPrefix(p.prefix, text), false
	}
	if !strings.HasPrefix(text, p.prefix) {
		return 0, false, false
	}
	n = len(p.prefix)
	for n < len(text) && classes[text[n]]&p.alphabet != 0 {
		n++
	}
	atEnd := n == len(text)
	if n-len(p.prefix) < p.min {
		return 0, atEnd, false
	}
	return n, false, atEnd
}
