package diag

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func findings() []Finding {
	return []Finding{
		{Rule: "SBX402", Severity: SeverityError, File: "b.json", Line: 3, Column: 5, EndLine: 3, EndColumn: 9, Pointer: "/privileged",
			Message: "a privileged container", Hint: "remove <it>"},
		{Rule: "SBX201", Severity: SeverityNote, File: "a.json", Line: 9, Column: 1, Message: "late"},
		{Rule: "SBX104", Severity: SeverityWarning, File: "a.json", Line: 1, Column: 1, Message: "early"},
	}
}

func TestWriteTextInOrder(t *testing.T) {
	list := findings()
	Sort(list)
	var out bytes.Buffer
	if err := WriteText(&out, list); err != nil {
		t.Fatal(err)
	}
	want := `a.json:1:1: warning: early [SBX104]
a.json:9:1: note: late [SBX201]
b.json:3:5: error: a privileged container [SBX402]
    hint: remove <it>
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestShort(t *testing.T) {
	if text := strings.Repeat("x", maxMessage); Short(text) != text {
		t.Error("a message that is short enough was cut")
	}
	long := strings.Repeat("é", maxMessage)
	got := Short("a " + long + " z")
	if len(got) > maxMessage+len("…") || !strings.HasPrefix(got, "a é") || !strings.HasSuffix(got, "é z") || !utf8.ValidString(got) {
		t.Errorf("got %d bytes: %q", len(got), got)
	}
}

// The JSON form is a contract: names, and lists that are never null.
func TestWriteJSONIsTheContract(t *testing.T) {
	for _, c := range []struct {
		list []Finding
		want string
	}{
		{nil, `{"schemaVersion":1,"findings":[]}`},
		{findings()[:1],
			`{"schemaVersion":1,"findings":[{"rule":"SBX402","severity":"error","file":"b.json","line":3,"column":5,"endLine":3,"endColumn":9,` +
				`"pointer":"/privileged","message":"a privileged container","hint":"remove <it>"}]}`},
	} {
		var out, compact bytes.Buffer
		if err := WriteJSON(&out, c.list, nil); err != nil {
			t.Fatal(err)
		}
		if err := json.Compact(&compact, out.Bytes()); err != nil {
			t.Fatal(err)
		}
		if compact.String() != c.want {
			t.Errorf("got  %s\nwant %s", compact.String(), c.want)
		}
	}
}

func TestWorstCountsFromTheLimitUp(t *testing.T) {
	for limit, want := range map[Severity]int{SeverityError: 1, SeverityWarning: 2, SeverityNote: 3} {
		if got := Worst(findings(), limit); got != want {
			t.Errorf("at %s or worse: got %d, want %d", limit, got, want)
		}
	}
}

func TestHintSurvivesWrapping(t *testing.T) {
	cause := errors.New("cause")
	err := fmt.Errorf("doing: %w", WithHint(cause, "try %s", "this"))
	if HintOf(err) != "try this" || !errors.Is(err, cause) || err.Error() != "doing: cause" {
		t.Errorf("hint %q, error %q", HintOf(err), err)
	}
	if WithHint(nil, "never") != nil || HintOf(cause) != "" {
		t.Error("a hint appeared from nowhere")
	}
}
