package connect

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/internal/engine"
)

// runtimeValue is a word of engine.Runtimes.
type runtimeValue string

func (v *runtimeValue) String() string { return string(*v) }
func (v *runtimeValue) Type() string   { return "string" }

func (v *runtimeValue) Set(word string) error {
	if !slices.Contains(engine.Runtimes(), word) {
		return fmt.Errorf("%q is no kind of engine: use one of %s", word, strings.Join(engine.Runtimes(), ", "))
	}
	*v = runtimeValue(word)
	return nil
}

const RuntimeFlag = "runtime"

func AddRuntimeFlag(f *pflag.FlagSet) {
	f.Var(new(runtimeValue), RuntimeFlag,
		"the engine: auto (what DOCKER_HOST or the docker context names, then Podman, then Docker), docker or podman")
}

// ChooseRuntime gives every command the flag, which help shows where people look for it,
// and hands its word on to all that connects to the engine, and to programs that are started.
func ChooseRuntime(root *cobra.Command) {
	AddRuntimeFlag(root.PersistentFlags())
	_ = root.PersistentFlags().MarkHidden(RuntimeFlag)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if f := cmd.Flags().Lookup(RuntimeFlag); f != nil && f.Changed {
			return os.Setenv(engine.RuntimeVariable, f.Value.String())
		}
		return nil
	}
}
