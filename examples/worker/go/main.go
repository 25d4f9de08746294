// Command go asks Claude for an answer of a given form about a folder, by the worker
// protocol (docs/worker.md).
//
//	go run ./examples/worker/go FOLDER PROMPT
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// request is a line that the worker reads.
type request struct {
	ID     string          `json:"id"`
	Op     string          `json:"op"`
	Mode   string          `json:"mode,omitempty"`
	Prompt string          `json:"prompt,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// message is a line that the worker writes, as far as this program reads it.
type message struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Last       bool            `json:"last"`
	Conclusion string          `json:"conclusion"`
	Structured json.RawMessage `json:"structured"`
	Requests   int             `json:"requests"`
	USD        float64         `json:"usd"`
	Error      string          `json:"error"`
	Message    string          `json:"message"`
}

const schema = `{"type": "object", "required": ["answer"], "additionalProperties": false, "properties": {"answer": {"type": "string"}}}`

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go FOLDER PROMPT")
		os.Exit(64)
	}
	if err := ask(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func ask(folder, prompt string) error {
	cmd := exec.Command("sbx-devc", "exec", "--json-lines", folder)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failure := converse(in, out, prompt)
	return errors.Join(failure, in.Close(), cmd.Wait()) // its end ends all that it started
}

func converse(in io.Writer, out io.Reader, prompt string) error {
	send := json.NewEncoder(in)
	for _, r := range []request{
		{ID: "start", Op: "ensure"},
		{ID: "ask", Op: "prompt", Mode: "generate", Prompt: prompt, Schema: json.RawMessage(schema)},
	} {
		if err := send.Encode(r); err != nil {
			return err
		}
	}
	lines := bufio.NewReader(out)
	var failure error
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return errors.Join(failure, errors.New("the worker has ended"))
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		switch m.Type {
		case "error", "ended":
			failure = errors.Join(failure, fmt.Errorf("%s: %s", m.Error, m.Message))
		case "result":
			fmt.Printf("%s: %s\n", m.Conclusion, m.Structured)
		case "usage":
			fmt.Printf("%d requests, $%.4f\n", m.Requests, m.USD)
		}
		if m.Last && (m.ID == "ask" || failure != nil) {
			return failure
		}
	}
}
