package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestCalls(t *testing.T) {
	line := func(time, name, input string) string {
		return `{"type":"assistant","timestamp":"` + time + `","message":{"content":[{"type":"tool_use","id":"x","name":"` + name +
			`","input":` + input + `}]}}` + "\n"
	}
	text := line("2026-01-02T03:04:05Z", "Write", `{"file_path":"/w/a","content":"c"}`) + line("2026-01-02T03:04:06Z", "Edit",
		`{"file_path":"/w/b","new_string":"n","old_string":"o"}`) +
		"no JSON, but \"tool_use\"\n" + line("", "Read", `{"file_path":"/w/c"}`) +
		`{"type":"user","message":{"content":[{"type":"tool_use","name":"Write","input":{"file_path":"/w/user"}}]}}` + "\n" +
		line("bad", "MultiEdit", `{"file_path":"/w/d","edits":[{"new_string":"1"},{"new_string":"2"},3]}`) + line("2026-01-02T03:04:07Z", "Bash",
		`{"command":"touch e"}`) +
		line("2026-01-02T03:04:07Z", "Write", `{"file_path":7}`) + `{"type":"assistant","tool_use":"` + strings.Repeat("x", maxCallLine) +
		"\"}\n" + line("2026-01-02T03:04:08Z", "NotebookEdit", `{"notebook_path":"/w/n.ipynb"}`)
	text += `{"type":"user","timestamp":"2026-01-02T03:04:09Z","message":{"content":[{"type":"tool_result","tool_use_id":"x"},` +
		`{"type":"tool_result","tool_use_id":"y"}]}}` + "\n"
	calls, err := Calls(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range calls {
		got = append(got, fmt.Sprint(c.Name, c.Time.Second(), c.Ended.Second(), c.Path, c.Command, c.Wrote))
	}
	want := "Write5 0/w/a[c] Edit6 0/w/b[n] MultiEdit0 0/w/d[1 2] Bash7 0touch e[] NotebookEdit8 9/w/n.ipynb[]" // all have one id
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

// The form is that of the real program's output.
func TestCallsOfARealTranscript(t *testing.T) {
	f, err := os.Open("testdata/stream.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	calls, err := Calls(f)
	if err != nil || len(calls) == 0 {
		t.Error(calls, err)
	}
	for _, c := range calls {
		if c.Name != "Bash" || c.Command == "" || c.Time.IsZero() || c.Ended.Before(c.Time) {
			t.Errorf("%+v", c)
		}
	}
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	if dir := WorkDir(f); dir != "/workspace" {
		t.Errorf("%q", dir)
	}
}
