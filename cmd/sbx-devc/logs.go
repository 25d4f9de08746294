package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// logsOptions are the flags of logs.
type logsOptions struct {
	net    bool
	follow bool
	denied bool
	json   bool
	all    bool
}

func (a *app) logsCommand() *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:   "logs [RUN | DIR | FILE]",
		Short: "Show the decisions of the firewall, as they happen",
		Long: `Show the decisions of a firewall, one a line: those of the newest run of the
project in the current folder (with --all: of any project) or of its dev container
where it has no run, of the run RUN, of the dev container of the project in DIR or
of its newest run where it has none, or of an audit.jsonl. A run or a dev container
that is up is asked through the engine. The agent's own output is transcript.jsonl
in the run's folder. 'sbx-devc report' sums the same log up.

Exit code 66: there is no such log; 69: the container engine does not answer.`,
		Example: `  sbx-devc logs -f
  sbx-devc logs --denied ~/src/app
  sbx-devc logs --json 20260102-150405-ab12cd | jq .name`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.logs(cmd.Context(), o, args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.net, "net", false, "the decisions of the firewall, the default")
	f.BoolVarP(&o.follow, "follow", "f", false, "show new records, until the run ends or you interrupt")
	f.BoolVar(&o.denied, "denied", false, "only what was denied")
	f.BoolVar(&o.all, "all", false, "without a name: the newest run of any project")
	f.BoolVar(&o.json, "json", false, "the records themselves, one JSON object a line")
	return cmd
}

func (a *app) logs(ctx context.Context, o logsOptions, args []string) error {
	project, err := a.projectAsked(o.all, args)
	if err != nil {
		return err
	}
	arg := ""
	if len(args) == 1 {
		arg = args[0]
	} else if arg, err = a.runs().NewestLog(ctx, false, project); err != nil {
		return err
	}
	log, err := a.runs().Log(ctx, arg)
	if err != nil {
		return err
	}
	return log.Tail(ctx, o.follow, a.lineOf(o))
}

// lineOf shows one line of a log in the form that the flags ask for. What is no
// record is not shown: the line may come from a container.
func (a *app) lineOf(o logsOptions) func([]byte) error {
	return func(line []byte) error {
		r, ok := audit.Parse(line)
		if !ok || o.denied && r.Verdict != firewall.Deny {
			return nil
		}
		text := audit.Line(line)
		if o.json {
			again, err := json.Marshal(r)
			if err != nil {
				return err
			}
			text = string(audit.EscapeJSON(again)) + "\n"
		}
		_, err := io.WriteString(a.stdout, text)
		return err
	}
}
