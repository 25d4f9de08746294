package action

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/redact"
)

// BenchmarkLargeTranscript is all that the step does with a transcript of 100 MB. Its lines are
// read, kept and printed without secrets while Claude works; what comes after its end is told
// as ms-for-the-summary.
func BenchmarkLargeTranscript(b *testing.B) {
	var transcript bytes.Buffer
	answer, _ := json.Marshal(strings.Repeat("a line of a log that a tool has printed, with a number 0123456789\n", 450))
	for i := 0; transcript.Len() < 100<<20; i++ {
		fmt.Fprintf(&transcript,
			`{"type":"assistant","session_id":"s","message":{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Bash",`+
				`"input":{"command":"make test"}}]}}`+"\n", i)
		fmt.Fprintf(&transcript,
			`{"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%s}]}}`+"\n", i,
			answer)
	}
	for _, full := range []bool{false, true} {
		b.Run(fmt.Sprintf("show_output=%v", full), func(b *testing.B) {
			b.SetBytes(int64(transcript.Len()))
			var summary time.Duration
			for b.Loop() {
				clean := redact.New(redact.Options{Secrets: []string{"sk-ant-test-key-0123456789"}, Patterns: true})
				log := &cleanLog{to: clean.Writer(io.Discard)}
				e := newEvents(log, clean)
				e.full = full
				kept := clean.Writer(io.Discard) // the copy in the report folder
				scanner := agent.NewScanner(kept, e.hear)
				if _, err := io.Copy(scanner, bytes.NewReader(transcript.Bytes())); err != nil {
					b.Fatal(err)
				}
				_ = scanner.Close()
				_ = kept.Close()
				began := time.Now()
				r := reported{events: e, duration: time.Minute, Report: Report{Outcome: agent.Outcome{Conclusion: agent.Success}}}
				if err := r.writeSummary(io.Discard); err != nil {
					b.Fatal(err)
				}
				summary += time.Since(began)
			}
			b.ReportMetric(float64(summary.Milliseconds())/float64(b.N), "ms-for-the-summary")
		})
	}
}
