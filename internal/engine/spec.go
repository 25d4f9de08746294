package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// Spec describes a container before it exists. It is plain data: it prints as
// JSON, and equal Specs create equal containers. The zero value of a field
// means the engine's default unless its comment says otherwise.
type Spec struct {
	Name       string            `json:"name"`
	Image      string            `json:"image"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	Command    []string          `json:"command,omitempty"`
	Env        []string          `json:"env,omitempty"`        // NAME=value; never a secret: inspect shows it
	WorkingDir string            `json:"workingDir,omitempty"` // absolute, in the container
	User       string            `json:"user,omitempty"`       // uid:gid
	Labels     map[string]string `json:"labels,omitempty"`
	Stdin      bool              `json:"stdin,omitempty"` // open, and closed when the attached stream is
	TTY        bool              `json:"tty,omitempty"`   // a terminal of its own is its streams; see Attach and Resize

	Network      string            `json:"network,omitempty"` // "bridge", "none", "container:ID", or the name of a network
	Aliases      []string          `json:"aliases,omitempty"` // names that the engine's DNS gives it on Network; not on "bridge"
	CapDrop      []string          `json:"capDrop,omitempty"`
	CapAdd       []string          `json:"capAdd,omitempty"`
	SecurityOpt  []string          `json:"securityOpt,omitempty"`
	Sysctls      map[string]string `json:"sysctls,omitempty"`
	ReadOnlyRoot bool              `json:"readOnlyRoot,omitempty"`
	Mounts       []Mount           `json:"mounts,omitempty"`      // in the order of mounting
	Tmpfs        map[string]string `json:"tmpfs,omitempty"`       // path: mount options
	Volumes      []string          `json:"volumes,omitempty"`     // paths of new, empty volumes that go with the container
	VolumesOf    string            `json:"volumesOf,omitempty"`   // a container whose volumes this one has too, read-only
	MemoryBytes  int64             `json:"memoryBytes,omitempty"` // with swap; 0 = no limit
	CPUs         float64           `json:"cpus,omitempty"`        // 0 = no limit
	Pids         int64             `json:"pids,omitempty"`        // 0 = no limit
	NoLog        bool              `json:"noLog,omitempty"`       // the engine keeps none of its output; attached clients get all of it
}

// Mount binds a folder or file of the engine's machine into the container.
// Source must exist: a missing one is an error, never created.
type Mount struct {
	Source   string `json:"source,omitempty"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readonly,omitempty"`
	// Volume is, instead of Source, the place of a volume in the container
	// Spec.VolumesOf. Unless ReadOnly, it can be written to here.
	Volume string `json:"volume,omitempty"`
	// Named is, instead of Source, the name of a volume of the engine, which keeps
	// its content when the container is gone. It must exist: an engine makes an
	// empty one of a name that it does not know.
	Named string `json:"named,omitempty"`
}

// Create makes a container from spec without starting it and returns its id.
// A missing image is ErrNotFound; it is not pulled. The image's health check is never
// run.
func (e *Engine) Create(ctx context.Context, spec Spec) (id string, err error) {
	podman, err := e.podman(ctx)
	if err != nil {
		return "", wrap(err, "creating container", spec.Name)
	}
	if podman {
		spec.Tmpfs = podmanTmpfs(spec.Tmpfs)
	}
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(spec.Network),
		CapDrop:        spec.CapDrop,
		CapAdd:         spec.CapAdd,
		SecurityOpt:    spec.SecurityOpt,
		Sysctls:        spec.Sysctls,
		Init:           new(bool), // an engine may have been told to add its own init to every container
		ReadonlyRootfs: spec.ReadOnlyRoot,
		Tmpfs:          spec.Tmpfs,
		Resources: container.Resources{
			Memory:     spec.MemoryBytes,
			MemorySwap: spec.MemoryBytes,
			NanoCPUs:   int64(spec.CPUs * 1e9),
		},
	}
	if spec.Pids > 0 {
		host.PidsLimit = &spec.Pids
	}
	if spec.NoLog {
		host.LogConfig.Type = "none"
	}
	volumes, err := e.volumesOf(ctx, spec)
	if err != nil {
		return "", err
	}
	for _, m := range spec.Mounts {
		if name := cmp.Or(m.Named, volumes[m.Volume]); name != "" {
			host.Mounts = append(host.Mounts,
				mount.Mount{Type: mount.TypeVolume, Source: name, Target: m.Target, ReadOnly: m.ReadOnly,
					VolumeOptions: &mount.VolumeOptions{NoCopy: true}})
			continue
		}
		// Mounts and not Binds: Binds would create a missing source as root.
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	for _, path := range spec.Volumes {
		host.Mounts = append(host.Mounts,
			mount.Mount{Type: mount.TypeVolume, Target: path, VolumeOptions: &mount.VolumeOptions{NoCopy: true}})
	}
	if spec.VolumesOf != "" {
		host.VolumesFrom = []string{spec.VolumesOf + ":ro"}
	}
	var networks *network.NetworkingConfig
	if len(spec.Aliases) > 0 {
		networks = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
			spec.Network: {Aliases: spec.Aliases},
		}}
	}
	created, err := e.client.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: spec.Name,
		Config: &container.Config{
			Image:        spec.Image,
			Entrypoint:   slices.Clone(spec.Entrypoint),
			Cmd:          slices.Clone(spec.Command),
			Env:          spec.Env,
			WorkingDir:   spec.WorkingDir,
			User:         spec.User,
			Labels:       spec.Labels,
			OpenStdin:    spec.Stdin,
			StdinOnce:    spec.Stdin,
			AttachStdin:  spec.Stdin,
			AttachStdout: true,
			AttachStderr: true,
			Tty:          spec.TTY,
			// The engine would run an image's check by itself, in no order with ours.
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		},
		HostConfig:       host,
		NetworkingConfig: networks,
	})
	if err != nil {
		return "", wrap(err, "creating container", spec.Name)
	}
	return created.ID, nil
}

// volumesOf returns the names of the volumes that spec's mounts name by their
// place in the container spec.VolumesOf.
func (e *Engine) volumesOf(ctx context.Context, spec Spec) (map[string]string, error) {
	names := map[string]string{}
	if !slices.ContainsFunc(spec.Mounts, func(m Mount) bool { return m.Volume != "" }) {
		return names, nil
	}
	r, err := e.client.ContainerInspect(ctx, spec.VolumesOf, client.ContainerInspectOptions{})
	if err != nil {
		return nil, wrap(err, "looking at container", short(spec.VolumesOf))
	}
	for _, m := range r.Container.Mounts {
		names[m.Destination] = m.Name
	}
	for _, m := range spec.Mounts {
		// An empty name would make a new volume, which holds nothing.
		if m.Volume != "" && names[m.Volume] == "" {
			return nil, fmt.Errorf("creating container %s: container %s has no volume at %s", spec.Name, short(spec.VolumesOf), m.Volume)
		}
	}
	return names, nil
}
