package projects

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/workspace"
)

// ExcludePrograms has every command start no program from the current folder, from those
// that its arguments and flags name, and from the projects around them: PATH may lead there,
// where an agent has written. Folders that a command learns of later, as those of a run's
// record, are excluded by what reads them.
func ExcludePrograms(root *cobra.Command) {
	before := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		hostprogram.Exclude() // what is relative
		exclude := func(name string) {
			if filekind.IsFolder(Real(name)) {
				workspace.ExcludePrograms(name)
			}
		}
		exclude(".")
		for _, arg := range args {
			exclude(arg)
		}
		cmd.Flags().Visit(func(f *pflag.Flag) { exclude(f.Value.String()) })
		return before(cmd, args)
	}
}
