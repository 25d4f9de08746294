package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/learn"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/settings"
)

// learnOptions are the flags of policy learn.
type learnOptions struct {
	file    string
	format  string
	write   bool
	enforce bool
	include []string
	learn   learn.Options
}

func learnCommand(a *cli.App) *cobra.Command {
	var o learnOptions
	cmd := &cobra.Command{
		Use:   "learn [RUN | FOLDER | FILE]…",
		Short: "Propose entries that the allowlist lacks, from a run in mode audit",
		Long: `Read the audit log of a run in mode "audit" (which lets everything out and records
it) and propose the smallest allowlist that covers all of it: exact names
with the ports that were used, and addresses that no name led to. Standard
output is a diff of sandbox.jsonc; comments, order and indentation stay.

A preset or a wildcard opens further names, so both are proposed on demand only.
Names that look like data, and refused destinations, are left out with a note. Read
the proposal: it has everything that the agent tried to reach.
Without an argument it is about the newest run of the project that --file is in.

--include takes a list of kinds that are otherwise left out:
  denied    destinations that no entry named, as in a run in mode allowlist
  private   names that were refused for leading to private addresses
  data      names that look like data

Entries of "deny", metadata services and ports of DNS are never proposed.`,
		Example: `  sbx-devc run --network audit <task.md
  sbx-devc policy learn                      # look
  sbx-devc policy learn --write --enforce    # add it, and set the mode to allowlist
  sbx-devc policy learn --include denied --format flags`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return propose(cmd.Context(), a, o, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.file, "file", projects.DefaultSettings, "settings to compare with and to extend")
	f.StringVar(&o.format, "format", "diff",
		"diff; or, compared with the policy of the run: flags for 'run', or lines for a list (@FILE, allowed_domains)")
	f.BoolVar(&o.write, "write", false, "change the file; the diff goes to standard error")
	f.BoolVar(&o.enforce, "enforce", false, "also set the mode to allowlist")
	f.BoolVar(&o.learn.Presets, "presets", false, "propose a preset in the place of two or more names that it covers")
	f.BoolVar(&o.learn.Wildcards, "wildcards", false, "propose a wildcard in the place of three or more names below one domain")
	f.StringSliceVar(&o.include, "include", nil, "denied, private, data")
	return cmd
}

func propose(ctx context.Context, a *cli.App, o learnOptions, args []string) error {
	if err := o.check(); err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	o.file = projects.SettingsFile(a, o.file)
	project, err := projects.Of(o.file)
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	log, records, err := projects.Runs(a).ReadLogs(ctx, args, project)
	if err != nil {
		return err
	}
	_, statErr := os.Lstat(o.file)
	missing := errors.Is(statErr, fs.ErrNotExist) && projects.IsDefaultSettings(o.file)
	if missing && !o.write && !o.enforce && o.format == "diff" {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: the project has no %s, so these are flags for 'run'; 'sbx-devc allow' makes it\n",
			filepath.ToSlash(projects.DefaultSettings))
		o.format = "flags"
	}
	if o.format != "diff" {
		lesson := learn.New(records, log.Policy, o.learn)
		a.Say(lesson.Notes())
		return printEntries(a, lesson, o.format)
	}
	file, err := settingsToExtend(o.file)
	if err != nil {
		return err
	}
	policy := file.Settings.Policy()
	lesson := learn.New(records, policy, o.learn)
	a.Say(lesson.Notes())
	if policy.Mode() == firewall.ModeAudit && !o.enforce {
		fmt.Fprintf(a.Stderr, "sbx-devc: the mode of %s is still audit, which lets everything out; --enforce sets it to allowlist\n", o.file)
	}
	return addLesson(a, o, file, lesson)
}

// addLesson shows what the settings become with the lesson's entries, and with
// --write writes them.
func addLesson(a *cli.App, o learnOptions, file *settings.File, lesson *learn.Lesson) error {
	x := settings.Change{Add: settings.Lists{Presets: lesson.Entries("presets"), Allow: lesson.Entries("allow"),
		Private: lesson.Entries("private")}}
	if o.enforce {
		x.Mode = firewall.ModeAllowlist
	}
	amended, err := file.Amend(x)
	if err != nil {
		return exitcode.With(exitcode.Config, err)
	}
	extended := amended.Source
	if bytes.Equal(file.Source, extended) {
		fmt.Fprintf(a.Stderr, "sbx-devc: %s needs no change\n", o.file)
		return nil
	}
	if !o.write {
		return showChange(a.Stdout, o.file, file.Source, extended)
	}
	if err := showChange(a.Stderr, o.file, file.Source, extended); err != nil {
		return err
	}
	if err := atomicfile.Replace(o.file, file.Source, extended); err != nil {
		return exitcode.With(exitcode.CantWrite, fmt.Errorf("writing the settings: %w", err))
	}
	if projects.IsDefaultSettings(o.file) {
		projects.KeepTrust(a, filepath.Dir(filepath.Dir(o.file)), file, extended, "policy learn")
	}
	return nil
}

// check understands --include and refuses flags that do not go together.
func (o *learnOptions) check() error {
	for _, what := range o.include {
		switch what {
		case "denied":
			o.learn.Denied = true
		case "private":
			o.learn.Private = true
		case "data":
			o.learn.Data = true
		default:
			return cli.UnknownValue("include", what, "denied", "private", "data")
		}
	}
	if !slices.Contains([]string{"diff", "flags", "lines"}, o.format) {
		return cli.UnknownValue("format", o.format, "diff", "flags", "lines")
	}
	if o.format != "diff" && (o.write || o.enforce) {
		return diag.WithHint(fmt.Errorf("--format %s changes no file", o.format), "leave out --write and --enforce, or --format")
	}
	return nil
}

// settingsToExtend reads the settings that are extended. A link is refused,
// also where it is the user's own: writing would put a file in its place.
func settingsToExtend(file string) (*settings.File, error) {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("there are no settings at %s", file),
			"'sbx-devc allow HOST' makes them, or 'sbx-devc init'; --file names others, and --format flags needs none"))
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("reading %s: it is no regular file", file)
	}
	if err != nil {
		return nil, exitcode.With(exitcode.NoInput, err)
	}
	f, err := settings.ReadFile(file)
	if err != nil {
		return nil, exitcode.With(exitcode.NoInput, err)
	}
	if f.Settings == nil {
		return nil, exitcode.With(exitcode.Config, diag.WithHint(f.Err(), "sbx-devc validate %s shows everything that is wrong", file))
	}
	return f, nil
}

// printEntries prints the entries for a command line or for a list.
func printEntries(a *cli.App, l *learn.Lesson, format string) error {
	text := l.Flags()
	if format == "lines" {
		hosts, others := l.Hosts()
		for _, p := range others {
			fmt.Fprintf(a.Stderr, "sbx-devc: note: %s belongs to \"%s\", not to a list of hosts\n", p.Entry, p.List)
		}
		text = strings.Join(hosts, "\n")
	}
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintln(a.Stdout, text)
	return err
}
