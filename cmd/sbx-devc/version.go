package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/release"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "sbx-devc %s %s/%s\n", release.Version, runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
