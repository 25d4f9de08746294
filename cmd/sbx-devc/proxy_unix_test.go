//go:build unix

package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
)

// startProxy starts the program and reads the variables that it prints first. lines is what
// it prints later, said what it tells its user.
func startProxy(t *testing.T, cmd *exec.Cmd, variables int) (set map[string]string, lines *bufio.Reader, said *bytes.Buffer) {
	t.Helper()
	said = new(bytes.Buffer)
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines, set = bufio.NewReader(out), map[string]string{}
	for range variables {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		set[name] = value
	}
	return set, lines, said
}

// Attack: a sandbox of another maker's, which has the proxy's token, asks for other models,
// paths and more than its budget, and looks for the key in each answer.
func TestAttackTheProxyAlone(t *testing.T) {
	const key = "sk-ant-key-of-this-test"
	api := httptest.NewServer(&fakeapi.Server{APIKey: key})
	defer api.Close()
	home := t.TempDir()
	cmd := exec.Command(builtProgram(t), "proxy", "--models", "claude-sonnet-*", "--budget", "2 requests")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=" + key, "SBX_DEVC_UPSTREAM=" + api.URL}
	set, lines, said := startProxy(t, cmd, 2)
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
		t.Errorf("%v: %s", err, said)
	}
	if !strings.Contains(said.String(), "2 answers of the model") {
		t.Errorf("it says\n%s", said)
	}
	if all := answers + said.String() + string(rest); strings.Contains(all, key) {
		t.Errorf("the key is in\n%s", all)
	}
}

// Attack: programs of another maker's sandbox use a provider of the user's settings: its key
// goes out, stays here, and what is used counts for the budgets of this process.
func TestAttackTheProxyServesAProvider(t *testing.T) {
	const key = "sk-provider-key-of-this-test"
	var arrived []string
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived = append(arrived, r.Method+" "+r.RequestURI+" "+r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"choices":[],"usage":{"prompt_tokens":600000,"completion_tokens":100000}}`)
	}))
	defer provider.Close()
	home := t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".config/sbx-devc/settings.jsonc", `{"providers": [{"name": "acme", "url": "`+provider.URL+`/v1", "from": "env:ACME_KEY",
		"prices": {"small": {"input": 1, "output": 4}}}]}`)
	write("project/README.md", "")
	cmd := exec.Command(builtProgram(t), "proxy", "--budget", "2 usd/day")
	cmd.Dir = filepath.Join(home, "project")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-ant-key-of-this-test", "ACME_KEY=" + key}
	set, lines, said := startProxy(t, cmd, 4)
	answers := ""
	for _, c := range []struct {
		base, token string
		want        int
	}{
		{"OPENAI_BASE_URL", "OPENAI_API_KEY", 200}, {"OPENAI_BASE_URL", "ANTHROPIC_AUTH_TOKEN", 401},
		{"OPENAI_BASE_URL", "OPENAI_API_KEY", 200}, {"OPENAI_BASE_URL", "OPENAI_API_KEY", 402},
	} {
		r, err := http.NewRequest(http.MethodPost, set[c.base]+"/chat/completions", strings.NewReader(`{"model":"small","messages":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+set[c.token])
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if answers += string(text); res.StatusCode != c.want {
			t.Errorf("%v: %d %s", c, res.StatusCode, text)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, lines)
	_ = cmd.Wait()
	if want := "POST /v1/chat/completions Bearer " + key; len(arrived) != 2 || arrived[0] != want || arrived[1] != want {
		t.Errorf("arrived %q", arrived)
	}
	if strings.Contains(answers+said.String(), key) || !strings.Contains(said.String(), "$2.0000 at list price") {
		t.Errorf("said %s", said)
	}
	usage := exec.Command(builtProgram(t), "usage", "--json", "--by", "model")
	usage.Dir, usage.Env = cmd.Dir, cmd.Env
	if text, err := usage.Output(); err != nil || !strings.Contains(string(text), "acme:small") {
		t.Errorf("%v: %s", err, text)
	}
}

// The proxy serves operations with --allow: it prints where, and where its authority is, and
// leaves nothing behind. What is no entry about operations is refused.
func TestAttackTheProxyServesOperations(t *testing.T) {
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home,
		"ANTHROPIC_API_KEY=sk-ant-key-of-this-test", "APP=key-of-the-app"}
	for want, args := range map[string][]string{
		`"docs.example.com" opens a host whole`: {"--allow", "docs.example.com"},
		"and there is none":                     {"--key", "APP for git:github.com/acme/app"},
		"stands for all networks":               {"--allow", "npm:read", "--forward", "0.0.0.0:0"},
	} {
		cmd := exec.Command(builtProgram(t), append([]string{"proxy"}, args...)...)
		cmd.Dir, cmd.Env = home, env
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v %s", args, err, out)
		}
	}
	if err := os.Mkdir(filepath.Join(home, "project"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(builtProgram(t), "proxy", "--allow", "git:git.invalid/acme/app", "--key", "APP for git:git.invalid/acme/app")
	cmd.Dir, cmd.Env = filepath.Join(home, "project"), env
	set, lines, said := startProxy(t, cmd, 4)
	certificate, err := os.ReadFile(set["SBX_CA_FILE"])
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(certificate) {
		t.Fatalf("%v %q", err, certificate)
	}
	through, err := url.Parse(set["HTTPS_PROXY"])
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(through), TLSClientConfig: &tls.Config{RootCAs: roots}}}
	res, err := client.Get("https://git.invalid/acme/other/info/refs?service=git-upload-pack")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if !strings.Contains(string(text), "git:git.invalid/acme/other") {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	if res, err := client.Get("https://evil.invalid/"); err == nil {
		t.Errorf("%s", res.Status)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	_ = cmd.Wait()
	if _, err := os.Stat(filepath.Dir(set["SBX_CA_FILE"])); err == nil {
		t.Error("the folder of the certificate is left")
	}
	for _, want := range []string{"refused git.invalid: ", "refused evil.invalid: no entry is about operations at evil.invalid:443"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if strings.Contains(said.String()+string(rest)+string(text), "key-of-the-app") {
		t.Errorf("the key is in %s", said)
	}
}
