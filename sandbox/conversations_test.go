package sandbox

import (
	"archive/tar"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/redact"
)

// Attack: the agent of a run on a terminal writes files that look like conversations: so
// many that the person's are lost, others' names, other folders, links, no JSON, more than
// words, secrets.
func TestAttackFilesThatLookLikeConversations(t *testing.T) {
	const begun, cleared, other = "43faee80-7517-4d16-a9cf-231fae11829b", "43faee80-7517-4d16-a9cf-" +
		"000000000002", "43faee80-7517-4d16-a9cf-000000000003"
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	var in bytes.Buffer
	out := tar.NewWriter(&in)
	add := func(name string, kind byte, changed time.Time, text string) {
		t.Helper()
		h := tar.Header{Name: name, Typeflag: kind, Mode: 0o600, ModTime: changed}
		if kind == tar.TypeReg {
			h.Size = int64(len(text))
		} else {
			h.Linkname = text
		}
		if err := out.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(text)[:h.Size]); err != nil {
			t.Fatal(err)
		}
	}
	message := func(id, text string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"u","sessionId":%q,"cwd":"/EVIL","hooks":"EVIL","message":{"role":"user","content":%q}}`+"\n",
			id, text)
	}
	evil := strings.Replace(message(cleared, "x"), `"user"`, `"attachment"`, 1)
	add("-workspace/"+begun+".jsonl", tar.TypeReg, noon.Add(-time.Hour), message(begun, "first"))
	add("-workspace/"+cleared+".jsonl", tar.TypeReg, noon, evil+message(cleared, "second, with the SECRET-OF-THE-RUN"))
	add("-workspace/"+other+".jsonl", tar.TypeReg, noon, message(begun, "another's name"))
	add("-workspace/"+begun+"/subagents/"+other+".jsonl", tar.TypeReg, noon.Add(time.Hour), message(other, "EVIL"))
	add("-elsewhere/"+other+".jsonl", tar.TypeReg, noon.Add(time.Hour), message(other, "EVIL"))
	add("-workspace/../"+other+".jsonl", tar.TypeReg, noon.Add(time.Hour), message(other, "EVIL"))
	add("-workspace/settings.json", tar.TypeReg, noon.Add(time.Hour), message(other, "EVIL"))
	add("-workspace/"+other[:35]+"4.jsonl", tar.TypeSymlink, noon.Add(time.Hour), "/etc/passwd")
	add("-workspace/"+other[:35]+"5.jsonl", tar.TypeReg, noon.Add(time.Hour), "EVIL\n")
	for i := range 50 {
		id := fmt.Sprintf("43faee80-7517-4d16-a9cf-1000000000%02d", i)
		add("-workspace/"+id+".jsonl", tar.TypeReg, noon.Add(-time.Duration(i+1)*time.Minute), message(id, "one of many"))
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	whole := in.Bytes()
	secrets := redact.New(redact.Options{Secrets: []string{"SECRET-OF-THE-RUN"}})
	all, err := readConversations(bytes.NewReader(whole), "/workspace", begun, secrets)
	if err != nil || len(all) != maxConversations || all[0].id != cleared {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	if !slices.ContainsFunc(all, func(c heldConversation) bool { return c.id == begun && strings.Contains(string(c.messages), "first") }) {
		t.Error("the conversation that the run began with is lost")
	}
	for _, c := range all {
		if text := string(c.messages); strings.Contains(text, "EVIL") || strings.Contains(text, "SECRET") || c.id == other {
			t.Errorf("kept of %s: %s", c.id, text)
		}
	}
	if all, err := readConversations(bytes.NewReader(whole[:len(whole)/2]), "/workspace", begun, secrets); err == nil || len(all) == 0 {
		t.Errorf("of an archive that is cut off %d are kept, %v", len(all), err)
	}
}

// Of two that were changed in the same second, as an archive has it, the one whose last
// message came later is the newest.
func TestConversationsOfOneSecond(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	said := func(id, last string) heldConversation {
		return heldConversation{id, at, []byte(`{"timestamp":"2026-01-02T12:00:00.900Z"}` + "\n" + `{"timestamp":"` + last + `"}` + "\n")}
	}
	all := newestOf([]heldConversation{said("first", "2026-01-02T12:00:00.105Z"), said("second", "2026-01-02T12:00:00.733Z")}, "first")
	if all[0].id != "second" {
		t.Errorf("the newest is %s", all[0].id)
	}
}
