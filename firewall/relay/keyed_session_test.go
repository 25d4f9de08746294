package relay_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/org/claude-sandbox/firewall/credential"
)

// Attack: a host answers a request that has the key with a session of its owner, as Jira, Jenkins and
// Spring do, and the agent does with the session what no key goes with.
func TestAttackKeyAsASession(t *testing.T) {
	const session = "session-of-the-owner"
	owners := func(r *http.Request) bool { return strings.Contains(fmt.Sprint(r.Header), session) }
	for _, protocol := range protocols() {
		for _, field := range []string{"Set-Cookie", "Set-Cookie2", "Authorization", "X-Auth-Token", "x-auth-token"} {
			var misused bool
			h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
				misused = misused || owners(r)
				if !strings.Contains(r.Header.Get("Authorization"), canary) {
					w.Header().Set("Set-Cookie", "lang=en")
					return
				}
				w.Header()[field] = []string{"id=" + session}
				w.WriteHeader(http.StatusEarlyHints)
				w.Header().Set("Trailer", field)
				_, _ = io.WriteString(w, "body")
				w.Header()[http.TrailerPrefix+field] = []string{"id=" + session}
			})
			b := newBox(t, h, "https://ok.test GET /v1/**", "https://ok.test POST /open/**")
			b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test GET /v1/**"})
			got := http.Header{}
			ask := func(method, path string) *http.Response {
				t.Helper()
				req, _ := http.NewRequest(method, "https://ok.test"+path, nil)
				for _, values := range got {
					req.Header["Cookie"] = append(req.Header["Cookie"], values...)
				}
				trace := &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
					got["early"] = append(got["early"], h[http.CanonicalHeaderKey(field)]...)
					return nil
				}}
				res, err := b.client(protocol).Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if _, err := io.ReadAll(res.Body); err != nil {
					t.Fatal(err)
				}
				return res
			}
			res := ask(http.MethodGet, "/v1/a")
			got["head"], got["trailer"] = res.Header.Values(field), res.Trailer.Values(field)
			if text := fmt.Sprint(got); strings.Contains(text, session) {
				t.Errorf("%s, %s: the agent got %s", protocol, field, text)
			}
			if res = ask(http.MethodPost, "/open/a"); misused {
				t.Errorf("%s, %s: a request without the key came with its owner's session", protocol, field)
			}
			if res.StatusCode != http.StatusOK || res.Header.Get("Set-Cookie") != "lang=en" {
				t.Errorf("%s: an answer without the key: %s %v", protocol, res.Status, res.Header)
			}
		}
	}
}

// Attack: a host answers with the request that came, as base64 in lines (Ruby's, MIME's), which cut
// the key at any place.
func TestAttackKeyInLinesOfAnAnswer(t *testing.T) {
	h := newHost(t, []string{"http/1.1"}, func(w http.ResponseWriter, r *http.Request) {
		text := base64.StdEncoding.EncodeToString([]byte(r.RequestURI + " " + r.Header.Get("Authorization") + strings.Repeat(" end", 40)))
		for ; len(text) > 60; text = text[60:] {
			_, _ = io.WriteString(w, text[:60]+"\n")
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, text)
	})
	b := newBox(t, h, "https://ok.test GET /v1/**")
	b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test"})
	client := b.client("http/1.1")
	for before := range 50 {
		res, err := client.Get("https://ok.test/v1/" + strings.Repeat("a", before))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		shown, bad := base64.StdEncoding.DecodeString(strings.NewReplacer("\n", "", "*", "A").Replace(string(text)))
		if err != nil || strings.Contains(string(shown), canary[4:]) || strings.Contains(string(shown), canary[:len(canary)-4]) ||
			!strings.Contains(string(text), "*") {
			t.Errorf("%d before: %q, %v %v", before, shown, err, bad)
		}
	}
}

// Attack: a host cuts its messages, and the agent chooses where by the length of what it asks for.
func TestAttackKeyCutInAnAnswer(t *testing.T) {
	const key = canary + "-5d1b77e0"
	h := newHost(t, []string{"http/1.1"}, func(w http.ResponseWriter, r *http.Request) {
		text := "no such thing: " + r.RequestURI + " " + r.Header.Get("Authorization") + "."
		if r.URL.Query().Get("as") == "base64" {
			text = base64.StdEncoding.EncodeToString([]byte(text))
		}
		w.Header().Set("X-First", text[:min(len(text), 72)]+"...")
		_, _ = io.WriteString(w, "..."+text[min(len(text), 72):])
	})
	b := newBox(t, h, "https://ok.test GET /v1/**")
	b.withKeys(map[string]string{"K": key}, credential.Binding{Name: "K", For: "https://ok.test"})
	client := b.client("http/1.1")
	for _, as := range []string{"text", "base64"} {
		for before := range 60 {
			res, err := client.Get("https://ok.test/v1/" + strings.Repeat("a", before) + "?as=" + as)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			shown := []string{strings.TrimSuffix(res.Header.Get("X-First"), "..."), strings.TrimPrefix(string(body), "...")}
			if as == "base64" {
				for i := range shown {
					text, _ := base64.RawStdEncoding.DecodeString(strings.NewReplacer("*", "A", "=", "").Replace(shown[i]))
					shown[i] = string(text)
				}
			}
			const most = len(key)/2 + 1
			for _, text := range shown {
				for from := range len(key) - most {
					if strings.Contains(text, key[from:from+most]) {
						t.Errorf("%s, %d before: %q (%v)", as, before, text, err)
						break
					}
				}
			}
		}
	}
}

// Attack: a host answers in UTF-16 and does not say so, as with XML, or with base64 of that, as
// programs of Windows write it.
func TestAttackKeyInCharactersThatNobodyNames(t *testing.T) {
	in16 := func(text string, order binary.AppendByteOrder) (out []byte) {
		for _, c := range utf16.Encode([]rune(text)) {
			out = order.AppendUint16(out, c)
		}
		return out
	}
	h := newHost(t, []string{"http/1.1"}, func(w http.ResponseWriter, r *http.Request) {
		_, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		w.Header().Set("Content-Type", "application/xml")
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			text := in16("<a>"+key+"</a>", order)
			_, _ = w.Write(text)
			for before := range 3 {
				_, _ = io.WriteString(w, "\n"+base64.StdEncoding.EncodeToString(append(make([]byte, before), text...))+"\n")
			}
		}
	})
	b := newBox(t, h, "https://ok.test GET /v1/**")
	b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test"})
	res, err := b.client("http/1.1").Get("https://ok.test/v1/a")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	text := string(body)
	for line := range strings.Lines(text) {
		decoded, _ := base64.StdEncoding.DecodeString(strings.ReplaceAll(strings.TrimSpace(line), "*", "A"))
		text += string(decoded)
	}
	if plain := strings.ReplaceAll(text, "\x00", ""); err != nil || !strings.Contains(plain, "<a>") || strings.Contains(plain, canary[2:]) ||
		strings.Contains(plain, canary[:len(canary)-2]) {
		t.Errorf("the agent got %q, %v", plain, err)
	}
}

// Attack: an agent asks for one part of an answer after the other.
func TestAttackKeyInPartsOfAnAnswer(t *testing.T) {
	for _, protocol := range protocols() {
		h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
			if own := r.Header.Get("Request-Range"); own != "" {
				r.Header.Set("Range", own)
			}
			http.ServeContent(w, r, "a.txt", time.Time{}, strings.NewReader(r.Header.Get("Authorization")+" and more"))
		})
		b := newBox(t, h, "https://ok.test GET /v1/**", "https://ok.test GET /open/**")
		b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test GET /v1/**"})
		client := b.client(protocol)
		ask := func(path, field string, at int) (int, string) {
			t.Helper()
			req, _ := http.NewRequest(http.MethodGet, "https://ok.test"+path, nil)
			req.Header.Set(field, fmt.Sprintf("bytes=%d-%d", at, at))
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, _ := io.ReadAll(res.Body)
			return res.StatusCode, string(body)
		}
		for _, field := range []string{"Range", "Request-Range"} {
			all := ""
			for at := range len("Bearer " + canary) {
				status, text := ask("/v1/a", field, at)
				if all += text; status != http.StatusOK || !strings.HasSuffix(text, "* and more") {
					t.Fatalf("%s: %d %q", protocol, status, text)
				}
			}
			if strings.Contains(all, canary) {
				t.Errorf("%s: the agent got %q", protocol, all)
			}
		}
		if status, text := ask("/open/a", "Range", 1); status != http.StatusPartialContent || text != "a" {
			t.Errorf("%s, without the key: %d %q", protocol, status, text)
		}
	}
}
