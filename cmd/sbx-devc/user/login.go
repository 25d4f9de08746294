package user

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/session/keys"
	"github.com/org/claude-sandbox/session/storedkey"
)

func LoginCommand(a *cli.App) *cobra.Command {
	keyring := false
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Keep a key of the model API for your runs, on this machine",
		Long: `Keep a key of the model API in your own folder, for you alone. Runs use it where neither
ANTHROPIC_API_KEY nor CLAUDE_CODE_OAUTH_TOKEN is set. As everywhere, it stays on this
machine: a proxy here adds it to the agent's requests.

With a Pro or Max account 'claude setup-token' prints a token that is valid for a
year; paste that. Standard input that is no terminal is read instead. A key of the
API's console is taken as well, a refresh token is not.

--keyring keeps it in the keyring of this machine instead: by secret-tool, on macOS by
security, or by pass. Each run asks the keyring, which may ask you.`,
		Example: `  claude setup-token           # prints a token
  sbx-devc login               # asks for it
  sbx-devc login --keyring     # keeps it in the keyring`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			own, err := projects.OwnFolder(a)
			if err != nil {
				return err
			}
			keys.CloseMemory()
			key, err := readKey(a)
			if err != nil {
				return exitcode.With(exitcode.NoInput, err)
			}
			if key == "" {
				return exitcode.With(exitcode.NoInput, diag.WithHint(errors.New("no key was given"),
					"'claude setup-token' prints one: paste it, or pipe it in"))
			}
			if err := storedkey.Check(key); err != nil {
				return exitcode.With(exitcode.Usage, err)
			}
			place := storedkey.File(own)
			if keyring {
				place, err = storedkey.SaveInKeyring(cmd.Context(), own, key)
			} else {
				err = storedkey.Save(cmd.Context(), own, key)
			}
			if err != nil {
				return exitcode.With(exitcode.CantWrite, err)
			}
			a.SayLine("the key is kept in %s, for you alone; 'sbx-devc logout' removes it", place)
			return nil
		},
	}
	cmd.Flags().BoolVar(&keyring, "keyring", false, "keep the key in the keyring of this machine, and not in a file")
	return cmd
}

// readKey asks for a key, or reads it from standard input.
func readKey(a *cli.App) (string, error) {
	if in, ok := a.Stdin.(*os.File); ok && cli.IsTerminal(a.Stdin) {
		fmt.Fprint(a.Stderr, "sbx-devc: paste the token that 'claude setup-token' prints (it is not shown): ")
		key, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(a.Stderr)
		return strings.TrimSpace(string(key)), err
	}
	line, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}

func LogoutCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "logout",
		Short:   "Remove the key that login has kept",
		Long:    `Remove the key that login has kept on this machine. The vendor's account pages end its validity.`,
		Example: "  sbx-devc logout",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			own, err := projects.OwnFolder(a)
			if err != nil {
				return err
			}
			there, err := storedkey.Remove(cmd.Context(), own)
			switch {
			case err != nil:
				return exitcode.With(exitcode.CantWrite, err)
			case there:
				a.SayLine("removed %s", storedkey.File(own))
			default:
				a.SayLine("no key is kept here")
			}
			return nil
		},
	}
}
