package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const token = "ghs_not-a-real-token_0123456789abcdef"

// serve returns a client of a server that answers with answer.
func serve(t *testing.T, answer http.HandlerFunc) Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return Client{API: server.URL + "/", Token: token, Repository: "o/r"}
}

func TestPermission(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.EscapedPath() {
		case "/repos/o/r/collaborators/ann/permission":
			fmt.Fprint(w, `{"permission":"write"}`)
		case "/repos/o/r/collaborators/empty/permission":
			fmt.Fprint(w, `{}`)
		case "/repos/o/r/collaborators/..%2Fann/permission", "/repos/o/r/collaborators/eve/permission":
			http.NotFound(w, r)
		default:
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "<html>down</html>")
		}
	})
	for user, want := range map[string]string{"ann": "write", "eve": "none", "../ann": "none"} {
		if got, err := c.Permission(t.Context(), user); err != nil || got != want {
			t.Errorf("%s: %q, %v", user, got, err)
		}
	}
	for user, want := range map[string]string{"empty": "no permission", "down": "GitHub answers 502: Bad Gateway"} {
		if got, err := c.Permission(t.Context(), user); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", user, got, err)
		}
	}
}

// Attack: the answer leads elsewhere, and the token with it; the words of an error hold it, or
// more than a line.
func TestAttackTheTokenLeaves(t *testing.T) {
	stolen := ""
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stolen = r.Header.Get("Authorization") + "-"
	}))
	defer thief.Close()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	})
	if _, err := c.AddComment(t.Context(), 1, "x"); err == nil || stolen != "" || strings.Contains(err.Error(), token) {
		t.Errorf("%v, %q", err, stolen)
	}
	c = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprintf(w, `{"message":"no\n::error::x","errors":[{"message":%q}]}`, strings.Repeat("y", 1000))
	})
	err := c.AddReview(t.Context(), 1, nil)
	if e := (*Error)(nil); !errors.As(err, &e) || e.Status != 422 || strings.Contains(e.Message, "\n") || len(e.Message) > 400 {
		t.Errorf("%v", err)
	}
	c.Repository = "o/r/../../users"
	if _, err := c.Comments(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "is no OWNER/NAME") {
		t.Errorf("%v", err)
	}
}

func TestListsAreReadToTheirEndAndBounded(t *testing.T) {
	pages, most := 0, 3
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		pages++
		size := pageSize
		if r.URL.Query().Get("page") == fmt.Sprint(most) {
			size = 1
		}
		fmt.Fprintf(w, "[%s{}]", strings.Repeat("{},", size-1))
	})
	if files, err := c.PullFiles(t.Context(), 1); err != nil || len(files) != 2*pageSize+1 || pages != 3 {
		t.Errorf("%d files of %d pages, %v", len(files), pages, err)
	}
	most, pages = 1000, 0
	if files, err := c.PullFiles(t.Context(), 1); err != nil || len(files) != maxPages*pageSize || pages != maxPages {
		t.Errorf("%d files of %d pages, %v", len(files), pages, err)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"html_url":%q}`, strings.Repeat("x", maxAnswer))
	})
	if _, err := c.OpenPull(t.Context(), Pull{}); err == nil {
		t.Error("an answer without an end is taken")
	}
	c = serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"number":0}`) })
	if _, err := c.OpenPull(t.Context(), Pull{}); err == nil {
		t.Error("a pull request without a number is taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.ClosePull(ctx, 1); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), token) {
		t.Errorf("%v", err)
	}
}

// Attack: a tree names files outside of itself, links, submodules and very many files.
func TestAttackTexts(t *testing.T) {
	name := strings.Repeat("a", 40)
	entry := func(mode, kind, path string) string {
		return fmt.Sprintf(`{"mode":%q,"type":%q,"sha":%q,"path":%q}`, mode, kind, name, path)
	}
	many := make([]string, maxTexts+1)
	for i := range many {
		many[i] = entry("100644", "blob", fmt.Sprint(i))
	}
	for title, c := range map[string]struct {
		below []string
		want  int
		err   string
	}{
		"plain": {[]string{entry("100644", "blob", "a.md"), entry("100755", "blob", "b/c.sh")}, 2, ""},
		"out": {[]string{entry("100644", "blob", "../../evil"), entry("100644", "blob", "a/../../evil"), entry("100644", "blob", "a//b")},
			0, ""},
		"link":      {[]string{entry("120000", "blob", "l"), entry("160000", "commit", "s")}, 0, ""},
		"many":      {many, 0, "more than 200 files"},
		"sha":       {[]string{`{"mode":"100644","type":"blob","sha":"../x","path":"a"}`}, 0, "no name of a file's content"},
		"truncated": {nil, 0, "is not whole"},
	} {
		t.Run(title, func(t *testing.T) {
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.Contains(r.URL.Path, "/blobs/"):
					fmt.Fprint(w, `{"encoding":"base64","content":"eA=="}`)
				case r.URL.RawQuery == "":
					fmt.Fprintf(w, `{"tree":[%s,%s]}`, entry("040000", "tree", ".claude"), entry("100644", "blob", "other"))
				default:
					fmt.Fprintf(w, `{"truncated":%v,"tree":[%s]}`, c.below == nil, strings.Join(c.below, ","))
				}
			})
			texts, err := client.Texts(t.Context(), name, "", "CLAUDE.md", ".claude")
			if len(texts) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%d texts, %v", len(texts), err)
			}
			for path := range texts {
				if !strings.HasPrefix(path, ".claude/") {
					t.Errorf("%s", path)
				}
			}
		})
	}
}
