package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
)

func TestRefusals(t *testing.T) {
	log := strings.Join([]string{
		`{"ts":"2026-01-01T00:00:00Z","verdict":"deny","layer":"dns","name":"a.test","reason":"old"}`,
		`{"ts":"2026-01-02T00:00:00Z","verdict":"deny","layer":"dns","name":"a.test","reason":"one"}`,
		`{"ts":"2026-01-02T00:00:00Z","verdict":"allow","layer":"dns","name":"a.test","reason":"allowed"}`,
		`{"ts":"2026-01-02T00:00:01Z","verdict":"deny","layer":"sni","name":"a.test","port":443,"proto":"tcp","reason":"two"}`,
		`{"ts":"2026-01-02T00:00:02Z","verdict":"deny","layer":"dns","name":"b.test","reason":"another name"}`,
		`{"ts":"2026-01-02T00:00:03Z","verdict":"deny","layer":"ip","dst":"192.0.2.7","port":22,"proto":"tcp","reason":"by address"}`,
		`{"ts":"2026-01-02T00:00:04Z","verdict":"deny","layer":"dns","name":"a.test","reason":"one"}`,
		`{"ts":"2026`,
	}, "\n")
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte(log), 0o644); err != nil {
		t.Fatal(err)
	}
	since := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		target string
		limit  int
		want   string
	}{
		{"a.test", 3, "one two"},
		{"a.test", 1, "one"},
		{"a.test:443", 3, "one two"},
		{"a.test:80", 3, "one"},
		{"192.0.2.7", 3, "by address"},
		{"192.0.2.7:23", 3, ""},
		{"c.test", 3, ""},
	} {
		target, err := firewall.ParseTarget(tt.target)
		if err != nil {
			t.Fatal(err)
		}
		found, err := Refusals(path, target, since, tt.limit)
		var reasons []string
		for _, r := range found {
			reasons = append(reasons, r.Reason)
		}
		if got := strings.Join(reasons, " "); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.target, got, err, tt.want)
		}
	}
	if found, err := Refusals(path+".none", firewall.Target{Name: "a.test"}, since, 3); err != nil || found != nil {
		t.Errorf("no log: %v, %v", found, err)
	}
	if found, err := Refusals(filepath.Dir(path), firewall.Target{Name: "a.test"}, since, 3); err == nil {
		t.Errorf("a folder: %v", found)
	}
}
