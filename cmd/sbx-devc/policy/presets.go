package policy

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

func presetsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "presets [NAME…]",
		Short: "List the presets: the hosts of each, their source, and the risks",
		Example: `  sbx-devc policy presets
  sbx-devc policy presets npm github`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return presets(a.Stdout, args) },
	}
}

func presets(to io.Writer, names []string) error {
	for _, name := range names {
		if _, ok := firewall.Preset(name); !ok {
			bad := firewall.Validate(firewall.Network{Presets: []string{name}})
			return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("%s", bad[0].Message), "%s", bad[0].Hint))
		}
	}
	var b strings.Builder
	for _, p := range firewall.Presets() {
		if len(names) > 0 && !slices.Contains(names, p.Name) {
			continue
		}
		fmt.Fprintf(&b, "%s\n    opens   %s\n    source  %s\n", p.Name, strings.Join(p.Entries, ", "), p.Source)
		if p.Note != "" {
			fmt.Fprintf(&b, "    note    %s\n", p.Note)
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}
