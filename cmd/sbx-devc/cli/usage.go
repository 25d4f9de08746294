package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/internal/diag"
)

// argumentError is a command that got arguments which it does not take, or too
// few of them.
type argumentError struct {
	args []string
	none bool // the command takes none at all
	err  error
}

func (e *argumentError) Error() string { return e.err.Error() }

// TypeArguments makes whatever the commands below root say of their arguments an
// argumentError: cobra's own errors have no type.
func TypeArguments(root *cobra.Command) {
	for _, cmd := range append(root.Commands(), root) {
		if cmd != root {
			TypeArguments(cmd)
		}
	}
	if validate := root.Args; validate != nil {
		root.Args = func(cmd *cobra.Command, args []string) error {
			err := validate(cmd, args)
			if err == nil {
				return nil
			}
			return &argumentError{args, validate(cmd, nil) == nil && validate(cmd, []string{"one"}) != nil, err}
		}
	}
}

// Exclusive makes it wrong usage to give more than one of the flags.
func Exclusive(cmd *cobra.Command, flags ...string) {
	cmd.MarkFlagsMutuallyExclusive(flags...) // for completion
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		var given []string
		for _, name := range flags {
			if cmd.Flags().Changed(name) {
				given = append(given, "--"+name)
			}
		}
		if len(given) > 1 {
			return fmt.Errorf("%s exclude each other", strings.Join(given, " and "))
		}
		return nil
	}
}

// usageError puts an error about the command line into words that name what was
// typed, with what was most likely meant as the hint.
func usageError(cmd *cobra.Command, err error) error {
	hint := fmt.Sprintf("see '%s --help'", cmd.CommandPath())
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	var argument *argumentError
	switch {
	case errors.As(err, &unknown):
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if line := replacement(cmd, unknown.GetSpecifiedName()); line != "" {
			hint = line + "; " + hint
			break
		}
		hint = Suggestion(unknown.GetSpecifiedName(), "--", known) + hint
	case errors.As(err, &value):
		if kind := KindOfValue(value.GetFlag().Value.Type()); kind != "" {
			err = fmt.Errorf("%q for \"--%s\" is not %s", value.GetValue(), value.GetFlag().Name, kind)
		}
	case !errors.As(err, &argument):
	case cmd.HasAvailableSubCommands():
		if line := replacedArgument(argument.args[0]); line != "" && !cmd.HasParent() {
			hint = line + "; " + hint
			break
		}
		hint = Suggestion(argument.args[0], "", commandNames(cmd)) + hint
	default:
		hint = "usage: " + cmd.UseLine() + "; " + hint
		switch own := err.Error(); {
		case argument.none:
			err = fmt.Errorf("%s takes no argument, and got %q", cmd.CommandPath(), argument.args[0])
		case len(argument.args) == 0 && (strings.HasPrefix(own, "accepts 1 arg") || strings.HasPrefix(own, "requires at least 1 arg")):
			err = fmt.Errorf("%s needs an argument", cmd.CommandPath())
		case strings.HasPrefix(own, "accepts 1 arg"):
			err = fmt.Errorf("%s takes one argument, and got %d: %s", cmd.CommandPath(), len(argument.args), strings.Join(argument.args, " "))
		case strings.HasPrefix(own, "accepts at most 1 arg"):
			err = fmt.Errorf("%s takes one argument at most, and got %d: %s", cmd.CommandPath(), len(argument.args),
				strings.Join(argument.args, " "))
		}
	}
	return diag.WithHint(err, "%s", hint)
}

// KindOfValue says which values a flag of this type takes, where the error of
// whoever parsed it says less.
func KindOfValue(flagType string) string {
	switch {
	case flagType == "duration":
		return "a duration, as in 90s, 30m or 1h30m"
	case flagType == "bool":
		return "true or false"
	case strings.HasPrefix(flagType, "float"):
		return "a number"
	case strings.HasPrefix(flagType, "int"), strings.HasPrefix(flagType, "uint"):
		return "a whole number"
	}
	return ""
}

func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

func Suggestion(word, prefix string, known []string) string {
	if best := diag.Suggest(word, known); best != "" {
		return fmt.Sprintf("did you mean %s%s? ", prefix, best)
	}
	return ""
}
