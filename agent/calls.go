package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// Call is a tool call of a transcript that may have written a file. All of it is the
// agent's word.
type Call struct {
	Name    string    // such as "Edit" or "Bash"
	Time    time.Time // when Claude printed it; zero = it does not say
	Ended   time.Time // when Claude printed its result; zero = it does not say, or there is none
	Path    string    // of the file that it writes, as Claude names it; "" = a command
	Command string    // of Bash; at most 16 KiB
	Wrote   []string  // pieces of text that came into the file

	id string // by which its result names it
}

// Bounds on what is read of a transcript.
const (
	maxCallLine = 8 << 20  // bytes; a longer line is passed over
	maxCalls    = 50_000   // the first so many are given
	maxCommand  = 16 << 10 // bytes of one
	maxWrote    = 64 << 20 // bytes of all pieces of text; calls after that have none
)

// Calls returns the calls of a transcript, which is Claude's stream-json, that can have
// written files, in their order: those of Write, Edit, MultiEdit, NotebookEdit and
// Bash. It errs when the transcript cannot be read.
func Calls(transcript io.Reader) (calls []Call, err error) {
	in := bufio.NewReaderSize(transcript, maxCallLine)
	left, overlong := maxWrote, false
	byID := map[string]int{}
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			overlong = true
			continue
		}
		if err != nil && err != io.EOF {
			return calls, err
		}
		if !overlong && bytes.Contains(line, []byte(`"tool_use`)) { // or the tool_use_id of a result
			found, ended := callsOf(line)
			for id, at := range ended {
				if i, ok := byID[id]; ok {
					calls[i].Ended = at
				}
			}
			for _, c := range found {
				for _, text := range c.Wrote {
					left -= len(text)
				}
				if left < 0 {
					c.Wrote = nil
				}
				if len(calls) < maxCalls {
					byID[c.id] = len(calls)
					calls = append(calls, c)
				}
			}
		}
		overlong = false
		if err == io.EOF {
			return calls, nil
		}
	}
}

// callsOf reads the calls of one line, and which calls' results it has, with their time.
func callsOf(line []byte) (calls []Call, ended map[string]time.Time) {
	var head struct {
		Type string    `json:"type"`
		Time time.Time `json:"timestamp"`
	}
	lenient(line, &head)
	if head.Type != "assistant" && head.Type != "user" {
		return nil, nil
	}
	var m wireMessage
	lenient(line, &m)
	ended = map[string]time.Time{}
	for _, b := range blocks(m.Message.Content) {
		switch {
		case b.Type == "tool_result" && head.Type == "user":
			ended[b.ToolUseID] = head.Time
			continue
		case b.Type != "tool_use" || head.Type != "assistant":
			continue
		}
		text := func(key string) string { s, _ := b.Input[key].(string); return s }
		c := Call{Name: b.Name, Time: head.Time, id: b.ID}
		switch b.Name {
		case "Write":
			c.Path, c.Wrote = text("file_path"), []string{text("content")}
		case "Edit":
			c.Path, c.Wrote = text("file_path"), []string{text("new_string")}
		case "MultiEdit":
			c.Path = text("file_path")
			edits, _ := b.Input["edits"].([]any)
			for _, e := range edits {
				if e, ok := e.(map[string]any); ok {
					s, _ := e["new_string"].(string)
					c.Wrote = append(c.Wrote, s)
				}
			}
		case "NotebookEdit": // its text is in the file as JSON
			c.Path = text("notebook_path")
		case "Bash":
			c.Command = text("command")
			c.Command = c.Command[:min(len(c.Command), maxCommand)]
		}
		if c.Path != "" || c.Command != "" {
			calls = append(calls, c)
		}
	}
	return calls, ended
}

// WorkDir is the folder in which the session of a transcript began; "" when its
// beginning does not say.
func WorkDir(transcript io.Reader) string {
	in := bufio.NewReader(io.LimitReader(transcript, maxCallLine))
	for {
		line, err := in.ReadBytes('\n')
		var head struct {
			Type, Subtype, CWD string
		}
		if json.Unmarshal(line, &head) == nil && head.Type == "system" && head.Subtype == "init" {
			return head.CWD
		}
		if err != nil {
			return ""
		}
	}
}
