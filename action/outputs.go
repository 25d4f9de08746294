package action

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/agent"
)

// maxOutput bounds one output in bytes. A step that takes one as a variable
// cannot be started when name and value are longer than 128 KiB (Linux's
// MAX_ARG_STRLEN). GitHub allows 1 MB for all outputs of a job together and drops
// the whole set beyond it.
const maxOutput = 120 << 10

// Outputs are the outputs of the Action. Each field's tag is the name in
// action.yml.
type Outputs struct {
	Conclusion    agent.Conclusion // always set
	Result        string           // the agent's closing text, or the API's error text
	Structured    string           // the answer as JSON, where json_schema asked for one and it fits; "" = there is none
	SessionID     string           // Claude's session
	CostUSD       float64          // list price in US dollars, as Claude computed it
	MeteredUSD    float64          // list price in US dollars, by the tokens that the model API reported to the proxy
	Turns         int              // turns of the conversation
	DurationMS    int64            // wall clock of the whole run, in milliseconds
	DeniedHosts   []string         // hosts that were refused, sorted
	ChangedFiles  []string         // paths in the workspace, dangerous ones first
	Protected     []string         // those of them that programs obey, or that are in hidden folders
	PatchFile     string           // path of the changes as a unified diff; "" when nothing changed
	BundleFile    string           // path of the agent's commits; "" when it made none
	ExecutionFile string           // path of the transcript; "" when nothing ran
	Canaries      string           // "held" or "broken"; "" when the firewall never ran
	ReportDir     string           // folder with transcript and egress report
}

// pair is one output as it is written.
type pair struct{ name, value string }

func (o Outputs) pairs() []pair {
	return []pair{
		{"conclusion", string(o.Conclusion)},
		{"result", truncate(o.Result, maxOutput)},
		{"structured_output", o.Structured},
		{"session_id", o.SessionID},
		{"cost_usd", strconv.FormatFloat(agent.RoundUSD(o.CostUSD), 'f', -1, 64)},
		{"metered_cost_usd", strconv.FormatFloat(agent.RoundUSD(o.MeteredUSD), 'f', -1, 64)},
		{"num_turns", strconv.Itoa(o.Turns)},
		{"duration_ms", strconv.FormatInt(o.DurationMS, 10)},
		{"denied_hosts", outputLines(o.DeniedHosts)},
		{"changed_files", outputLines(o.ChangedFiles)},
		{"protected_files", outputLines(o.Protected)},
		{"patch_file", o.PatchFile},
		{"bundle_file", o.BundleFile},
		{"execution_file", o.ExecutionFile},
		{"canaries", o.Canaries},
		{"report_dir", o.ReportDir},
	}
}

// writePairs writes outputs in the form of $GITHUB_OUTPUT. Every value stands
// between lines with a delimiter of 128 random bits: with a delimiter that the
// agent can foresee, its text could end the value and set outputs of its own.
func writePairs(w io.Writer, pairs []pair) error {
	var b strings.Builder
	for _, p := range pairs {
		value := strings.ReplaceAll(strings.ToValidUTF8(p.value, "\ufffd"), "\x00", "")
		delimiter := newDelimiter()
		if strings.Contains(value, delimiter) { // cannot happen unless the random source is broken
			return fmt.Errorf("the value of output %s contains its own delimiter", p.name)
		}
		fmt.Fprintf(&b, "%s<<%s\n%s\n%s\n", p.name, delimiter, value, delimiter)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// write writes the outputs in the form of $GITHUB_OUTPUT.
func (o Outputs) write(w io.Writer) error { return writePairs(w, o.pairs()) }

// newDelimiter returns 128 random bits; crypto/rand.Read never fails.
func newDelimiter() string {
	var random [16]byte
	_, _ = rand.Read(random[:])
	return "sbx_" + hex.EncodeToString(random[:])
}

// appendTo appends what write produces to a file of the runner. An empty path
// means that this is no workflow: nothing is written.
func appendTo(path string, write func(io.Writer) error) (err error) {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}

// outputLines writes one item a line, as many whole ones as fit into an output.
func outputLines(items []string) string {
	var b strings.Builder
	for _, item := range items {
		if b.Len()+len(item)+1 > maxOutput {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(item)
	}
	return b.String()
}

// truncate shortens s to limit bytes, on a rune's border, and says so.
func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	note := fmt.Sprintf("\n… (cut: %d bytes in all)", len(s))
	return strings.ToValidUTF8(s[:max(limit-len(note), 0)], "") + note
}
