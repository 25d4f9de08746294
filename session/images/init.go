package images

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/volumes"
)

// bringInit returns the volume that holds the sbx-init that this program carries:
// to unpack and copy its 10 MB for each run would take longer than a container's start.
func (i Images) bringInit(ctx context.Context, firewall string) (volume string, err error) {
	info, err := i.Engine.Info(ctx)
	if err != nil {
		return "", err
	}
	sum := carried.Sums()[info.Arch]
	volume, err = i.Volumes().Take(ctx, volumes.Wanted{Kind: volumes.Init, Key: sum, Content: sum}, func(name string) error {
		binary, _, err := imagebuild.CarriedInit(ctx, i.Engine)
		if err != nil {
			return err
		}
		return i.Volumes().Unpack(ctx, name, firewall, volumes.Place, func(w io.Writer) error {
			tw := tar.NewWriter(w)
			return errors.Join(engine.WriteTar(tw, []engine.File{sandbox.InitFile(binary)}), tw.Close())
		})
	})
	if err != nil {
		return "", fmt.Errorf("bringing sbx-init to the engine: %w", err)
	}
	return volume, nil
}
