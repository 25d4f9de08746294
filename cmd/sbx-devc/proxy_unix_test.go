//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
)

// Attack: a sandbox of another maker's, which has the proxy's token, asks for other models,
// paths and more than its budget, and looks for the key in each answer.
func TestAttackTheProxyAlone(t *testing.T) {
	const key = "sk-ant-key-of-this-test"
	api := httptest.NewServer(&fakeapi.Server{APIKey: key})
	defer api.Close()
	home := t.TempDir()
	cmd := exec.Command(builtProgram(t), "proxy", "--models", "claude-sonnet-*", "--budget", "2 requests")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=" + key, "SBX_DEVC_UPSTREAM=" + api.URL}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewReader(out)
	set := map[string]string{}
	for range 2 {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %s", err, &said)
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		set[name] = value
	}
	answers := ""
	ask := func(path, token, model string) int {
		r, err := http.NewRequest(http.MethodPost, set["ANTHROPIC_BASE_URL"]+path, strings.NewReader(fmt.Sprintf(
			`{"model":%q,"max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`, model)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answers += fmt.Sprint(resp.Header) + string(body)
		return resp.StatusCode
	}
	token, model := set["ANTHROPIC_AUTH_TOKEN"], "claude-sonnet-4-5"
	for _, c := range []struct {
		path, token, model string
		want               int
	}{
		{"/v1/messages", token, model, 200},
		{"/v1/messages", token + "x", model, 401},
		{"/v1/messages", key, model, 401},
		{"/v1/messages", token, "claude-opus-4-5", 404},
		{"/v1/files", token, model, 403},
		{"/v1/messages/../files", token, model, 403},
		{"/v1//messages", token, model, 403},
		{"/v1%2fmessages", token, model, 403},
		{"/v1/messages?x=1", token, model, 403},
		{"/v1/messages/batches", token, model, 403},
		{"/v1/chat/completions", token, model, 403},
		{"/v1/messages", token, model, 200},
		{"/v1/messages", token, model, 402},
	} {
		if got := ask(c.path, c.token, c.model); got != c.want {
			t.Errorf("%s of %s: %d, want %d", c.path, c.model, got, c.want)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &said)
	}
	if !strings.Contains(said.String(), "2 answers of the model") {
		t.Errorf("it says\n%s", &said)
	}
	if all := answers + said.String() + string(rest); strings.Contains(all, key) {
		t.Errorf("the key is in\n%s", all)
	}
}
