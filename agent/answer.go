package agent

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Answer is how the model API answered a request, read outside of the sandbox.
type Answer struct {
	Stop string // stop_reason; "" = the answer did not come to its end
	Text string // the last content block, if it is a text
	// Structured is the arguments, as JSON, of the last call of StructuredOutput,
	// the tool whose call is the answer that --json-schema asks for; nil = the
	// model did not call it. Claude ends with it and tells the model nothing more.
	Structured []byte
}

// naturalEnds are the stop reasons after which Claude Code ends with success:
// the model said that it is done, a stop sequence cut it, or a tool of the
// provider's took long. After max_tokens it goes on by itself, and refusal and
// model_context_window_exceeded it reports as errors. After tool_use a tool of
// the sandbox runs: whoever writes a result then is that tool.
var naturalEnds = []string{"end_turn", "stop_sequence", "pause_turn"}

// disagrees says why a is not the answer that result is made of; "" = it is.
// Claude's result is the last content block of its last answer, byte for byte,
// and empty when that is no text (measured).
func (a Answer) disagrees(result *Result) string {
	switch {
	case a.Stop == "":
		return "the model's last answer did not come to its end"
	case a.Stop == "tool_use" && a.Structured != nil:
		if !sameJSON(a.Structured, result.Structured) || !sameJSON(a.Structured, []byte(result.Text)) {
			return "its structured output is not what the model gave"
		}
		return ""
	case !slices.Contains(naturalEnds, a.Stop):
		return "the model's last answer ended with " + oneLine(a.Stop, maxArgument) + ", after which Claude goes on"
	case a.Text != result.Text:
		return "its text is not the model's last answer"
	}
	return ""
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
