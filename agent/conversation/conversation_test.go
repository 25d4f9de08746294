package conversation

import (
	"errors"
	"strings"
	"testing"
)

const id = "43faee80-7517-4d16-a9cf-231fae11829b"

func keep(t *testing.T, text string) (string, int, error) {
	t.Helper()
	var out strings.Builder
	n, err := Keep(&out, strings.NewReader(text), "/workspace", id)
	return out.String(), n, err
}

func TestMessagesOfOneConversationAreKept(t *testing.T) {
	got, n, err := keep(t, `{"type":"queue-operation","operation":"enqueue","sessionId":"`+id+`"}
{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"`+id+
		`","message":{"role":"user","content":"hi"},"timestamp":"t","cwd":"/workspace"}
{"type":"attachment","uuid":"a1","parentUuid":"u1","sessionId":"`+id+`","attachment":{"type":"environment"}}
{"type":"attachment","uuid":"a2","parentUuid":"a1","sessionId":"`+id+`"}
{"type":"assistant","uuid":"m1","parentUuid":"a2","sessionId":"`+id+`","message":{"role":"assistant","content":[]},"timestamp":"t"}
{"type":"system","subtype":"compact_boundary","uuid":"c1","parentUuid":null,"logicalParentUuid":"m1","sessionId":"`+id+
		`","content":"Conversation compacted"}
`)
	want := `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"` + id +
		`","timestamp":"t","cwd":"/workspace","message":{"role":"user","content":"hi"},"isSidechain":false}
{"type":"assistant","uuid":"m1","parentUuid":"u1","sessionId":"` + id +
		`","timestamp":"t","cwd":"/workspace","message":{"role":"assistant","content":[]},"isSidechain":false}
{"type":"system","subtype":"compact_boundary","uuid":"c1","parentUuid":null,"logicalParentUuid":"m1","sessionId":"` + id +
		`","timestamp":"","cwd":"/workspace","content":"Conversation compacted","isSidechain":false}
`
	if err != nil || n != 3 || got != want {
		t.Errorf("%d %v\n%s", n, err, got)
	}
}

// Claude is read while it writes, and may be killed then.
func TestAMessageThatIsBeingWrittenIsLeftOut(t *testing.T) {
	whole := `{"type":"user","uuid":"u","sessionId":"` + id + `","message":{"content":"hi"}}`
	for _, text := range []string{whole, whole + "\n", whole + "\n" + whole[:20], whole + "\n" + whole[:len(whole)-1]} {
		if got, n, err := keep(t, text); n != 1 || err != nil || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: %d %v %s", text, n, err, got)
		}
	}
}

// Attack: an agent leaves more in its conversation than words.
func TestAttackAConversationCarriesMoreThanMessages(t *testing.T) {
	got, n, err := keep(t, `{"type":"permission-mode","uuid":"p","permissionMode":"bypassPermissions","sessionId":"`+id+`"}
{"type":"attachment","uuid":"h","attachment":{"type":"hook_success","command":"EVIL"},"sessionId":"`+id+`"}
{"type":"worktree-state","worktree":{"path":"/EVIL"},"sessionId":"`+id+`"}
{"type":"file-history-snapshot","snapshot":{"EVIL":1},"uuid":"f","sessionId":"`+id+`"}
{"type":"agent-setting","agentSetting":"EVIL","uuid":"s","sessionId":"`+id+`"}
{"type":"system","subtype":"local_command","content":"EVIL","uuid":"l","sessionId":"`+id+`"}
{"type":"user","uuid":"o","sessionId":"00000000-0000-0000-0000-000000000000","message":{"content":"EVIL"}}
{"type":"user","uuid":"x","sessionId":"`+id+`","isSidechain":true,"message":{"content":"EVIL"}}
{"type":"user","uuid":"u","parentUuid":"q","sessionId":"`+id+
		`","cwd":"/EVIL","permissionMode":"EVIL","toolUseResult":{"EVIL":1},"hooks":"EVIL","message":{"role":"user","content":"hi"}}
`)
	if err != nil || n != 1 || strings.Contains(got, "EVIL") || strings.Contains(got, "permission") {
		t.Errorf("%d %v %s", n, err, got)
	}
	for _, bad := range []string{"no JSON\n", "[]\n", "{\"type\":\"user\"\n", `"x"` + "\n"} {
		if _, _, err := keep(t, bad); err == nil {
			t.Errorf("%q is kept", bad)
		}
	}
}

// Attack: a conversation without an end, one endless message, a circle of parents.
func TestAttackAConversationWithoutAnEnd(t *testing.T) {
	one := `{"type":"user","uuid":"u","sessionId":"` + id + `","message":{"content":"` + strings.Repeat("x", 1<<20) + `"}}` + "\n"
	for name, text := range map[string]string{"many": strings.Repeat(one, 70), "one": strings.Repeat("x", 17<<20)} {
		var out strings.Builder
		if _, err := Keep(&out, strings.NewReader(text), "/workspace", id); !errors.Is(err, ErrTooLarge) || out.Len() > MaxSize+1<<20 {
			t.Errorf("%s: %v, %d bytes", name, err, out.Len())
		}
	}
	got, n, err := keep(t, `{"type":"x","uuid":"a","parentUuid":"b"}
{"type":"x","uuid":"b","parentUuid":"a"}
{"type":"user","uuid":"u","parentUuid":"a","sessionId":"`+id+`","message":{}}
`)
	if n != 1 || err != nil {
		t.Errorf("%d %v %s", n, err, got)
	}
}

func TestIDsAreNoPaths(t *testing.T) {
	for name, want := range map[string]bool{id: true, "": false, "../" + id: false, id + "/x": false, id + "\n": false,
		strings.ToUpper(id): false} {
		if IsID(name) != want {
			t.Errorf("%q", name)
		}
	}
	if got := Path("/workspace/my_app/v1.0 é", id); got != "projects/-workspace-my-app-v1-0--/"+id+".jsonl" {
		t.Errorf("the path is %s", got)
	}
	if got := Path("/workspace", id); got != "projects/-workspace/"+id+".jsonl" {
		t.Error(got)
	}
}
