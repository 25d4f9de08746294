package devfiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/publish"
)

func TemplatesCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "templates",
		Short: "List, test and publish the dev container Templates and the firewall Feature",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(templatesListCommand(a), templatesShowCommand(a), templatesTestCommand(a), templatesPackCommand(a),
		templatesPushCommand(a))
	return cmd
}

func templatesListCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the templates",
		Example: "  sbx-devc templates list",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
			for _, id := range templates.IDs() {
				t, err := templates.Load(id)
				if err != nil {
					return exitcode.With(exitcode.Internal, err)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", t.ID, t.Version, t.Description)
			}
			return w.Flush()
		},
	}
}

func templatesShowCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show a template's options",
		Example: "  sbx-devc templates show claude-python",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := templates.Load(args[0])
			if err != nil {
				return exitcode.With(exitcode.Usage, err)
			}
			fmt.Fprintf(a.Stdout, "%s %s: %s\n%s\n%s\n\n", t.ID, t.Version, t.Name, t.Description, t.Digest())
			w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
			for _, name := range slices.Sorted(maps.Keys(t.Options)) {
				o := t.Options[name]
				accepted := ""
				if len(o.Enum) > 0 {
					accepted = " (" + strings.Join(o.Enum, ", ") + ")"
				}
				fmt.Fprintf(w, "%s\t%q\t%s%s\n", name, o.Default, o.Description, accepted)
			}
			return w.Flush()
		},
	}
}

func templatesTestCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "test [ID...]",
		Short: "Render each template with each value of its options, and validate the results",
		Long: `Render each template, by default all, as it is and with each proposed value of each
option, and validate the results.

Exit code 0: nothing above a note; 1: findings; 2: wrong usage.`,
		Example:     "  sbx-devc templates test",
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE: func(_ *cobra.Command, ids []string) error {
			if len(ids) == 0 {
				ids = templates.IDs()
			}
			bad := 0
			for _, id := range ids {
				t, err := templates.Load(id)
				if err != nil {
					return exitcode.With(exitcode.CheckUsage, err)
				}
				variations := t.Variations()
				for _, options := range variations {
					for _, p := range t.Problems(options) {
						bad++
						fmt.Fprintf(a.Stdout, "%s %v: %s\n", id, options, p)
					}
				}
				fmt.Fprintf(a.Stderr, "sbx-devc: %s: %s\n", id, visible.Count(len(variations), "variation"))
			}
			if bad > 0 {
				return exitcode.With(exitcode.Findings, nil)
			}
			return nil
		},
	}
}

func templatesPackCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "pack DIR",
		Short: "Write the archives and the collections' metadata",
		Long: `Write the archives that 'templates push' pushes, and the metadata of both
collections, to DIR/templates and DIR/features. The same program writes the same
bytes. The written files are printed.`,
		Example: "  sbx-devc templates pack out",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := publish.WriteAll(args[0])
			if err != nil {
				return exitcode.With(exitcode.Internal, err)
			}
			for _, file := range files {
				fmt.Fprintln(a.Stdout, file)
			}
			return nil
		},
	}
}

func templatesPushCommand(a *cli.App) *cobra.Command {
	var featureSpace string
	var force bool
	cmd := &cobra.Command{
		Use:   "push NAMESPACE",
		Short: "Push the templates, and the firewall Feature, to a registry",
		Long: `Push each template to NAMESPACE/ID under its version's tags (1.2.3, 1.2, 1 and
latest), and the collection's metadata to NAMESPACE, as dev container tools read
them. --features NAMESPACE does the same for the Feature. A full version never
moves to another content unless --force-tag says so.

Each pushed artifact is printed with its digest. Credentials are those of
'image push': for ghcr.io GITHUB_TOKEN or GH_TOKEN, then those of 'docker login'
and 'podman login'. Requests that fail for a moment are repeated.

Exit code 0: pushed; 1: a push failed; 64: wrong usage; 77: a version exists with
another content; 78: the registry does not accept the credentials.`,
		Example: "  sbx-devc templates push ghcr.io/me/templates --features ghcr.io/me/features",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(publish.CheckNamespace(args[0]), publish.CheckNamespace(featureSpace)); err != nil {
				return exitcode.With(exitcode.Usage, err)
			}
			ts, fs, err := publish.Collections()
			if errors.Is(err, carried.ErrNotCarried) && featureSpace == "" {
				err = nil
			}
			if err != nil {
				return exitcode.With(exitcode.Internal, err)
			}
			options, err := connect.RegistryOptions(a, connect.Login{})
			if err != nil {
				return err
			}
			if err := pushAll(cmd.Context(), a.Stdout, ts, args[0], force, options); err != nil || featureSpace == "" {
				return err
			}
			return pushAll(cmd.Context(), a.Stdout, fs, featureSpace, force, options)
		},
	}
	cmd.Flags().StringVar(&featureSpace, "features", "", "also push the Feature, below this namespace")
	cmd.Flags().BoolVar(&force, "force-tag", false, "move a version's tag although it exists with another content")
	return cmd
}

func pushAll(ctx context.Context, to io.Writer, artifacts []publish.Artifact, namespace string, force bool,
	options registry.Options) error {
	for _, artifact := range artifacts {
		reference, err := publish.Push(ctx, artifact, namespace, force, options)
		if err != nil {
			return connect.Error(err)
		}
		fmt.Fprintln(to, reference)
	}
	return nil
}
