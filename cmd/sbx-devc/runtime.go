package main

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
		return fmt.Errorf("there is no kind of engine %q, but %s", word, strings.Join(engine.Runtimes(), ", "))
	}
	*v = runtimeValue(word)
	return nil
}

const runtimeFlag = "runtime"

func addRuntimeFlag(f *pflag.FlagSet) {
	f.Var(new(runtimeValue), runtimeFlag,
		"the engine: auto (what DOCKER_HOST or the docker context names, then Podman, then Docker), docker or podman")
}

// chooseRuntime gives every command the flag, which help shows where people look for it,
// and hands its word on to all that connects to the engine, and to programs that are started.
func chooseRuntime(root *cobra.Command) {
	addRuntimeFlag(root.PersistentFlags())
	_ = root.PersistentFlags().MarkHidden(runtimeFlag)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if f := cmd.Flags().Lookup(runtimeFlag); f != nil && f.Changed {
			return os.Setenv(engine.RuntimeVariable, f.Value.String())
		}
		return nil
	}
}
