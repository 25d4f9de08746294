package machine

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/release"
)

func VersionCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  sbx-devc version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return cli.PrintJSON(a.Stdout, struct {
					SchemaVersion int    `json:"schemaVersion"`
					Version       string `json:"version"`
					OS            string `json:"os"`
					Arch          string `json:"arch"`
				}{1, release.Version, runtime.GOOS, runtime.GOARCH})
			}
			_, err := fmt.Fprintln(a.Stdout, ProgramVersion())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it in JSON")
	return cmd
}

// ProgramVersion is the line that version and --version print.
func ProgramVersion() string {
	return fmt.Sprintf("sbx-devc %s %s/%s", release.Version, runtime.GOOS, runtime.GOARCH)
}
