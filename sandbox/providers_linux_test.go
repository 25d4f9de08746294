package sandbox

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/settings"
)

// Programs of a run ask a provider of the user's by its variables. The key is nowhere in the
// sandbox, their token is none for the model, and the use is in the run's metering.
func TestAttackAProviderInARun(t *testing.T) {
	t.Parallel()
	e := connect(t)
	const key = "sk-provider-canary-0123456789"
	var mu sync.Mutex
	var arrived []string
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		arrived = append(arrived, r.RequestURI+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		fmt.Fprint(w, `{"choices":[{"message":{"content":"from the provider"}}],"usage":{"prompt_tokens":30,"completion_tokens":12}}`)
	}))
	defer provider.Close()
	base, err := url.Parse(provider.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	secret, err := credproxy.BearerToken(key)
	if err != nil {
		t.Fatal(err)
	}
	o := shell(`
		ask() { curl -sS --max-time 20 -w ' %{http_code}\n' -H "Authorization: ` +
		`Bearer $OPENAI_API_KEY" -d '{"model":"small","messages":[]}' "$1"; }
		ask "$OPENAI_BASE_URL/chat/completions"
		ask "$OPENAI_BASE_URL/models"
		ask "${OPENAI_BASE_URL%/providers/*}/v1/messages"
		part='sk-provider-canary[-]'
		cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\0' '\n' | grep -a "$part" && echo FOUND
		grep -ra "$part" /etc /home /run /tmp /workspace 2>/dev/null && echo FOUND`)
	o.Providers = []settings.Provider{{Name: "acme"}}
	tr := (&trial{options: o, providers: []credproxy.Provider{{Name: "acme", Base: base, Key: secret}}}).run(t, e)
	out := tr.stdout.String() + tr.stderr.String()
	for _, want := range []string{"from the provider", " 200", " 403", " 401"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "FOUND") || strings.Contains(out, key) {
		t.Errorf("the key is inside:\n%s", out)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(arrived, []string{"/v1/chat/completions Bearer " + key}) {
		t.Errorf("arrived %q", arrived)
	}
	if !slices.ContainsFunc(tr.result.Models,
		func(s spending.Spent) bool { return s.Model == "acme:small" && s.Input == 30 && s.Output == 12 }) {
		t.Errorf("metered %+v", tr.result.Models)
	}
}
