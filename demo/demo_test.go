package demo

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/exitcode"
)

// With a key the user's environment stays as it is; without one the scripted model
// answers on loopback.
func TestModelAPI(t *testing.T) {
	var out bytes.Buffer
	for key, scripted := range map[string]bool{"": true, "sk-ant-of-the-user": false} {
		env := map[string]string{"ANTHROPIC_API_KEY": key, "SBX_DEVC_UPSTREAM": "the user's", "PATH": "/bin"}
		d := &Demo{Out: &out, Getenv: func(name string) string { return env[name] }}
		getenv, closeAPI, err := d.modelAPI()
		if err != nil {
			t.Fatal(err)
		}
		defer closeAPI()
		if getenv("PATH") != "/bin" || (getenv("SBX_DEVC_UPSTREAM") != "the user's") != scripted ||
			(getenv("ANTHROPIC_API_KEY") != key) != scripted {
			t.Errorf("key %q: upstream %s", key, getenv("SBX_DEVC_UPSTREAM"))
		}
		if scripted {
			response, err := http.Get(getenv("SBX_DEVC_UPSTREAM") + "/v1/messages")
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
		}
	}
	if !strings.Contains(out.String(), "SCRIPTED") {
		t.Errorf("nobody says that the model is scripted: %s", out.String())
	}
}

func TestTheRepositoryIsCommitted(t *testing.T) {
	d := &Demo{Out: &bytes.Buffer{}, dir: filepath.Join(t.TempDir(), "hello")}
	if err := d.makeRepository(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(d.dir, ".git", "refs", "heads", "main")); err != nil {
		t.Error(err)
	}
}

// A command that fails has said why: the demo ends with its exit code and no word.
func TestAFailedCommandEndsTheDemo(t *testing.T) {
	d := &Demo{Out: &bytes.Buffer{}, Run: func(context.Context, Call) int { return exitcode.Config }}
	err := d.typed(t.Context(), Call{Args: []string{"init"}})
	if exit := (*exitcode.Error)(nil); !errors.As(err, &exit) || exit.Code != exitcode.Config || exit.Err != nil {
		t.Errorf("%v", err)
	}
}
