package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
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
// argumentError: cobra's own errors have no type. Empty arguments are wrong usage, but for
// commands without Args, which read their words themselves.
func TypeArguments(root *cobra.Command) {
	for _, cmd := range append(root.Commands(), root) {
		if cmd != root {
			TypeArguments(cmd)
		}
	}
	if validate := root.Args; validate != nil {
		root.Args = func(cmd *cobra.Command, args []string) error {
			err := validate(cmd, args)
			if at := emptyWord(cmd, args); at > 0 && usageCode(cmd) != exitcode.CheckUsage { // checks say which path is empty
				words := fmt.Errorf("argument %d of %s is empty", at, cmd.CommandPath())
				return exitcode.With(exitcode.Usage, diag.WithHint(words, "is a variable in the command line not set? usage: %s", cmd.UseLine()))
			}
			if err == nil {
				return nil
			}
			return &argumentError{args, validate(cmd, nil) == nil && validate(cmd, []string{"one"}) != nil, err}
		}
	}
}

// emptyWord is the place, from 1, of the first argument that is empty; 0 = none is. Arguments
// after -- belong to another program. To take an empty name for none would choose
// the only run or the current folder for a script whose variable is not set.
func emptyWord(cmd *cobra.Command, args []string) int {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		args = args[:at]
	}
	return slices.Index(args, "") + 1
}

// Exclusive makes it wrong usage to give more than one of the flags.
func Exclusive(cmd *cobra.Command, flags ...string) {
	cmd.MarkFlagsMutuallyExclusive(flags...) // for completion
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if before != nil {
			if err := before(cmd, args); err != nil {
				return err
			}
		}
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

// usageError puts an error about the command line args into words that name what was
// typed, with what was most likely meant as the hint.
func usageError(cmd *cobra.Command, args []string, err error) error {
	hint := fmt.Sprintf("see '%s --help'", cmd.CommandPath())
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	var lacks *pflag.ValueRequiredError
	var argument *argumentError
	switch {
	case errors.As(err, &unknown):
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if line := replacement(cmd, unknown.GetSpecifiedName()); line != "" {
			hint = inFull(line, cmd, args) + "; " + hint
			break
		}
		hint = Suggestion(unknown.GetSpecifiedName(), "--", known) + hint
	case errors.As(err, &lacks):
		hint = fmt.Sprintf("write --%s %s; %s", lacks.GetFlag().Name, placeholder(lacks.GetFlag()), hint)
	case errors.As(err, &value):
		if why := WrongValue(value.GetFlag().Value.Type(), value.GetValue()); why != "" {
			err = fmt.Errorf("%q for \"--%s\" is %s", value.GetValue(), value.GetFlag().Name, why)
		}
	case !errors.As(err, &argument):
	case cmd.HasAvailableSubCommands():
		if line := replacedArgument(argument.args[0]); line != "" && (!cmd.HasParent() || cmd.Name() == sandboxCommand) {
			hint = inFull(line, cmd, args) + "; " + hint
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

// number is a number whose digits do not count.
var number = regexp.MustCompile(`[0-9]+`)

// WrongValue says why a flag of this type does not take a value, where the error of
// whoever parsed it says less: it is …
func WrongValue(flagType, value string) string {
	small := number.ReplaceAllString(value, "1") // of the same form, and not too large
	switch {
	case flagType == "duration":
		if _, err := time.ParseDuration(small); err == nil {
			return "too long: some 290 years are the most"
		}
		return "not a duration, as in 90s, 30m or 1h30m"
	case flagType == "bool":
		return "not true or false"
	case strings.HasPrefix(flagType, "float"):
		if _, err := strconv.ParseFloat(small, 64); err == nil {
			return "too large"
		}
		return "not a number"
	case strings.HasPrefix(flagType, "int"), strings.HasPrefix(flagType, "uint"):
		if _, err := strconv.Atoi(small); err == nil && !strings.HasPrefix(value, "-") {
			return "too large"
		}
		return "not a whole number"
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
