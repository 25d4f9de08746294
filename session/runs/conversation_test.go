package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const session = "43faee80-7517-4d16-a9cf-231fae11829b"

// runsWith makes runs with these summaries; "+" in front of one keeps a
// conversation, too.
func runsWith(t *testing.T, summaries map[string]string) Home {
	t.Helper()
	h := Home{state: t.TempDir(), note: func(string) {}}
	for id, text := range summaries {
		folder, err := h.Make(id)
		if err != nil {
			t.Fatal(err)
		}
		text, kept := strings.CutPrefix(text, "+")
		if err := os.WriteFile(filepath.Join(folder, "summary.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if kept {
			if err := os.WriteFile(filepath.Join(folder, "conversation.jsonl"), []byte(id), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return h
}

func TestAConversationIsFoundByItsProject(t *testing.T) {
	other := strings.Replace(session, "43", "44", 1)
	h := runsWith(t, map[string]string{
		"20260101-000000-aaaaaa": `+{"folder":"/p","sessionId":"` + session + `"}`,
		"20260102-000000-aaaaaa": `+{"folder":"/p","sessionId":"` + session + `"}`,
		"20260103-000000-aaaaaa": `{"folder":"/p","sessionId":"` + session + `"}`,
		"20260104-000000-aaaaaa": `+{"folder":"/q","sessionId":"` + other + `"}`,
		"20260105-000000-aaaaaa": `+{"folder":"/p","sessionId":"../../evil"}`,
	})
	left := strings.Replace(session, "43", "45", 1)
	if err := os.WriteFile(filepath.Join(h.Dir(), "20260102-000000-aaaaaa", "conversation-"+left+".jsonl"),
		[]byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ project, name, run, want string }{
		{"/p", left, "left", ""},
		{"/q", left, "", "was in /p, and this one is in /q"},
		{"/p", session, "20260102-000000-aaaaaa", ""},
		{"/p", "20260101-000000-aaaaaa", "20260101-000000-aaaaaa", ""},
		{"/p", "", "20260102-000000-aaaaaa", ""},
		{"/q", "", "20260104-000000-aaaaaa", ""},
		{"/q", session, "", "was in /p, and this one is in /q"},
		{"/p", "20260103-000000-aaaaaa", "", "left no conversation"},
		{"/p", "20260105-000000-aaaaaa", "", "left no conversation"},
		{"/p", "20260109-000000-aaaaaa", "", "no run with a conversation is"},
		{"/r", "", "", "no run in /r left a conversation"},
		{"/p", "../20260101-000000-aaaaaa", "", "there is no run or conversation"},
	} {
		got, err := h.Conversation(c.project, c.name)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) || got.Files("/workspace") != nil {
				t.Errorf("%s %q: %v", c.project, c.name, err)
			}
		case err != nil || string(got.Files("/workspace")[0].Data) != c.run ||
			got.Files("/workspace")[0].Path != "projects/-workspace/"+got.ID+".jsonl":
			t.Errorf("%s %q: %+v %v", c.project, c.name, got, err)
		}
	}
}

// Attack: whoever had a run's folder leaves more in its conversation than words.
func TestAttackADownloadedConversationCarriesMoreThanMessages(t *testing.T) {
	const id = "43faee80-7517-4d16-a9cf-231fae11829b"
	message := `{"type":"user","uuid":"u","sessionId":"` + id +
		`","cwd":"/EVIL","hooks":"EVIL","message":{"role":"user","content":"hi"}}` + "\n"
	name := filepath.Join(t.TempDir(), "conversation.jsonl")
	for text, good := range map[string]bool{
		message + `{"type":"permission-mode","uuid":"p","permissionMode":"EVIL","sessionId":"` + id + `"}` + "\n": true,
		`{"type":"user","uuid":"u","sessionId":"../../EVIL","message":{}}` + "\n":                                 false,
		`{"type":"mode","uuid":"u","sessionId":"` + id + `"}` + "\n":                                              false,
		"no JSON\n": false, "": false,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		earlier, err := ReadEarlier(name)
		if (err == nil) != good || strings.Contains(string(earlier.text), "EVIL") || good && earlier.ID != id {
			t.Errorf("%s: %+v, %v", text, earlier, err)
		}
	}
}
