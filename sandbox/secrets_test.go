package sandbox

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
)

// Attack: the agent prints secrets that it was given, and the transcript keeps
// them for whoever reads it later. Standard output stays as Claude wrote it.
func TestTranscriptKeepsNoSecrets(t *testing.T) {
	e := connect(t)
	const (
		token   = "ghp_0123456789abcdefghijklmnopqrstuvwxyzABCD" // a known kind
		opaque  = `o"paque/Value-7f3a9c`                         // known by being passed on; JSON writes it in another way
		unasked = "AKIAIOSFODNN7EXAMPLE"                         // nobody passed it on
	)
	o := runplan.Options{
		Environment: runplan.Environment{Environ: []string{"PROJECT_TOKEN=" + token, "PROJECT_URL=" + opaque, "PROJECT_STAGE=production"}},
		Layers:      runplan.Layers{User: settings.Settings{EnvPrefixes: []string{"PROJECT_"}}},
	}
	tr := (&trial{options: o, script: fakeapi.Script{
		Turns: []fakeapi.Turn{
			{Bash: []string{`echo "$PROJECT_TOKEN $PROJECT_URL $PROJECT_STAGE ` + unasked + `"; printf %s "$PROJECT_URL" | base64`}}},
		Final: "the token is " + token,
	}}).run(t, e)
	if tr.err != nil || !tr.result.Outcome.OK() {
		t.Fatalf("%v, %+v", tr.err, tr.result.Outcome)
	}
	escaped, err := json.Marshal(opaque)
	if err != nil {
		t.Fatal(err)
	}
	inJSON := strings.Trim(string(escaped), `"`)
	for _, secret := range []string{token, inJSON, unasked, base64.StdEncoding.EncodeToString([]byte(opaque))[:20]} {
		if !strings.Contains(tr.stdout.String(), secret) {
			t.Errorf("%s is not on standard output, so this proves nothing", secret)
		}
	}
	for _, name := range []string{tr.result.Files.Transcript, tr.result.Files.Summary} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{token, opaque, inJSON, unasked, base64.StdEncoding.EncodeToString([]byte(opaque))[:20]} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds %s", name, secret)
			}
		}
	}
	transcript, _ := os.ReadFile(tr.result.Files.Transcript)
	if !bytes.Contains(transcript, []byte("production")) {
		t.Error("a plain word that was passed on is gone from the transcript")
	}
	for line := range bytes.Lines(transcript) {
		if !json.Valid(line) {
			t.Errorf("a line is no JSON any more: %s", line)
		}
	}
}

// The agent decides how its output is cut into pieces.
func TestASecretInPiecesIsNotKept(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyzABCD"
	p := plan(t, runplan.Options{Environment: runplan.Environment{Variables: []string{"X=opaque-Value-7f3a9c"}}}, workspacetest.Folder(t))
	for _, size := range []int{1, 3, 7, 1 << 10} {
		file, err := os.Create(t.TempDir() + "/transcript")
		if err != nil {
			t.Fatal(err)
		}
		var passedOn bytes.Buffer
		out := &output{to: &passedOn}
		out.keep(&transcript{file: file, left: 1 << 20}, p.Redactor(nil))
		text := "{\"a\":\"" + secret + "\"}\n{\"b\":\"opaque-Value-7f3a9c\"}\nopaque-Val"
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if _, err := out.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := out.close(); err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(file.Name())
		if want := "{\"a\":\"[redacted]\"}\n{\"b\":\"[redacted]\"}\nopaque-Val"; err != nil || string(kept) != want {
			t.Errorf("pieces of %d: kept %q, want %q, %v", size, kept, want, err)
		}
		if passedOn.String() != text {
			t.Errorf("pieces of %d: passed on %q", size, passedOn.String())
		}
	}
}

// A transcript on a full disk is given up, and the run goes on.
func TestATranscriptThatCannotBeWrittenIsSaid(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		testenv.Missing(t, "/dev/full", err.Error())
	}
	var passedOn bytes.Buffer
	out := &output{to: &passedOn}
	out.keep(&transcript{file: full, left: 1 << 20}, (&runplan.Plan{}).Redactor(nil))
	for range 2 {
		if _, err := out.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.close(); !errors.Is(err, syscall.ENOSPC) || passedOn.String() != "line\nline\n" {
		t.Errorf("got %v, passed on %q", err, passedOn.String())
	}
}
