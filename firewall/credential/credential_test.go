package credential

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall/operation"
)

const value = "canary-value-93b1"

func TestBind(t *testing.T) {
	allow := []string{"docs.example.com", "git:github.com/acme/app push refs/heads/agent/*", "git:github.com/acme/*",
		"https://api.example.com GET /v1/**"}
	used, unused, err := Bind([]Binding{
		{Name: "any", For: "git:github.com/acme/*"},
		{Name: "api", For: "https://api.example.com", As: "header:X-Key"},
		{Name: "other", For: "git:github.com/other/app"},
		{Name: "push", For: "git:github.com/acme/app push refs/heads/agent/*"},
	}, allow)
	if err != nil || fmt.Sprint(unused) != "[key other goes with ]" {
		t.Fatal(unused, err)
	}
	want := "[key any goes with git:github.com/acme/* key api goes with https://api.example.com GET /v1/** " +
		"key push goes with git:github.com/acme/app push refs/heads/agent/*]"
	if got := fmt.Sprint(used); got != want {
		t.Errorf("%s", got)
	}
	// A narrower entry than the key is for is one of its own.
	used, _, err = Bind([]Binding{{Name: "a", For: "git:github.com/acme/app push refs/heads/*"}}, []string{"git:github.com/acme/app"})
	if err != nil || len(used) != 1 {
		t.Error(used, err)
	}
	if _, _, err = Bind([]Binding{{Name: "a", For: "git:github.com/acme/app"},
		{Name: "b", For: "git:github.com/acme/app push refs/heads/agent/*"}},
		[]string{"git:github.com/acme/app push refs/heads/agent/*"}); err == nil ||
		!strings.Contains(err.Error(), "the keys a and b are both for") {
		t.Error(err)
	}
	// The key for less has what both name, and comes first, in whatever order they are written.
	wide, narrow := Binding{Name: "wide", For: "https://api.example.com GET /**"}, Binding{Name: "narrow",
		For: "https://api.example.com GET /v1/**"}
	for _, all := range [][]Binding{{wide, narrow}, {narrow, wide}} {
		used, _, err := Bind(all, []string{wide.For, narrow.For})
		want := "[key narrow goes with https://api.example.com GET /v1/** key wide goes with https://api.example.com GET /**]"
		if fmt.Sprint(used) != want || err != nil {
			t.Error(used, err)
		}
	}
}

func TestForAndForm(t *testing.T) {
	for name, ok := range map[string]bool{
		"git:github.com/acme/app": true, "git:github.com/acme/app push refs/heads/agent/*": true, "https://api.example.com GET /v1/**": true,
		"https://api.example.com": true, "github:acme/app pulls.create": true, "npm:npm.example.com": true, "npm:npm.example.com read": true,
		"npm:read":   true,
		"github.com": false, "": false, "git:443": false, "git:github.com/acme/app delete": false, "https://api.example.com GET v1": false,
		"10.0.0.0/8": false, "github:": false,
	} {
		if message, hint := CheckFor(name); (message == "") != ok || !ok && hint == "" {
			t.Errorf("%q: %q %q", name, message, hint)
		}
	}
	for as, ok := range map[string]bool{
		"": true, "basic": true, "basic:me": true, "bearer": true, "header:X-Key": true, "query:key": true,
		"basic:": false, "basic:a:b": false, "bearer:x": false, "header:": false, "header:Host": false, "header:Transfer-Encoding": false,
		"header:a b": false, "header:Proxy-Authorization": false, "query:": false, "query:a&b": false, "env": false,
		"file": false, "basic:a\r\nb": false,
	} {
		if message, _ := CheckForm(as); (message == "") != ok {
			t.Errorf("%q: %q", as, message)
		}
	}
}

func TestFill(t *testing.T) {
	for _, c := range []struct{ as, value, want string }{
		{"", value, "Basic eC1hY2Nlc3MtdG9rZW46Y2FuYXJ5LXZhbHVlLTkzYjE="},
		{"basic", "me:" + value, "Basic bWU6Y2FuYXJ5LXZhbHVlLTkzYjE="},
		{"basic:me", value + "\n", "Basic bWU6Y2FuYXJ5LXZhbHVlLTkzYjE="},
		{"bearer", value, "Bearer " + value},
		{"bearer", "short", "fewer than 8"}, {"bearer", "has\r\nX: a line end", "no header can hold"},
		{"bearer", "has some spaces", "has a space"},
		{"basic", "me:short", "USER:PASSWORD"}, {"bearer", "", "fewer than 8"},
	} {
		keys, err := Fill([]Binding{{Name: "K", For: "git:a.test/b/c", As: c.as, Entries: []string{"git:a.test/b/c"}}},
			map[string]string{"K": c.value})
		if err != nil {
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), strings.TrimSpace(c.value)) && c.value != "" {
				t.Errorf("%q %q: %v", c.as, c.value, err)
			}
			continue
		}
		k := keys.all[0]
		h := http.Header{"Authorization": {"agents"}, "Accept": {"x"}}
		if k.Attach(h, ""); h.Get("Authorization") != c.want || h.Get("Accept") != "x" {
			t.Errorf("%q %q: %v", c.as, c.value, h)
		}
		text := fmt.Sprintf("%v %+v %#v %s %d %x", k, k, k, k, k, k)
		if _, err := json.Marshal(k); err == nil || strings.Contains(text, value) || strings.Contains(text, c.want) {
			t.Errorf("it is printed: %s, %v", text, err)
		}
	}
}

func TestChoose(t *testing.T) {
	keys, err := Fill([]Binding{
		{Name: "one", Entries: []string{"https://a.test GET /one/**"}, As: "bearer"},
		{Name: "two", Entries: []string{"https://a.test GET /two/**", "https://b.test GET /**"}, As: "bearer"},
	}, map[string]string{"one": value, "two": value + "2"})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(keys.Hosts()); got != "[a.test:443 b.test:443]" {
		t.Error(got)
	}
	for request, want := range map[string]string{
		"GET a.test /one/x": "one", "GET a.test /two/x": "two", "GET b.test /one/x": "two", "POST a.test /one/x": "", "GET a.test /three": "",
		"GET c.test /one/x": "",
	} {
		words := strings.Fields(request)
		path, err := operation.ParsePath(words[2])
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		k, _ := keys.Choose(operation.NewMemory(),
			&operation.Request{Host: words[1], Port: 443, Method: words[0], Path: path, Header: http.Header{}},
			operation.NewBody(strings.NewReader("")))
		if k != nil {
			got = k.Name
		}
		if got != want {
			t.Errorf("%s: key %q, want %q", request, got, want)
		}
	}
}
