package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/org/claude-sandbox/firewall/control"
)

// each runs one command for each line of its input, and answers with a line of output that
// says how it ended. To run a command in a container takes an engine a tenth of a second and
// more; a canary has the time before and after the agent's.
func (p *program) each(args []string) error {
	if len(args) == 0 || !slices.Contains([]string{"canary", "verify"}, args[0]) {
		return usageError("each takes the command canary or verify, with what belongs to it")
	}
	answers := json.NewEncoder(p.stdout)
	lines := bufio.NewScanner(p.stdin)
	for lines.Scan() {
		var stdout, stderr bytes.Buffer
		one := &program{stdin: new(bytes.Buffer), stdout: &stdout, stderr: &stderr}
		code := one.main(args)
		if err := answers.Encode(control.Response{Code: code, Stdout: stdout.String(), Stderr: stderr.String()}); err != nil {
			return fmt.Errorf("answering: %w", err)
		}
	}
	return lines.Err()
}
