package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"testing"
)

const key = "sk-ant-api03-Zm9vYmFyLXNlY3JldA_0123456789-abcdefAA"

func TestSecretsAreRemovedInEveryForm(t *testing.T) {
	const secret = `p@ss/wörd+"quoted"&=~x`
	r := New(Options{Secrets: []string{secret, "tiny", "line one of a key 000000\nline two of a key 111111"}})
	quoted, _ := json.Marshal(secret)
	for name, text := range map[string]string{
		"plain":          "a " + secret + " b",
		"query":          "https://x/?k=" + url.QueryEscape(secret),
		"path":           "https://x/" + url.PathEscape(secret),
		"json":           `{"k":` + string(quoted) + `}`,
		"hex":            hex.EncodeToString([]byte(secret)),
		"base64":         base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64, offset": base64.StdEncoding.EncodeToString([]byte("x:" + secret + "yyy")),
		"base64, other":  base64.URLEncoding.EncodeToString([]byte("u" + secret)),
		"one line":       "> line two of a key 111111 <",
	} {
		if got := r.String(text); !strings.Contains(got, Placeholder) || strings.Contains(got, "wörd") {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
	if got := r.String("tiny things stay"); got != "tiny things stay" {
		t.Errorf("short secret: %q", got)
	}
}

func TestWellKnownTokensAreRemovedAndTheirSurroundingsStay(t *testing.T) {
	r := New(Options{Patterns: true})
	for text, want := range map[string]string{
		"key=" + key + "; next":                        "key=[redacted]; next",
		"ghp_abcdefghijklmnopqrstuvwxyz0123456789\n":   "[redacted]\n",
		"AKIAIOSFODNN7EXAMPLE.":                        "[redacted].",
		"sk-ant- and ghp_short and AKIA are no tokens": "sk-ant- and ghp_short and AKIA are no tokens",
		// A token of one kind inside one of another must not end it early.
		"sk-ant-0123456789abcdef-ghp_abcdefghijklmnopqrstuv-rest end": "[redacted] end",
	} {
		if got := r.String(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestOverlappingSecretsLeaveNothingOfEither(t *testing.T) {
	r := New(Options{Secrets: []string{"abcdefXX", "XXghijkl"}})
	if got := r.String("1abcdefXXghijkl2"); got != "1[redacted]2" {
		t.Errorf("got %q", got)
	}
}

func TestMaskKeepsTheLength(t *testing.T) {
	r := New(Options{Secrets: []string{key}, Mask: true})
	if got, want := r.String("a"+key+"b"), "a"+strings.Repeat("*", len(key))+"b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Text that cannot begin a secret must not wait for more: events of a stream
// have to arrive as they are sent.
func TestHarmlessTextIsNotHeldBack(t *testing.T) {
	var b strings.Builder
	w := New(Options{Secrets: []string{key}, Patterns: true}).Writer(&b)
	_, _ = io.WriteString(w, "data: {}\n\n")
	if b.String() != "data: {}\n\n" {
		t.Errorf("held back: wrote %q so far", b.String())
	}
}

// With Flow the end of a message does not wait for the next one, and of a secret that comes
// byte for byte nothing is shown but the first bytes.
func TestFlow(t *testing.T) {
	var b strings.Builder
	w := New(Options{Secrets: []string{key, "(short)"}, Mask: true, Flow: true}).Writer(&b)
	for _, text := range []string{"a", "b" + key[:1], "c", key[:4], key[:3] + key[:2], "end", "x" + key[:4]} {
		before := b.Len()
		_, _ = io.WriteString(w, text)
		if got := b.String()[before:]; got != text {
			t.Errorf("%q was written as %q", text, got)
		}
	}
	_, _ = io.WriteString(w, "; (")
	if !strings.HasSuffix(b.String(), "; ") {
		t.Errorf("the beginning of a short secret is shown: %q", b.String())
	}
	_, _ = io.WriteString(w, " ")
	b.Reset()
	for _, form := range []string{key, hex.EncodeToString([]byte(key)),
		base64.StdEncoding.EncodeToString([]byte(key + "=="))[:68], "(short)"} {
		for i := range form + " " {
			_, _ = io.WriteString(w, (form + " ")[i:i+1])
		}
		shown := min(mostShown, len(form)/shownPart)
		if got := b.String(); got != form[:shown]+strings.Repeat("*", len(form)-shown)+" " {
			t.Errorf("%q was written as %q", form, got)
		}
		b.Reset()
	}
}

// naive marks every byte that any match covers, on the whole text at once.
func naive(r *Redactor, text string) string {
	secret := make([]bool, len(text))
	for i := range text {
		for _, s := range r.exact {
			if strings.HasPrefix(text[i:], s) {
				mark(secret[i : i+len(s)])
			}
			n, _ := matchEscaped(text[i:], s)
			mark(secret[i : i+n])
		}
		for _, p := range wellKnown {
			n, _, _ := p.match(text[i:])
			mark(secret[i : i+n])
		}
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !secret[i]:
			b.WriteByte(text[i])
		case i == 0 || !secret[i-1]:
			b.WriteString(Placeholder)
		}
	}
	return b.String()
}

func mark(bytes []bool) {
	for i := range bytes {
		bytes[i] = true
	}
}

func FuzzAnyChunkingAgreesWithTheNaiveTwin(f *testing.F) {
	f.Add("x "+key+" y", "secret-one", "onetwo", 3)
	f.Add("secret-onetwo sk-ant-sk-ant-ghp_aaaaaaaaaaaaaaaaaaaaaaaa-", "secret-one", "onetwo", 1)
	f.Add("aaaaaaaaaaaaaaaaab", "aaaaaab", "aaaaaa", 2)
	f.Add("ghs_aaaaaaaaaaaaaaaaaaaaaaaa.bbb-cc ghp_aaaaaaaaaaaaaaaaaaaa-x", "ghs_aa.a", "-x", 5)
	f.Add(`x%61\\u0061aa&#97;aab \\\\/b+c=`, "aaaaaab", "/b+c= d", 1)
	f.Add("a%2", "a%2Baaa", "a&#9;&a\\\\", 1)
	f.Fuzz(func(t *testing.T, text, one, two string, chunk int) {
		if chunk < 1 || len(text) > 4096 {
			t.Skip()
		}
		r := New(Options{Secrets: []string{one, two}, Patterns: true})
		want := naive(r, text)
		var b strings.Builder
		w := r.Writer(&b)
		for rest := text; rest != ""; {
			n := min(chunk, len(rest))
			_, _ = io.WriteString(w, rest[:n])
			rest = rest[n:]
		}
		_ = w.Close()
		if b.String() != want {
			t.Errorf("in pieces of %d: %q became %q, want %q", chunk, text, b.String(), want)
		}
		masks := func(flow bool, size int) string {
			var b strings.Builder
			w := New(Options{Secrets: []string{one, two}, Mask: true, Flow: flow}).Writer(&b)
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				_, _ = io.WriteString(w, rest[:n])
				rest = rest[n:]
			}
			_ = w.Close()
			return b.String()
		}
		masked, flowing := masks(false, len(text)+1), masks(true, chunk)
		if len(flowing) != len(text) {
			t.Fatalf("%q became %q", text, flowing)
		}
		for i, run := 0, 0; i < len(text); i++ {
			if run++; flowing[i] == masked[i] {
				run = 0
			} else if flowing[i] != text[i] || run > mostShown {
				t.Fatalf("in pieces of %d: %q became %q, and %q flowing", chunk, text, masked, flowing)
			}
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	text := []byte(
		strings.Repeat(`data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"some ordinary words"}}`+"\n\n", 1000))
	w := New(Options{Secrets: []string{key}, Patterns: true}).Writer(io.Discard)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = w.Write(text)
	}
}

// Attack: a secret comes in forms that programs give it on the way: JSON in JSON, base64
// in lines, small hex digits.
func TestFormsThatProgramsMake(t *testing.T) {
	long := strings.Repeat(`a-long/"secret"\value+`, 6)
	r := New(Options{Secrets: []string{long}})
	encoded := base64.StdEncoding.EncodeToString([]byte(long))
	var lines strings.Builder
	for ; len(encoded) > 76; encoded = encoded[76:] {
		lines.WriteString(encoded[:76] + "\n")
	}
	lines.WriteString(encoded)
	inJSON := long
	for range 3 {
		text, err := json.Marshal(inJSON)
		if err != nil {
			t.Fatal(err)
		}
		inJSON = string(text)
		if got := r.String(inJSON); strings.Contains(got, "secret") {
			t.Errorf("%s became %s", inJSON, got)
		}
	}
	for _, text := range []string{lines.String(), strings.ReplaceAll(lines.String(), "\n", `\n`), strings.ToLower(url.QueryEscape(long))} {
		got := r.String(text)
		if left := strings.NewReplacer(Placeholder, "", "\n", "", `\n`, "", "=", "").Replace(got); len(left) > 4 {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// Attack: a secret somewhere in a text that a program writes as base64 or hex in lines, which cut
// it at any place.
func TestAttackLinesCutASecret(t *testing.T) {
	r := New(Options{Secrets: []string{key}, Mask: true})
	for _, decode := range []struct {
		to   func([]byte) string
		from func(string) ([]byte, error)
	}{
		{base64.StdEncoding.EncodeToString, base64.StdEncoding.DecodeString},
		{hex.EncodeToString, hex.DecodeString},
	} {
		for before := range 80 {
			text := decode.to([]byte(strings.Repeat("a text. ", 20)[:before] + key + strings.Repeat("more", 30)))
			for _, width := range []int{60, 64, 76} { // of Ruby, PEM, and MIME
				for _, end := range []string{"\n", "\r\n", `\n`, `\r\n`, `\\n`} {
					var lines []string
					for rest := text; rest != ""; rest = rest[min(width, len(rest)):] {
						lines = append(lines, rest[:min(width, len(rest))])
					}
					got := r.String(strings.Join(lines, end))
					shown, _ := decode.from(strings.NewReplacer(end, "", "*", "0").Replace(got))
					whole, _ := decode.from(strings.ReplaceAll(strings.Join(lines, end), end, ""))
					if !strings.Contains(string(whole), key) {
						t.Fatalf("%q is no text with the secret", whole)
					}
					if strings.Contains(string(shown), key) || strings.Contains(string(shown), key[3:]) ||
						strings.Contains(string(shown), key[:len(key)-3]) {
						t.Fatalf("%d before, %d wide, %q: %q became %q", before, width, end, strings.Join(lines, end), got)
					}
				}
			}
		}
	}
}
