package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/session/keys"
	"github.com/org/claude-sandbox/session/storedkey"
)

func (a *app) loginCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "login",
		Short: "Keep a key of the model API for your runs, on this machine",
		Long: `Keep a key of the model API in your own folder, for you alone. Runs use it where neither
ANTHROPIC_API_KEY nor CLAUDE_CODE_OAUTH_TOKEN is set. As everywhere, it stays on this
machine: a proxy here adds it to the agent's requests.

With a Pro or Max account 'claude setup-token' prints a token that is valid for a
year; paste that. Standard input that is no terminal is read instead. A key of the
API's console is taken as well, a refresh token is not.`,
		Example: `  claude setup-token     # prints a token
  sbx-devc login         # asks for it`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			own, err := a.ownFolder()
			if err != nil {
				return err
			}
			keys.CloseMemory()
			key, err := a.readKey()
			if err != nil {
				return exitWith(exitNoInput, err)
			}
			if key == "" {
				return exitWith(exitNoInput, diag.WithHint(errors.New("no key was given"), "'claude setup-token' prints one: paste it, or pipe it in"))
			}
			if err := storedkey.Check(key); err != nil {
				return exitWith(exitUsage, err)
			}
			if err := storedkey.Save(own, key); err != nil {
				return exitWith(exitCantWrite, err)
			}
			a.sayLine("the key is kept in %s, for you alone; 'sbx-devc logout' removes it", storedkey.File(own))
			return nil
		},
	}
}

// readKey asks for a key, or reads it from standard input.
func (a *app) readKey() (string, error) {
	if in, ok := a.stdin.(*os.File); ok && isTerminal(a.stdin) {
		fmt.Fprint(a.stderr, "sbx-devc: paste the token that 'claude setup-token' prints (it is not shown): ")
		key, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(a.stderr)
		return strings.TrimSpace(string(key)), err
	}
	line, err := bufio.NewReader(a.stdin).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}

func (a *app) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "logout",
		Short:   "Remove the key that login has kept",
		Long:    `Remove the key that login has kept on this machine. The vendor's account pages end its validity.`,
		Example: "  sbx-devc logout",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			own, err := a.ownFolder()
			if err != nil {
				return err
			}
			there, err := storedkey.Remove(own)
			switch {
			case err != nil:
				return exitWith(exitCantWrite, err)
			case there:
				a.sayLine("removed %s", storedkey.File(own))
			default:
				a.sayLine("no key is kept here")
			}
			return nil
		},
	}
}

// keyOf is the environment as far as the model's key of a run on a project is looked
// for. A key that login has kept stands in for those that are not there.
func (a *app) keyOf(o *secretFlags, project string) (func(string) string, error) {
	getenv := a.modelKey(o)
	if getenv("ANTHROPIC_API_KEY") != "" || getenv("CLAUDE_CODE_OAUTH_TOKEN") != "" {
		return getenv, nil
	}
	own, err := a.ownFolder()
	if err != nil {
		return getenv, nil // a machine without homes keeps none
	}
	kept, err := storedkey.Read(own, project)
	if err != nil {
		return nil, exitWith(exitNoSecret, err)
	}
	if kept == "" {
		return getenv, nil
	}
	keys.CloseMemory()
	variable := "ANTHROPIC_API_KEY"
	if strings.HasPrefix(kept, "sk-ant-oat") {
		variable = "CLAUDE_CODE_OAUTH_TOKEN"
	}
	return func(name string) string {
		if name == variable && (variable != "ANTHROPIC_API_KEY" || !o.noAPIKey) {
			return kept
		}
		return getenv(name)
	}, nil
}
