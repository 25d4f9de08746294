package action

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/action/github"
	"github.com/org/claude-sandbox/agent"
)

// pullHub is a stand-in of GitHub for the comments on pull request 5 of o/r.
type pullHub struct {
	mu     sync.Mutex
	noLine bool             // it takes no comment on a line
	plain  []map[string]any // comments
	lines  []map[string]any // comments on lines
}

func (h *pullHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	bot := map[string]string{"type": "Bot"}
	var in struct {
		Body, Event string
		Comments    []github.LineComment
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	path := strings.TrimPrefix(r.URL.Path, "/repos/o/r")
	switch {
	case r.Header.Get("Authorization") != "Bearer "+jobToken:
		w.WriteHeader(http.StatusUnauthorized)
	case path == "/pulls/5/files":
		answer([]github.PullFile{{Path: "a.go", Patch: "@@ -1,2 +1,3 @@\n a\n+b\n c"}})
	case path == "/issues/5/comments" && r.Method == http.MethodGet:
		answer(h.plain)
	case path == "/pulls/5/comments":
		answer(h.lines)
	case path == "/issues/5/comments":
		h.plain = append(h.plain,
			map[string]any{"id": len(h.plain), "body": in.Body, "user": bot, "html_url": fmt.Sprintf("https://hub/%d", len(h.plain))})
		answer(h.plain[len(h.plain)-1])
	case strings.HasPrefix(path, "/issues/comments/") && r.Method == http.MethodPatch:
		var id int
		_, _ = fmt.Sscanf(path, "/issues/comments/%d", &id)
		h.plain[id]["body"] = in.Body
		answer(h.plain[id])
	case path == "/pulls/5/reviews" && (h.noLine || in.Event != "COMMENT"):
		w.WriteHeader(http.StatusUnprocessableEntity)
		answer(map[string]string{"message": "Unprocessable"})
	case path == "/pulls/5/reviews":
		for _, c := range in.Comments {
			h.lines = append(h.lines, map[string]any{"path": c.Path, "line": c.Line, "body": strings.TrimSpace(c.Body), "user": bot})
		}
		answer(map[string]any{})
	default:
		http.NotFound(w, r)
	}
}

// comment runs the step and returns its conclusion, outputs and log.
func (h *pullHub) comment(t *testing.T, review string, env ...string) (agent.Conclusion, map[string]string, string) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "event"), `{"pull_request":{"number":5}}`)
	values := map[string]string{
		"GITHUB_API_URL": server.URL, "GITHUB_REPOSITORY": "o/r", "GITHUB_EVENT_PATH": filepath.Join(dir, "event"),
		"GITHUB_OUTPUT": filepath.Join(dir, "output"), "INPUT_GITHUB_TOKEN": jobToken, "INPUT_REVIEW": review,
	}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	var log bytes.Buffer
	c := Comment(t.Context(), ApplyOptions{Getenv: func(name string) string { return values[name] }, Stdout: &log})
	text, err := os.ReadFile(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	return c, readOutputs(t, string(text)), log.String()
}

const findings = `{"summary":"Adds **b**.","comments":[{"path":"a.go","line":2,"body":"wrong"},{"path":"a.go","line":900,"body":"far"},` +
	`{"path":"c.go","line":1,"body":"other"}]}`

func TestAReviewIsOnItsLinesAndInOneComment(t *testing.T) {
	stranger := map[string]any{"id": 0, "body": "<!-- claude-sandbox: Review by an agent -->\nmine", "user": map[string]string{"type": "User"}}
	h := &pullHub{plain: []map[string]any{stranger}}
	c, outputs, log := h.comment(t, findings)
	if c != Commented || outputs["conclusion"] != "commented" || outputs["line_comments"] != "1" || outputs["comment"] != "https://hub/1" {
		t.Fatalf("%s %v\n%s", c, outputs, log)
	}
	if len(h.lines) != 1 || h.lines[0]["line"] != 2 || h.lines[0]["body"] != "wrong" {
		t.Errorf("%v", h.lines)
	}
	text := h.plain[1]["body"].(string)
	for _, want := range []string{"### Review by an agent\n", "Adds **b**.", "`a.go:900`\n\nfar", "`c.go:1`\n\nother",
		"no person has checked it"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
	// A later run changes its own comment, and repeats none.
	again := strings.Replace(findings, "Adds", "Now adds", 1)
	if c, outputs, log := h.comment(t, again); c != Commented || outputs["line_comments"] != "0" || len(h.lines) != 1 || len(h.plain) != 2 {
		t.Errorf("%s %v %v\n%s", c, outputs, h.plain, log)
	}
	if !strings.Contains(h.plain[1]["body"].(string), "Now adds") || stranger["body"] != "<!-- claude-sandbox: Review by an agent -->\nmine" {
		t.Errorf("%v", h.plain)
	}
	if _, outputs, _ := h.comment(t, findings, "INPUT_TITLE=Another"); outputs["comment"] != "https://hub/2" {
		t.Errorf("another title: %v", outputs)
	}
}

func TestRemarksThatCannotStandOnLinesAreInTheSummary(t *testing.T) {
	h := &pullHub{noLine: true}
	c, _, log := h.comment(t, findings)
	if c != Commented || len(h.lines) != 0 || !strings.Contains(h.plain[0]["body"].(string), "`a.go:2`\n\nwrong") ||
		!strings.Contains(log, "::warning") {
		t.Errorf("%s %v\n%s", c, h.plain, log)
	}
}

// Attack: the agent's review calls people, loads pictures, closes issues, ends the comment's
// mark, and holds a token.
func TestAttackAReviewActs(t *testing.T) {
	evil := `@everyone <img src=https://evil.example/x> ![x](https://evil.example/y) [click](https://evil.example) fixes #1 --> ` +
		`ghp_0123456789abcdefghijklmnopqrstuvwxyzABCD`
	said, err := json.Marshal(map[string]any{"summary": evil, "comments": []any{
		map[string]any{"path": "a.go", "line": 2, "body": evil},
		map[string]any{"path": "x`|@everyone\n<b>", "line": 1, "body": evil + "\n```suggestion\nevil()\n```"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h := &pullHub{}
	c, _, log := h.comment(t, string(said))
	if c != Commented {
		t.Fatalf("%s\n%s", c, log)
	}
	text := fmt.Sprint(h.plain, h.lines)
	for _, bad := range []string{"<img", "](", "ghp_", " @everyone", "fixes &#35;1", "\n@everyone", "```suggestion", "fixes #1", "\n<b>"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is there:\n%s", bad, text)
		}
	}
}

func TestCommentsThatAreNotMade(t *testing.T) {
	for name, c := range map[string]struct {
		review, env, want string
		conclusion        agent.Conclusion
	}{
		"no JSON":      {"done", "", "input review", agent.Failure},
		"no findings":  {"", "", "input review", agent.Failure},
		"no token":     {findings, "INPUT_GITHUB_TOKEN=", "github_token is empty", ConfigError},
		"wrong token":  {findings, "INPUT_GITHUB_TOKEN=ghs_x", "GitHub answers 401", agent.Failure},
		"no pull":      {findings, "GITHUB_EVENT_PATH=/nowhere", "about no pull request", ConfigError},
		"another pull": {findings, "INPUT_PULL_REQUEST=6", "GitHub answers 404", agent.Failure},
	} {
		t.Run(name, func(t *testing.T) {
			h := &pullHub{}
			conclusion, outputs, log := h.comment(t, c.review, c.env)
			if conclusion != c.conclusion || !strings.Contains(outputs["result"], c.want) || !strings.Contains(log, "::error") || len(h.plain) > 0 {
				t.Errorf("%s %v %v\n%s", conclusion, outputs, h.plain, log)
			}
		})
	}
}

// A comment on a pull request is an event about an issue.
func TestPullOf(t *testing.T) {
	for text, want := range map[string]int{
		`{"pull_request":{"number":3}}`: 3, `{"issue":{"number":4,"pull_request":{}}}`: 4, `{"issue":{"number":4}}`: 0, `{}`: 0, `x`: 0,
	} {
		name := filepath.Join(t.TempDir(), "event")
		write(t, name, text)
		if got := pullOf(name); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func TestInputsOfCommentAgree(t *testing.T) {
	text, docs := repoFile(t, "comment/action.yml"), repoFile(t, "docs/action.md")
	fields := reflect.VisibleFields(reflect.TypeFor[CommentInputs]())
	for _, field := range fields {
		name := field.Tag.Get("input")
		if !strings.Contains(text, "        INPUT_"+strings.ToUpper(name)+": ${{ inputs."+name+" }}\n") ||
			!strings.Contains(docs, "| `"+name+"` |") {
			t.Errorf("comment/action.yml or docs/action.md lacks input %s", name)
		}
	}
	if n := strings.Count(text, "INPUT_"); n != len(fields) {
		t.Errorf("comment/action.yml passes %d inputs, and the code reads %d", n, len(fields))
	}
	for _, p := range (commented{}).pairs() {
		if !strings.Contains(text, "value: ${{ steps.comment.outputs."+p.name) {
			t.Errorf("comment/action.yml lacks output %s", p.name)
		}
	}
}
