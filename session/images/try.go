package images

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox"
)

// TryFirewall closes, opens and verifies the firewall in a container of its own, without
// a network, and removes it. It builds nothing: without the firewall's image, which a run
// builds once, nothing is tried.
func (i Images) TryFirewall(ctx context.Context) (tried bool, err error) {
	image := i.firewallHere()
	if image == "" {
		return false, nil
	}
	if _, err := i.Engine.ImageInspect(ctx, image); err != nil {
		if errors.Is(err, engine.ErrNotFound) {
			err = nil
		}
		return false, err
	}
	binary, _, err := imagebuild.CarriedInit(ctx, i.Engine)
	if err != nil {
		return false, err
	}
	const policy = "/policy.json"
	program := sandbox.InitFile(binary)
	id, err := i.Engine.Create(ctx, engine.Spec{
		Image:   image,
		Process: engine.Process{Entrypoint: []string{program.Path, "run", "--policy", policy, "--user", "65534:65534", "--", "/bin/true"}},
		Link:    engine.Link{Network: "none"},
		Rights: engine.Rights{CapDrop: []string{"ALL"}, CapAdd: []string{"NET_ADMIN", "NET_RAW", "SETUID", "SETGID", "SETPCAP"},
			SecurityOpt: []string{"no-new-privileges"}},
		Limits: engine.Limits{Pids: 128, MemoryBytes: 256 << 20},
	})
	if err != nil {
		return true, err
	}
	defer func() { err = errors.Join(err, i.Engine.Remove(context.WithoutCancel(ctx), id)) }()
	files := []engine.File{program, {Path: policy, Mode: 0o600, Data: []byte(`{"network": {"mode": "allowlist"}}`)}}
	if err := i.Engine.CopyIn(ctx, id, files); err != nil {
		return true, err
	}
	exit := i.Engine.Wait(ctx, id)
	output, err := i.Engine.Attach(ctx, id, false, false)
	if err != nil {
		return true, err
	}
	defer output.Close()
	if err := i.Engine.Start(ctx, id); err != nil {
		return true, err
	}
	var said strings.Builder
	if err := output.Copy(&said, &said); err != nil {
		return true, err
	}
	end := <-exit
	if end.Err == nil && end.Code != 0 {
		end.Err = fmt.Errorf("exit code %d: %s", end.Code, strings.TrimSpace(said.String()))
	}
	return true, end.Err
}
