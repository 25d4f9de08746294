package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/release"
)

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  sbx-devc version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return printJSON(a.stdout, struct {
					SchemaVersion int    `json:"schemaVersion"`
					Version       string `json:"version"`
					OS            string `json:"os"`
					Arch          string `json:"arch"`
				}{1, release.Version, runtime.GOOS, runtime.GOARCH})
			}
			_, err := fmt.Fprintln(a.stdout, programVersion())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it in JSON")
	return cmd
}

// programVersion is the line that version and --version print.
func programVersion() string {
	return fmt.Sprintf("sbx-devc %s %s/%s", release.Version, runtime.GOOS, runtime.GOARCH)
}
