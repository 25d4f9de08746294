package report

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
)

// Each form of a report says of each key what it went with, and what was refused at its
// hosts; a refusal at another host is none of the key's.
func TestKeysOfAReport(t *testing.T) {
	refused := func(name, operation string) audit.Record {
		return audit.Record{Verdict: firewall.Deny, Layer: audit.LayerHTTP, Name: name, Dst: "192.0.2.1", Port: 443, Proto: firewall.TCP,
			Reason: "no entry allows it", Operation: operation, Count: 2}
	}
	r := New([]audit.Record{
		refused("github.com", "git push other/app refs/heads/main"), refused("api.example.com", "POST /<b>"), refused("third.example", "GET /x"),
		{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "github.com", Reason: "a lookup is no request"},
	}, nil)
	r.SetKeys([]credential.Use{
		{Binding: credential.Binding{Name: "app", For: "git:github.com/acme/app", Entries: []string{"git:github.com/acme/app"}},
			Requests: []credential.Requests{{Host: "github.com", Operation: "git read acme/app", Count: 3}, {Host: "github.com", Count: 4}}},
		{Binding: credential.Binding{Name: "api", For: "https://api.example.com", Entries: []string{"https://api.example.com GET /**"}}},
	})
	const (
		app   = "key app, for git:github.com/acme/app: went with 7 requests; 2 refused at its hosts"
		with  = "3 went: git read acme/app at github.com"
		no    = "2 refused: git push other/app refs/heads/main at github.com"
		other = "4 went: others at github.com"
		api   = "key api, for https://api.example.com: went with 0 requests; 2 refused at its hosts"
	)
	var text, markdown, page, data strings.Builder
	for w, write := range map[*strings.Builder]error{
		&text: r.WriteText(&text), &markdown: r.WriteMarkdown(&markdown), &page: r.WriteHTML(&page, ""), &data: r.WriteJSON(&data),
	} {
		if write != nil || w.Len() == 0 {
			t.Fatal(write)
		}
	}
	if !strings.Contains(text.String(), app+"\n  "+with+"\n  "+other+"\n  "+no+"\n"+api+"\n  2 refused: POST /<b> at api.example.com\n") {
		t.Errorf("%s", text.String())
	}
	if strings.Contains(text.String(), "2 refused: GET /x") {
		t.Errorf("a host of no key:\n%s", text.String())
	}
	if !strings.Contains(page.String(), "<li>"+no+"</li>") || strings.Contains(page.String(), "<b>") {
		t.Errorf("%s", page.String())
	}
	if !strings.Contains(markdown.String(), "  - 3 went: git read acme/app at github.com\n") ||
		strings.Contains(markdown.String(), "POST /<b>") {
		t.Errorf("%s", markdown.String())
	}
	for _, want := range []string{`"name": "app"`, `"operation": "git read acme/app",`, `"refused": [`} {
		if !strings.Contains(data.String(), want) {
			t.Errorf("no %s in %s", want, data.String())
		}
	}
	text.Reset()
	if err := r.Denied().WriteText(&text); err != nil || strings.Contains(text.String(), "key app") {
		t.Errorf("%v %s", err, text.String())
	}
}
