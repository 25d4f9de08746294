package main

import (
	"context"
	"io"

	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/diag"
)

// log prints the audit log. Everybody may: it says why something was refused.
func (p *program) log(args []string) error {
	fs := newFlags("log")
	path := fs.String("audit", defaultAudit, "")
	follow := fs.Bool("f", false, "")
	asJSON := fs.Bool("json", false, "")
	rest, err := parseFlags(fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageError("log takes no argument")
	}
	show := func(line []byte) error {
		text := audit.Line(line)
		if *asJSON {
			text = string(line) + "\n"
		}
		_, err := io.WriteString(p.stdout, text)
		return err
	}
	if err := audit.Tail(context.Background(), *path, *follow, show); err != nil {
		return diag.WithHint(err, "give the place that 'sbx-init run' was given: --audit FILE")
	}
	return nil
}
