package engine

import (
	"context"

	"github.com/moby/moby/api/types/volume"
	"github.com/moby/moby/client"
)

// Volume is what the engine knows of a volume with a name.
type Volume struct {
	Name   string
	Labels map[string]string
	// Plain says that the engine keeps the content itself: the volume is no other
	// name for a folder of the machine or a share on a network.
	Plain bool
}

func volumeOf(v volume.Volume) Volume {
	return Volume{Name: v.Name, Labels: v.Labels, Plain: v.Driver == "local" && len(v.Options) == 0}
}

// CreateVolume makes an empty volume. With the name of one that exists it changes
// nothing and is no error.
func (e *Engine) CreateVolume(ctx context.Context, name string, labels map[string]string) error {
	_, err := e.client.VolumeCreate(ctx, client.VolumeCreateOptions{Name: name, Driver: "local", Labels: labels})
	return wrap(err, "creating volume", name)
}

// Volume looks a volume up. A missing one is ErrNotFound.
func (e *Engine) Volume(ctx context.Context, name string) (Volume, error) {
	r, err := e.client.VolumeInspect(ctx, name, client.VolumeInspectOptions{})
	if err != nil {
		return Volume{}, wrap(err, "looking at volume", name)
	}
	return volumeOf(r.Volume), nil
}

// Volumes returns all volumes with the label key=value; "" = any value.
func (e *Engine) Volumes(ctx context.Context, key, value string) ([]Volume, error) {
	label := key
	if value != "" {
		label += "=" + value
	}
	r, err := e.client.VolumeList(ctx, client.VolumeListOptions{Filters: make(client.Filters).Add("label", label)})
	if err != nil {
		return nil, wrap(err, "listing volumes with label", key)
	}
	var all []Volume
	for _, v := range r.Items {
		all = append(all, volumeOf(v))
	}
	return all, nil
}

// RemoveVolume removes a volume that no container uses. One that does not exist is
// no error.
func (e *Engine) RemoveVolume(ctx context.Context, name string) error {
	_, err := e.client.VolumeRemove(ctx, name, client.VolumeRemoveOptions{})
	if err = wrap(err, "removing volume", name); isNotFound(err) {
		return nil
	}
	return err
}

// VolumeSizes returns how much room the content of each volume takes, in bytes, by
// the volume's name. The engine reads all of them for that.
func (e *Engine) VolumeSizes(ctx context.Context) (map[string]int64, error) {
	r, err := e.client.DiskUsage(ctx, client.DiskUsageOptions{Volumes: true, Verbose: true})
	if err != nil {
		return nil, wrap(err, "measuring", "volumes")
	}
	sizes := map[string]int64{}
	for _, v := range r.Volumes.Items {
		if v.UsageData != nil && v.UsageData.Size >= 0 {
			sizes[v.Name] = v.UsageData.Size
		}
	}
	return sizes, nil
}
