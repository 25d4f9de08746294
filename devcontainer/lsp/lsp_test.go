package lsp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/lsp"
)

// editor is the other side of a session: it frames messages and reads them as editors do.
type editor struct {
	testing.TB
	in   *io.PipeWriter
	out  *bufio.Reader
	came chan message // read as they arrive, so that neither side waits for the other
	end  chan error
	last int
	kept []message // notifications that came while something else was waited for
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func newEditor(t testing.TB) *editor {
	return newEditorWith(t, func(string) (lint.Files, error) { return lint.Files{}, nil })
}

func newEditorWith(t testing.TB, rules func(config string) (lint.Files, error)) *editor {
	fromEditor, in := io.Pipe()
	out, toEditor := io.Pipe()
	e := &editor{TB: t, in: in, out: bufio.NewReader(out), end: make(chan error, 1), came: make(chan message, 100_000)}
	go func() {
		defer close(e.came)
		for {
			m, err := e.frame()
			if err != nil {
				return
			}
			e.came <- m
		}
	}()
	go func() {
		err := lsp.Serve(context.Background(), fromEditor, toEditor, rules)
		fromEditor.CloseWithError(io.ErrClosedPipe)
		toEditor.Close()
		e.end <- err
	}()
	t.Cleanup(func() { in.Close(); out.Close() })
	return e
}

func (e *editor) raw(text string) {
	if _, err := io.WriteString(e.in, text); err != nil {
		e.Fatal(err)
	}
}

func (e *editor) write(m any) {
	body, err := json.Marshal(m)
	if err != nil {
		e.Fatal(err)
	}
	e.raw(fmt.Sprintf("Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n%s", len(body), body))
}

// read waits for the next message.
func (e *editor) read() message {
	e.Helper()
	m, ok := <-e.came
	if !ok {
		e.Fatal("the server has ended")
	}
	return m
}

func (e *editor) frame() (m message, err error) {
	length := 0
	for {
		line, err := e.out.ReadString('\n')
		if err != nil {
			return m, err
		}
		if line == "\r\n" {
			break
		}
		if _, err := fmt.Sscanf(line, "Content-Length: %d", &length); err != nil {
			return m, err
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(e.out, body); err != nil {
		return m, err
	}
	if !strings.Contains(string(body), `"jsonrpc":"2.0"`) {
		return m, fmt.Errorf("no JSON-RPC: %s", body)
	}
	return m, json.Unmarshal(body, &m)
}

func (e *editor) notify(method string, params any) {
	e.write(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

func (e *editor) call(method string, params any) message {
	e.last++
	e.write(map[string]any{"jsonrpc": "2.0", "id": e.last, "method": method, "params": params})
	for {
		if m := e.read(); string(m.ID) == fmt.Sprint(e.last) {
			return m
		} else {
			e.kept = append(e.kept, m)
		}
	}
}

// ask calls and reads the result.
func (e *editor) ask(method string, params, into any) {
	e.Helper()
	m := e.call(method, params)
	if m.Error != nil {
		e.Fatalf("%s: %+v", method, m.Error)
	}
	if err := json.Unmarshal(m.Result, into); err != nil {
		e.Fatalf("%s: %s: %v", method, m.Result, err)
	}
}

type diagnostics struct {
	URI     string `json:"uri"`
	Version int    `json:"version"`
	List    []struct {
		Range    span   `json:"range"`
		Code     string `json:"code"`
		Severity int    `json:"severity"`
		Message  string `json:"message"`
	} `json:"diagnostics"`
}

type span struct {
	Start, End struct{ Line, Character int }
}

func (s span) String() string {
	return fmt.Sprintf("%d:%d-%d:%d", s.Start.Line, s.Start.Character, s.End.Line, s.End.Character)
}

// diagnostics waits for those of a version of a file; version 0 is any.
func (e *editor) diagnostics(uri string, version int) diagnostics {
	for {
		var m message
		if len(e.kept) > 0 {
			m, e.kept = e.kept[0], e.kept[1:]
		} else {
			m = e.read()
		}
		var d diagnostics
		if m.Method != "textDocument/publishDiagnostics" {
			continue
		}
		if err := json.Unmarshal(m.Params, &d); err != nil {
			e.Fatal(err)
		}
		if d.URI == uri && (version == 0 || d.Version == version) {
			return d
		}
	}
}

func (d diagnostics) String() string {
	var out []string
	for _, f := range d.List {
		out = append(out, f.Code+" "+f.Range.String())
	}
	return strings.Join(out, ", ")
}

func (e *editor) start(encodings ...string) message {
	m := e.call("initialize", map[string]any{"processId": nil, "rootUri": nil,
		"capabilities": map[string]any{"general": map[string]any{"positionEncodings": encodings}}})
	e.notify("initialized", map[string]any{})
	return m
}

func (e *editor) open(uri, text string) {
	e.notify("textDocument/didOpen",
		map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "jsonc", "version": 1, "text": text}})
}

func (e *editor) change(uri string, version int, text string) {
	e.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": uri, "version": version},
		"contentChanges": []any{map[string]any{"text": text}}})
}

func at(uri string, line, character int) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": uri}, "position": map[string]any{"line": line, "character": character}}
}

// project makes a folder of files and returns the URI of each.
func project(t testing.TB, files map[string]string) func(name string) string {
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string {
		name = filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(name)))
		return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(name, "/")}).String()
	}
}

const config = ".devcontainer/devcontainer.json"

// A session as an editor has it: findings while somebody types, an explanation, a
// correction that the next text has, and a clean end.
func TestSession(t *testing.T) {
	uri := project(t, map[string]string{config: `{}`})(config)
	e := newEditor(t)
	if m := e.start(); !strings.Contains(string(m.Result), `"positionEncoding":"utf-16"`) {
		t.Errorf("initialize: %s", m.Result)
	}
	const digest = "@sha256:0123456789012345678901234567890123456789012345678901234567890123"
	text := "{\n\t\"image\": \"debian:13" + digest + "\", // 🍺\n\t/* 🍺 */ \"privileged\": \"true\"\n}\n"
	e.open(uri, text)
	d := e.diagnostics(uri, 1)
	if d.String() != "SBX301 2:24-2:30, SBX402 2:24-2:30" && d.String() != "SBX301 2:24-2:30" {
		t.Fatalf("diagnostics %s", d)
	}
	if d.List[0].Severity != 1 || !strings.Contains(d.List[0].Message, "\n") {
		t.Errorf("%+v", d.List[0])
	}
	var hover struct{ Contents struct{ Kind, Value string } }
	e.ask("textDocument/hover", at(uri, 2, 25), &hover)
	if hover.Contents.Kind != "markdown" || !strings.Contains(hover.Contents.Value, "**SBX301 text-boolean**") {
		t.Errorf("hover: %+v", hover)
	}
	var actions []struct {
		Title, Kind string
		Edit        struct {
			Changes map[string][]struct {
				Range   span
				NewText string
			}
		}
	}
	e.ask("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": uri},
		"range":   map[string]any{"start": map[string]int{"line": 2, "character": 24}, "end": map[string]int{"line": 2, "character": 24}},
		"context": map[string]any{"diagnostics": []any{}}}, &actions)
	if len(actions) < 3 || actions[0].Kind != "quickfix" || fmt.Sprint(actions[0].Edit.Changes[uri]) != "[{2:24-2:30 true}]" ||
		actions[1].Kind != "source.fixAll.sbx-devc" || actions[2].Edit.Changes[uri][0].NewText != "\t// sbx-ignore SBX301: \n" {
		t.Errorf("actions: %+v", actions)
	}
	e.change(uri, 2, strings.Replace(text, `"true"`, `false`, 1))
	if d := e.diagnostics(uri, 2); len(d.List) != 0 {
		t.Errorf("after the correction: %s", d)
	}
	e.change(uri, 3, "{")
	if d := e.diagnostics(uri, 3); !strings.HasPrefix(d.String(), "SBX101") {
		t.Errorf("a cut text: %s", d)
	}
	e.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri}})
	if d := e.diagnostics(uri, 0); len(d.List) != 0 {
		t.Errorf("a closed file has %s", d)
	}
	if m := e.call("shutdown", nil); m.Error != nil || string(m.Result) != "null" {
		t.Errorf("shutdown: %+v", m)
	}
	if m := e.call("textDocument/hover", at(uri, 0, 0)); m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("after shutdown: %+v", m)
	}
	e.notify("exit", nil)
	if err := <-e.end; err != nil {
		t.Error(err)
	}
}

// A choice of rules that cannot be read is said once, and again when it fails in another way.
func TestChoiceThatCannotBeRead(t *testing.T) {
	uri := project(t, map[string]string{config: `{}`})(config)
	why := make(chan error, 10)
	e := newEditorWith(t, func(string) (lint.Files, error) { return lint.Files{}, <-why })
	e.start()
	said := ""
	for n, err := range []error{errors.New("called x"), errors.New("called x"), errors.New("called y"), nil, errors.New("called y")} {
		why <- err
		if n == 0 {
			e.open(uri, `{"image": "debian:13"}`)
		} else {
			e.change(uri, n+1, `{"image": "debian:13"}`)
		}
		for m := e.read(); m.Method != "textDocument/publishDiagnostics"; m = e.read() {
			if m.Method == "window/showMessage" {
				said += string(m.Params)
			}
		}
	}
	if strings.Count(said, "called x") != 1 || strings.Count(said, "called y") != 2 || !strings.Contains(said, `"type":2`) {
		t.Errorf("it shows %s", said)
	}
}

// A Dockerfile is judged with the configuration that builds it, both as they are in the
// editor; without one, alone.
func TestFilesOfAConfiguration(t *testing.T) {
	uri := project(t, map[string]string{config: `{"build": {"dockerfile": "Dockerfile"}}`, ".devcontainer/Dockerfile": "FROM debian:13\n",
		"other/Dockerfile": "FROM debian:13\nUSER root\n"})
	e := newEditor(t)
	e.start("utf-8")
	e.open(uri(".devcontainer/Dockerfile"), "FROM debian:13\nRUN curl https://x.example/ä | sh\n")
	if d := e.diagnostics(uri(".devcontainer/Dockerfile"), 1); !strings.Contains(d.String(), "SBX705 1:4-1:34") {
		t.Errorf("the Dockerfile: %s", d)
	}
	e.open(uri(config), `{"build": {"dockerfile": "Dockerfile", "target": "dev"}}`)
	if d := e.diagnostics(uri(config), 1); !strings.Contains(d.String(), "SBX712") {
		t.Errorf("the configuration: %s", d)
	}
	e.change(uri(".devcontainer/Dockerfile"), 2, "FROM debian:13 AS dev\n")
	if d := e.diagnostics(uri(config), 1); strings.Contains(d.String(), "SBX712") {
		t.Errorf("the Dockerfile of the editor has the stage: %s", d)
	}
	e.open(uri("other/Dockerfile"), "FROM debian:13\nUSER root\n")
	if d := e.diagnostics(uri("other/Dockerfile"), 1); !strings.Contains(d.String(), "SBX702") {
		t.Errorf("a Dockerfile alone: %s", d)
	}
	// A text that no configuration reads, and a URI of something else, have no findings.
	e.open(uri("notes.txt"), "x")
	e.open("untitled:Untitled-1", "{")
	e.open("file://elsewhere/x", "{")
	e.kept = nil
	e.call("textDocument/hover", at(uri("notes.txt"), 0, 0))
	if len(e.kept) > 0 {
		t.Errorf("unasked: %s", e.kept[0].Params)
	}
}

// Names and values to choose from, where the text is not whole either.
func TestCompletion(t *testing.T) {
	uri := project(t, map[string]string{config: `{}`})
	e := newEditor(t)
	e.start("utf-8")
	version := 1
	e.open(uri(config), "{}")
	for text, want := range map[string]string{
		`{"image": "a", |}`:                   `"privileged": `,
		`{"image": "a", "priv|`:               `"privileged": `,
		`{"image": "a", "priv|"}`:             `"privileged": `,
		`{"image": "a", "priv|": true}`:       `"privileged"`,
		"{\n// {\n/* \" */ \"b|\n\"x\": 1}":   `"build": `,
		`{"build": {"dock|`:                   `"dockerfile": `,
		`{"waitFor": |}`:                      `"postCreateCommand"`,
		`{"userEnvProbe": "login|"}`:          `"loginShell"`,
		`{"privileged": f|`:                   `false`,
		`{"mounts": [{"type": "bind"}, {"t|`:  `"target": `,
		`{"portsAttributes": {"80": {"onA|`:   `"onAutoForward": `,
		`{"image": "a", "image|"}`:            ``,
		`{"runArgs": ["|`:                     ``,
		`// |`:                                ``,
		`|`:                                   ``,
		strings.Repeat("[", 100_000) + `{"i|`: ``,
	} {
		version++
		before, after, _ := strings.Cut(text, "|")
		e.change(uri(config), version, before+after)
		line := strings.Count(before, "\n")
		var items []struct{ TextEdit struct{ NewText string } }
		e.ask("textDocument/completion", at(uri(config), line, len(before)-strings.LastIndex(before, "\n")-1), &items)
		found := want == "" && (len(items) == 0 || !strings.Contains(text, "{"))
		for _, i := range items {
			found = found || i.TextEdit.NewText == want && want != "" || want == "" && strings.Contains(text, `"image|`) &&
				i.TextEdit.NewText != `"image": `
		}
		if !found {
			t.Errorf("%.60s: %d items without %q: %.200v", text, len(items), want, items)
		}
	}
}

// Our own files are completed from their schemas.
func TestCompletionOfOurFiles(t *testing.T) {
	const settings = ".devcontainer/sandbox.jsonc"
	uri := project(t, map[string]string{config: `{}`, settings: `{}`, "sbx-devc.jsonc": `{}`})
	e := newEditor(t)
	e.start("utf-8")
	for _, c := range []struct{ file, text, want string }{
		{settings, `{"n|`, `"network": `},
		{settings, `{"network": {"mode": "|"}}`, `"allowlist"`},
		{settings, `{"secrets": [{"n|`, `"name": `},
		{"sbx-devc.jsonc", `{"validate": {"ru|`, `"rules": `},
	} {
		before, after, _ := strings.Cut(c.text, "|")
		e.open(uri(c.file), before+after)
		var items []struct{ TextEdit struct{ NewText string } }
		e.ask("textDocument/completion", at(uri(c.file), 0, len(before)), &items)
		found := false
		for _, i := range items {
			found = found || i.TextEdit.NewText == c.want
		}
		if !found {
			t.Errorf("%s: %v without %q", c.text, items, c.want)
		}
		e.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri(c.file)}})
	}
}

// Bytes that are no message, messages that are too large or come at the wrong time.
func TestHostileMessages(t *testing.T) {
	frame := func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
	for name, c := range map[string]struct {
		text string
		want int // code of the answer; 0 = the session ends with an error
	}{
		"no JSON":              {frame("{"), -32700},
		"an array":             {frame("[]"), -32700},
		"deep":                 {frame(strings.Repeat("[", 1_000_000)), -32700},
		"too early":            {frame(`{"jsonrpc":"2.0","id":"a","method":"textDocument/hover"}`), -32002},
		"parameters of a list": {frame(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`), -32602},
		"no length":            {"X: 1\r\n\r\n{}", 0},
		"huge":                 {"Content-Length: 99999999999999999999\r\n\r\n", 0},
		"large":                {"Content-Length: 1073741824\r\n\r\n", 0},
		"negative":             {"Content-Length: -1\r\n\r\n", 0},
		"a header without end": {strings.Repeat("x", 5000), 0},
		"headers without end":  {strings.Repeat("a: b\r\n", 1000), 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEditor(t)
			go io.WriteString(e.in, c.text)
			if c.want == 0 {
				if err := <-e.end; err == nil {
					t.Error("the session ended without an error")
				}
				return
			}
			if m := e.read(); m.Error == nil || m.Error.Code != c.want {
				t.Errorf("%+v", m)
			}
			if m := e.start(); m.Error != nil {
				t.Errorf("the session does not go on: %+v", m.Error)
			}
		})
	}
	t.Run("unknown method, then the end of the stream", func(t *testing.T) {
		e := newEditor(t)
		e.start()
		if m := e.call("workspace/symbol", nil); m.Error == nil || m.Error.Code != -32601 {
			t.Errorf("%+v", m)
		}
		e.in.Close()
		if err := <-e.end; err != nil {
			t.Error(err)
		}
	})
	t.Run("half a message", func(t *testing.T) {
		e := newEditor(t)
		e.raw("Content-Length: 100\r\n\r\n{")
		e.in.Close()
		if err := <-e.end; err == nil {
			t.Error("no error")
		}
	})
	t.Run("places outside", func(t *testing.T) {
		uri := project(t, map[string]string{config: "{}"})(config)
		e := newEditor(t)
		e.start()
		e.open(uri, "{}\n")
		for _, p := range [][2]int{{-1, -1}, {0, 1 << 30}, {1 << 30, 0}} {
			for _, method := range []string{"textDocument/hover", "textDocument/completion"} {
				if m := e.call(method, at(uri, p[0], p[1])); m.Error != nil {
					t.Errorf("%s at %v: %+v", method, p, m.Error)
				}
			}
		}
	})
}

// A text larger than what is read, and more files than are kept, are no findings of a text
// that nobody looked at.
func TestMoreThanIsKept(t *testing.T) {
	uri := project(t, map[string]string{config: `{}`})
	e := newEditor(t)
	e.start()
	e.open(uri(config), `{"image": "debian:13", "name": "`+strings.Repeat("x", 2<<20)+`"}`)
	if d := e.diagnostics(uri(config), 1); len(d.List) == 0 {
		t.Error("a text of two megabytes has no finding")
	}
	for n := range 600 {
		e.open(uri(fmt.Sprintf("a/%d/notes.txt", n)), "x")
	}
	if m := e.call("textDocument/hover", at(uri(config), 0, 1)); m.Error != nil {
		t.Errorf("%+v", m.Error)
	}
}

// When a text becomes too large to be kept, the one before it answers no more: its places are not those that the editor has.
func TestTextBecomesTooLarge(t *testing.T) {
	uri := project(t, map[string]string{config: `{}`})
	e := newEditor(t)
	e.start()
	e.open(uri(config), `{"image": "a:1", "privileged": "true"}`)
	for n := range 4 {
		e.open(uri(fmt.Sprintf("%d.txt", n)), strings.Repeat("x", 15<<20))
	}
	e.change(uri(config), 2, strings.Repeat(" ", 8<<20)+`{"image": "a:1"}`)
	var actions []any
	e.ask("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": uri(config)}, "context": map[string]any{},
		"range": map[string]any{"start": map[string]any{"line": 0, "character": 0}, "end": map[string]any{"line": 0, "character": 40}}}, &actions)
	if len(actions) > 0 {
		t.Errorf("corrections of a text that the editor has no more: %v", actions)
	}
	e.change(uri(config), 3, `{"image": "a:1", "privileged": true}`)
	if d := e.diagnostics(uri(config), 3); !strings.Contains(d.String(), "SBX402") {
		t.Errorf("findings of the next text: %s", d)
	}
}

// BenchmarkKeystroke is the time from a changed text to its findings, and to two answers: with
// a Dockerfile and Compose files, as large projects have them.
func BenchmarkKeystroke(b *testing.B) {
	steps := strings.Repeat("RUN apt-get update && apt-get install -y git curl && rm -rf /var/lib/apt/lists/*\n", 100)
	services := ""
	for n := range 50 {
		services += fmt.Sprintf("  s%d:\n    image: postgres:17\n    environment: {A: b}\n    volumes: ['data:/data']\n", n)
	}
	uri := project(b, map[string]string{config: "{}", ".devcontainer/Dockerfile": "FROM debian:13\n" + steps,
		".devcontainer/compose.yaml": "services:\n" + services + "  app:\n    build: .\n    volumes: ['..:/w']\nvolumes: {data: {}}\n"})(config)
	text := `{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "/w", "name": "%d"}`
	e := newEditor(b)
	e.start()
	e.open(uri, "{}")
	version := 1
	for b.Loop() {
		version++
		e.change(uri, version, fmt.Sprintf(text, version))
		e.diagnostics(uri, version)
		e.call("textDocument/completion", at(uri, 0, 2))
		e.call("textDocument/hover", at(uri, 0, 2))
		e.kept = nil
	}
}

// What a project says turns no line of an editor's list around.
func TestMessagesAreVisible(t *testing.T) {
	uri := project(t, map[string]string{config: "{}"})(config)
	e := newEditor(t)
	e.start()
	e.open(uri, "{\"image\": \"debian:13\u202e\", \"remoteUse\u202e\u2066\": \"x\"}")
	d := e.diagnostics(uri, 1)
	if text := fmt.Sprint(d.List); strings.ContainsAny(text, "\u202e\u2066") || !strings.Contains(text, "SBX201") {
		t.Errorf("%q", text)
	}
	if m := e.call("textDocument/hover", at(uri, 0, 30)); strings.ContainsAny(string(m.Result), "\u202e\u2066") {
		t.Errorf("%q", m.Result)
	}
}
