package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/agent/transcript"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/runs"
)

// logsOptions are the flags of logs.
type logsOptions struct {
	net    bool
	follow bool
	denied bool
	json   bool
	all    bool
}

func LogsCommand(a *cli.App) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:   "logs [RUN | DIR | FILE]",
		Short: "Show what the agent did in a run, or with --net what its firewall decided",
		Long: `Show what the agent said and did in the run RUN, or in the newest run of the project
in DIR or in the current folder (with --all: of any project), in a form for people;
--json is Claude's own output. -f goes on until the run ends; of a run on a terminal it
shows what was said there, seconds later.

With --net or --denied, where a project has no run, and for an audit.jsonl it shows
the decisions of the firewall, one a line, of the run or of the project's dev
container. The engine is asked about containers that are up. 'sbx-devc report' sums the same
log up, and 'sbx-devc ls' lists the runs.

Exit code 66: there is no such log; 69: the container engine does not answer.`,
		Example: `  sbx-devc logs -f
  sbx-devc logs --denied ~/src/app
  sbx-devc logs --net --json 20260102-150405-ab12cd | jq .name`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return logs(cmd.Context(), a, o, args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.net, "net", false, "the decisions of the firewall")
	f.BoolVarP(&o.follow, "follow", "f", false, "show new lines until the run ends or you interrupt")
	f.BoolVar(&o.denied, "denied", false, "only denied destinations")
	f.BoolVar(&o.all, "all", false, "without a name: the newest run of any project")
	f.BoolVar(&o.json, "json", false, "Claude's output, or the records, one JSON object a line")
	return cmd
}

func logs(ctx context.Context, a *cli.App, o logsOptions, args []string) error {
	project, err := projects.OfRuns(a, o.all, args)
	if err != nil {
		return err
	}
	if run, ok := runMeant(a, args, project); ok && !o.net && !o.denied {
		return showTranscript(ctx, a, run, o)
	}
	log, err := projects.Runs(a).Log(ctx, project, args...)
	if err != nil {
		return err
	}
	return log.Tail(ctx, o.follow, lineOf(a, o))
}

// runMeant is the run whose transcript is asked for: the one that is named, or the
// newest one of a project; false when there is none.
func runMeant(a *cli.App, args []string, project string) (runs.Run, bool) {
	if len(args) == 1 {
		if run, err := projects.Runs(a).Named(args[0]); err == nil {
			return run, true
		}
		abs, err := filepath.Abs(args[0])
		if err != nil || !filekind.IsFolder(abs) || filekind.IsRegular(filepath.Join(abs, sandbox.AuditFile)) {
			return runs.Run{}, false
		}
		project = projects.Real(abs)
	}
	for _, run := range projects.Runs(a).List(project) {
		return run, true
	}
	return runs.Run{}, false
}

// showTranscript shows what the agent did in a run.
func showTranscript(ctx context.Context, a *cli.App, run runs.Run, o logsOptions) error {
	fmt.Fprintf(a.Stderr, "sbx-devc: %s\n", run)
	if o.json {
		return run.Transcript(ctx, o.follow, cli.Shown(a.Stdout))
	}
	printer := transcript.New(a.Stdout)
	scanner := agent.NewScanner(io.Discard, printer.Event)
	if err := run.Transcript(ctx, o.follow, scanner); err != nil {
		return err
	}
	return errors.Join(scanner.Close(), printer.Err())
}

// lineOf shows one line of a log in the form that the flags ask for. A line that is no
// record is not shown: the line may come from a container.
func lineOf(a *cli.App, o logsOptions) func([]byte) error {
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
		_, err := io.WriteString(a.Stdout, text)
		return err
	}
}
