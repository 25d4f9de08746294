package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the scripts call this very program as "sbx-devc".
func TestMain(m *testing.M) {
	testscript.Main(ownSettings{m}, map[string]func(){"sbx-devc": main, "policies": countPolicies, "unread": mainUnread})
}

// mainUnread is main whose standard output's reader has gone.
func mainUnread() {
	read, write, err := os.Pipe()
	if err == nil {
		err = read.Close()
	}
	if err != nil {
		panic(err)
	}
	os.Stdout = write
	main()
}

// ownSettings runs the tests with a settings folder of their own: what they accept is not
// for the trust.json of the user who runs them.
type ownSettings struct{ m *testing.M }

func (o ownSettings) Run() int {
	dir, err := os.MkdirTemp("", "sbx-devc-settings")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Setenv("XDG_CONFIG_HOME", dir)
	}
	if err != nil {
		panic(err)
	}
	return o.m.Run()
}

// TestScripts runs the command line as a user does: testdata/script/*.txtar.
// Scripts need no engine, no root and no network.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		WorkdirRoot:         t.TempDir(), // without it a run of some scripts alone leaves a folder in /tmp
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			// An engine of this machine must not make a script pass or fail.
			env.Setenv("DOCKER_HOST", "unix://"+filepath.Join(env.WorkDir, "no-engine.sock"))
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": cmdCode},
	})
}

// cmdCode runs a program and compares its exit code: code 77 sbx-devc init.
// Its output is there for the commands stdout and stderr, as after exec.
func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code NUMBER PROGRAM [ARG...]")
	}
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || got != want {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}
