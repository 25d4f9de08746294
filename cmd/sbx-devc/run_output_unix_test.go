//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// A run's standard output is what 'claude -p' gives, and the prompt is what the
// argument and standard input say together.
func TestRunAnswersAsClaudeDoes(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	api := &fakeapi.Server{APIKey: "sk-ant-key-of-this-test",
		Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{"echo one"}}}, Final: "two"}}
	upstream := httptest.NewServer(api)
	t.Cleanup(upstream.Close)
	for format, check := range map[string]func(t *testing.T, stdout string, transcript []byte){
		"": func(t *testing.T, stdout string, _ []byte) {
			if stdout != "[scripted] two\n" {
				t.Errorf("%q", stdout)
			}
		},
		"json": func(t *testing.T, stdout string, transcript []byte) {
			var result struct {
				Type, Result string
			}
			lines := bytes.SplitAfter(transcript, []byte("\n"))
			if err := json.Unmarshal([]byte(stdout), &result); err != nil || result.Type != "result" || result.Result != "[scripted] two" {
				t.Errorf("%q %v", stdout, err)
			}
			if last := string(lines[len(lines)-2]); stdout != last {
				t.Errorf("%s is not Claude's own line\n%s", stdout, last)
			}
		},
		"stream-json": func(t *testing.T, stdout string, transcript []byte) {
			if len(stdout) < 1000 || stdout != string(transcript) {
				t.Errorf("not byte for byte:\n%s\n%s", stdout, transcript)
			}
		},
	} {
		t.Run("format "+format, func(t *testing.T) {
			args := []string{"say it"}
			if format != "" {
				args = append(args, "--output-format", format)
			}
			r := runProgram(t, []string{"SBX_DEVC_UPSTREAM=" + upstream.URL}, args...)
			var stdout bytes.Buffer
			r.Stdout = &stdout
			r.begin(t, "and this")
			if code := endOf(t, r); code != exitOK {
				t.Fatalf("ends with %d: %s", code, r.said(t))
			}
			if said := r.said(t); !strings.Contains(said, "starts in "+r.Dir) || strings.Contains(said, "still starting") {
				t.Error(said)
			}
			files, _ := filepath.Glob(filepath.Join(r.state(), "runs", "*", "transcript.jsonl"))
			if len(files) != 1 {
				t.Fatal(files)
			}
			transcript, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			check(t, stdout.String(), transcript)
		})
	}
	if body := api.Requests()[0].Body; !strings.Contains(body, `say it\nand this`) {
		t.Errorf("the prompt is not in\n%s", body)
	}
}

// A person goes on with what a run began, in the words that the help has.
func TestRunGoesOnWithTheNewestConversation(t *testing.T) {
	t.Parallel()
	api := &fakeapi.Server{APIKey: "sk-ant-key-of-this-test", Script: fakeapi.Script{Final: "noted"}}
	upstream := httptest.NewServer(api)
	t.Cleanup(upstream.Close)
	first := runProgram(t, []string{"SBX_DEVC_UPSTREAM=" + upstream.URL}, "remember the MANGO")
	first.begin(t, "")
	if code := endOf(t, first); code != exitOK {
		t.Fatal(first.said(t))
	}
	for _, flags := range [][]string{{"--continue"}, {"-r", filepath.Base(onlyRun(t, first.state()))}} {
		next := runProgram(t, nil, append(flags, "which fruit?")...)
		next.Args[2], next.Dir, next.Env = first.Dir, first.Dir, first.Env
		next.begin(t, "")
		if code := endOf(t, next); code != exitOK {
			t.Fatal(next.said(t))
		}
		all := api.Requests()
		if body := all[len(all)-1].Body; !strings.Contains(body, "MANGO") || !strings.Contains(body, "which fruit?") {
			t.Errorf("%v: the model does not know the conversation", flags)
		}
		// Of two runs of one conversation the older one is the one to name next.
		if err := os.RemoveAll(newestRun(t, first.state())); err != nil {
			t.Fatal(err)
		}
	}
}

// onlyRun and newestRun are the folders of runs.
func onlyRun(t *testing.T, state string) string {
	t.Helper()
	if all, _ := filepath.Glob(filepath.Join(state, "runs", "*")); len(all) != 1 {
		t.Fatal(all)
	}
	return newestRun(t, state)
}

func newestRun(t *testing.T, state string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(state, "runs", "*"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	return all[len(all)-1] // names begin with the time
}
