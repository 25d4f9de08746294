package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox"
)

// labelFolder is how editors and the devcontainer command mark the container
// of a folder (containers.dev, reference implementation).
const labelFolder = "devcontainer.local_folder"

// logsOptions are the flags of logs.
type logsOptions struct {
	net    bool
	follow bool
	denied bool
	json   bool
}

func (a *app) logsCommand() *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:   "logs --net [RUN | DIR | FILE]",
		Short: "Show what the firewall decided, as it happens",
		Long: `Show the decisions of a firewall, one a line: those of the newest run, of the run
RUN, of the dev container of the project in DIR, or of an audit.jsonl. A run or a
dev container that is up is asked through the engine. 'sbx-devc report' sums the
same log up.

Exit code 66: there is no such log; 69: the container engine does not answer.`,
		Example: `  sbx-devc logs --net -f
  sbx-devc logs --net --denied ~/src/app
  sbx-devc logs --net --json 20260102-150405-ab12cd | jq .name`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.net {
				return exitWith(exitUsage, diag.WithHint(errors.New("logs shows the network's log only"), "add --net; the agent's own output is transcript.jsonl in the run's folder"))
			}
			return a.logs(cmd.Context(), o, args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.net, "net", false, "the decisions of the firewall")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on with what comes, until the run ends or you interrupt")
	f.BoolVar(&o.denied, "denied", false, "only what was denied")
	f.BoolVar(&o.json, "json", false, "the records themselves, one JSON object a line")
	return cmd
}

func (a *app) logs(ctx context.Context, o logsOptions, args []string) error {
	show := a.lineOf(o)
	arg := ""
	if len(args) == 1 {
		arg = args[0]
	} else if newest := a.newestFolder(); newest != "" {
		arg = newest
	} else {
		return exitWith(exitNoInput, diag.WithHint(fmt.Errorf("no run in %s", a.runsHome()), "name the folder of a project with a dev container, or an audit.jsonl"))
	}
	run, live := a.liveRun(arg)
	switch log, err := a.auditLog(arg); {
	case err == nil:
		// A run that is over writes no more.
		follow := o.follow && !runName.MatchString(filepath.Base(filepath.Dir(log.file)))
		if err := audit.Tail(ctx, log.file, follow, show); err != nil {
			return exitWith(exitNoInput, err)
		}
		return nil
	case live:
		return a.containerLog(ctx, o, show, []string{sandbox.FirewallContainer(run)}, "the run "+run)
	case !isFolder(arg):
		return err
	}
	folder, err := filepath.Abs(arg)
	if err != nil {
		return exitWith(exitInternal, err)
	}
	return a.devContainerLog(ctx, o, show, folder)
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// newestFolder is the folder of the newest run, which may not be over; "" when
// there is none.
func (a *app) newestFolder() string {
	entries, _ := os.ReadDir(a.runsHome()) // none: no run
	for _, e := range slices.Backward(entries) {
		if runName.MatchString(e.Name()) {
			return filepath.Join(a.runsHome(), e.Name())
		}
	}
	return ""
}

// liveRun reports whether arg names a run that has left no log, by its id or its
// folder.
func (a *app) liveRun(arg string) (id string, live bool) {
	id = filepath.Base(arg)
	return id, runName.MatchString(id) && isFolder(filepath.Join(a.runsHome(), id))
}

// devContainerLog shows the log of a project's dev container.
func (a *app) devContainerLog(ctx context.Context, o logsOptions, show func([]byte) error, folder string) error {
	e, err := engine.Connect(ctx)
	if err != nil {
		return runError(err)
	}
	defer e.Close()
	ids, err := e.List(ctx, labelFolder, folder)
	if err != nil {
		return runError(err)
	}
	if len(ids) == 0 {
		return exitWith(exitNoInput, diag.WithHint(fmt.Errorf("%s has no dev container on this engine, and no audit log", folder), "open it in an editor, or start it with 'devcontainer up'"))
	}
	return a.execLog(ctx, e, o, show, ids, "the dev container of "+folder)
}

func (a *app) containerLog(ctx context.Context, o logsOptions, show func([]byte) error, containers []string, what string) error {
	e, err := engine.Connect(ctx)
	if err != nil {
		return runError(err)
	}
	defer e.Close()
	return a.execLog(ctx, e, o, show, containers, what)
}

// execLog has sbx-init print the log in the first of the containers that runs,
// as nobody: everybody may read it.
func (a *app) execLog(ctx context.Context, e *engine.Engine, o logsOptions, show func([]byte) error, containers []string, what string) error {
	command := []string{sandbox.InitPath, "log", "--json"}
	if o.follow {
		command = append(command, "-f")
	}
	var stream *engine.Stream
	var err error
	for _, id := range containers {
		if stream, err = e.Exec(ctx, id, engine.ExecSpec{Command: command, User: "65534:65534", WorkingDir: "/"}); err == nil {
			break
		}
	}
	if err != nil {
		return exitWith(exitNoInput, diag.WithHint(fmt.Errorf("asking %s for its log: %w", what, err), "it does not run"))
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, func() { stream.Close() })
	defer stop()
	var said firstWords
	out, in := io.Pipe()
	go func() { in.CloseWithError(stream.Copy(in, &said)) }()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if err := show(lines.Bytes()); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	if err := lines.Err(); err != nil {
		return exitWith(exitInternal, fmt.Errorf("reading the log of %s: %w", what, err))
	}
	if code, err := e.ExecExit(ctx, stream); err == nil && code != 0 {
		return exitWith(exitNoInput, fmt.Errorf("%s has no audit log: %s", what, visible(strings.TrimSpace(string(said)))))
	}
	return nil
}

// firstWords keeps the beginning of what is written to it: the container's image
// may be the project's, and write without end.
type firstWords []byte

func (w *firstWords) Write(p []byte) (int, error) {
	*w = append(*w, p[:min(len(p), 1000-len(*w))]...)
	return len(p), nil
}

// lineOf shows one line of a log in the form that the flags ask for. What is no
// record is not shown: the line may come from a container.
func (a *app) lineOf(o logsOptions) func([]byte) error {
	return func(line []byte) error {
		var r audit.Record
		if json.Unmarshal(line, &r) != nil || r.Verdict == "" || o.denied && r.Verdict != firewall.Deny {
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
