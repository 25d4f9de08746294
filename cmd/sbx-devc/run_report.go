package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/sandbox"
)

// runImages makes sure that the engine has the run's images. Where nobody names
// one, the default image is built here.
func (a *app) runImages(ctx context.Context, e *engine.Engine, plan *sandbox.Plan) error {
	if plan.Agent.Image == release.Image() && plan.Sidecar.Image == release.Image() {
		return a.defaultImage(ctx, e, plan, "--image")
	}
	return a.ensureImages(ctx, e, plan, "--image")
}

// ensureImages pulls the images that the engine does not have. option is what
// names them, for people.
func (a *app) ensureImages(ctx context.Context, e *engine.Engine, plan *sandbox.Plan, option string) error {
	for _, image := range []*string{&plan.Sidecar.Image, &plan.Agent.Image} {
		_, err := e.ImageInspect(ctx, *image)
		if !errors.Is(err, engine.ErrNotFound) {
			if err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(a.stderr, "sbx-devc: pulling %s\n", *image)
		options, err := a.registryOptions(login{})
		if err != nil {
			return err
		}
		pulled, err := imagebuild.Pull(ctx, e, options, *image, imagebuild.PullOptions{})
		if err != nil {
			err = fmt.Errorf("%w: the engine does not have %s: %w", sandbox.ErrNoStart, *image, err)
			return diag.WithHint(err, "name an image that the engine has with %s; 'sbx-devc image build' makes one from the project's .devcontainer", option)
		}
		*image = pulled.Ref // an engine does not know what was loaded by its digest in a registry
	}
	return nil
}

// maxEndRows bounds the egress table at a run's end, which must not push the
// agent's own words off the screen.
const maxEndRows = 40

// report tells people what happened.
func (a *app) report(r *sandbox.Result, mode firewall.Mode) {
	switch {
	case r.Egress == nil:
	case len(r.Egress.Rows) == 0 && mode == firewall.ModeNone: // attempts leave no record there
		fmt.Fprint(a.stderr, "\nwithout a network only the model was in reach, and no attempt was recorded\n")
	case len(r.Egress.Rows) == 0 && mode == firewall.ModeHost:
		fmt.Fprint(a.stderr, "\nwithout a firewall nothing was recorded\n")
	default:
		fmt.Fprintln(a.stderr)
		_ = r.Egress.First(maxEndRows).WriteText(a.stderr)
		if len(r.Egress.Rows) > maxEndRows {
			fmt.Fprintf(a.stderr, "sbx-devc: all of it: sbx-devc report %s\n", r.ID)
		}
		if slices.ContainsFunc(r.Egress.Rows, func(row report.Row) bool { return row.Rule == firewall.RuleUnlisted }) {
			fmt.Fprintf(a.stderr, "sbx-devc: what the allowlist lacks for this: sbx-devc policy learn %s\n", r.ID)
		}
	}
	t := r.Timings
	if t.Startup > 0 {
		fmt.Fprintf(a.stderr, "sbx-devc: started in %s (firewall %s), ran %s; %s\n",
			t.Startup.Round(time.Millisecond), t.Firewall.Round(time.Millisecond), t.Agent.Round(time.Millisecond), cmp.Or(filepath.Dir(r.Files.Summary), "nothing was kept"))
	}
}

// runError gives the failure of a run its exit code.
func runError(err error) error {
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return err // it has one
	}
	for _, c := range []struct {
		kind error
		code int
	}{
		{sandbox.ErrRefused, exitRefused}, {sandbox.ErrConfig, exitConfig}, {sandbox.ErrInput, exitNoInput},
		{sandbox.ErrNoKey, exitNoSecret}, {sandbox.ErrKey, exitNoSecret}, {sandbox.ErrTimeout, exitTimeout},
		{engine.ErrUnavailable, exitUnavailable}, {sandbox.ErrNoStart, exitNoStart},
	} {
		if errors.Is(err, c.kind) {
			return exitWith(c.code, err)
		}
	}
	return exitWith(exitInternal, err)
}

// newRunID names a run so that names sort by time and never meet.
func newRunID() string {
	var random [3]byte
	_, _ = rand.Read(random[:]) // never fails
	return time.Now().UTC().Format("20060102-150405") + "-" + hex.EncodeToString(random[:])
}

// stateHome is where runs are kept.
func stateHome(getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sbx-devc")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "sbx-devc-"+strconv.Itoa(os.Getuid()))
	}
	return filepath.Join(home, ".local", "state", "sbx-devc")
}
