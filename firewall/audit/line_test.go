package audit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestEscapedJSONMeansTheSame(t *testing.T) {
	for _, s := range []string{"plain", "a\u202eb\u0085\u009b[2J\x7f", "\U0001f600 é", "\x1b\n\"\\"} {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		escaped := EscapeJSON(text)
		var back string
		if err := json.Unmarshal(escaped, &back); err != nil || back != s {
			t.Errorf("%q became %s and reads as %q (%v)", s, escaped, back, err)
		}
		if i := bytes.IndexFunc(escaped, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
			t.Errorf("%q became %q", s, escaped)
		}
	}
}

func TestLogForPeople(t *testing.T) {
	for line, want := range map[string]string{
		`{"ts":"2026-01-02T03:04:05Z","verdict":"deny","layer":"dns","name":"evil.test","reason":"no allowlist entry ` +
			`matches evil.test"}`: "denied  dns  evil.test: no allowlist entry matches evil.test\n",
		`{"ts":"2026-01-02T03:04:06Z","verdict":"allow","layer":"ip","dst":"192.0.2.7","port":443,"proto":"tcp",` +
			`"reason":"by address"}`: "allowed ip   192.0.2.7:443/tcp: by address\n",
		`{"ts":"2026-01-02T03:04:05Z","verdict":"deny","layer":"dns","name":"a\u001b[2Jb\u202e","reason":"x"}`: `denied  dns ` +
			` a\x1b[2Jb\u202e: x` + "\n",
		`{"ts":"2026-01-02T03:04:05Z","verdict":"deny","layer":"ip","reason":"restored"}`: "denied  ip   restored\n",
		`{"ts":"2026-01-02T03:04:05Z","verdict":"deny","layer":"ip","pid":7,"exe":"/bin/x","cmd":"y ` +
			`z","reason":"r"}`: "denied  ip   r [/bin/x, pid 7]\n",
		`{"ts":"2026-01-02T03:04:05Z","verdict":"deny","layer":"ip","pid":7,"reason":"r"}`: "denied  ip   r [pid 7]\n",
		`{"ts":"2026-01-02T03:04:05Z","ver`:                                                "",
		``:                                                                                 "",
	} {
		if got := Line([]byte(line)); !strings.HasSuffix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
