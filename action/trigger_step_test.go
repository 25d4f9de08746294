package action

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/agent"
)

// Attack: a stranger starts the agent by a comment. A person with write access does, and
// Claude gets no instructions of the commit that is checked out.
func TestAttackAStrangerStartsTheAgent(t *testing.T) {
	asked := ""
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		if r.Header.Get("Authorization") != "Bearer "+jobToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/repos/o/r/collaborators/ann/permission":
			fmt.Fprint(w, `{"permission":"write"}`)
		case "/repos/o/r/collaborators/bob/permission":
			fmt.Fprint(w, `{"permission":"read"}`)
		default:
			http.Redirect(w, r, "/repos/o/r/collaborators/ann/permission", http.StatusFound)
		}
	}))
	defer api.Close()
	for _, c := range []struct {
		actor, text, token string
		want               agent.Conclusion
	}{
		{"ann", "@claude fix it", jobToken, agent.Success},
		{"bob", "@claude fix it", jobToken, NotAllowed},
		{"../ann", "@claude fix it", jobToken, NotAllowed},
		{"eve", "@claude fix it", jobToken, NotAllowed}, // the answer leads to ann's
		{"ann", "@claude fix it", "", NotAllowed},
		{"ann", "@claude fix it", "ghs_another", NotAllowed},
		{"bob", "hello", jobToken, Skipped},
	} {
		event := filepath.Join(t.TempDir(), "event.json")
		write(t, event,
			fmt.Sprintf(`{"repository":{"full_name":"o/r"},"sender":{"login":%q},"issue":{"title":"t","pull_request":{}},"comment":{"body":%q}}`,
				c.actor, c.text))
		began := false
		r := runStep(t, t.Context(), map[string]string{
			"GITHUB_EVENT_NAME": "issue_comment", "GITHUB_EVENT_PATH": event, "GITHUB_REPOSITORY": "o/r", "GITHUB_ACTOR": c.actor,
			"GITHUB_API_URL":     api.URL,
			"INPUT_GITHUB_TOKEN": c.token, "INPUT_TRIGGER_PHRASE": "@claude",
		}, func(_ context.Context, job Job) (Report, error) {
			began = true
			if !job.Untrusted {
				t.Error("Claude gets the instructions of a commit that may be a stranger's")
			}
			return Report{Outcome: agent.Outcome{Conclusion: agent.Success}, Result: &agent.Result{Text: "done"}}, nil
		})
		if r.conclusion != c.want || began != (c.want == agent.Success) || r.outputs["conclusion"] != string(c.want) {
			t.Errorf("%+v: %s, began %v, asked %s\n%s", c, r.conclusion, began, asked, r.log)
		}
		if said := strings.Contains(r.log, "::error"); said != (c.want == NotAllowed) {
			t.Errorf("%+v: an error is shown: %v\n%s", c, said, r.log)
		}
		if (r.summary == "") != (c.want == Skipped) {
			t.Errorf("%+v: summary %q", c, r.summary)
		}
	}
}
