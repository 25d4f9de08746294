package sandbox

import (
	"io"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/lifeline"
)

// A log of which the end is missing is read in the container.
func TestOnlyAWholeLogIsTaken(t *testing.T) {
	const closed, ready, record = `{"closed":true}` + "\n", `{"ready":true}` + "\n", `{"name":"a.example"}` + "\n"
	for name, tt := range map[string]struct {
		says string
		want string // "" = no log
	}{
		"whole":                   {closed + ready + record + record + lifeline.LogEnd + "\n", record + record},
		"nothing was recorded":    {closed + ready + lifeline.LogEnd + "\n", "none"},
		"its end is missing":      {closed + ready + record, ""},
		"its end is cut":          {closed + ready + record + lifeline.LogEnd[:8], ""},
		"a line has no end":       {closed + ready + strings.Repeat("x", lifeline.MaxLog+1) + "\n" + lifeline.LogEnd + "\n", ""},
		"it is too long":          {closed + ready + strings.Repeat(record, lifeline.MaxLog/20+1) + lifeline.LogEnd + "\n", ""},
		"the firewall was killed": {closed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sidecar{conn: outputOf(tt.says), said: make(chan said, 2), log: make(chan []byte, 1)}
			s.listen()
			log, ok := <-s.log
			got := string(log)
			if ok && got == "" && log != nil {
				got = "none"
			}
			if got != tt.want || ok != (tt.want != "") {
				t.Errorf("%v, %.200q", ok, got)
			}
		})
	}
}

// outputOf is what a firewall's container says.
func outputOf(text string) io.ReadWriteCloser {
	return struct {
		io.Reader
		io.WriteCloser
	}{strings.NewReader(text), nil}
}
