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

// Spec describes a container before it exists. It is plain data: it prints as one flat
// JSON object, and equal Specs create equal containers. The zero value of a field
// means the engine's default unless its comment says otherwise.
type Spec struct {
	Name   string            `json:"name"`
	Image  string            `json:"image"`
	Labels map[string]string `json:"labels,omitempty"`
	Process
	Link
	Rights
	Storage
	Limits
}

// Process is the first process of a container, and its streams.
type Process struct {
	Entrypoint []string `json:"entrypoint,omitempty"`
	Command    []string `json:"command,omitempty"`
	Env        []string `json:"env,omitempty"`        // NAME=value; never a secret: inspect shows it
	WorkingDir string   `json:"workingDir,omitempty"` // absolute, in the container
	User       string   `json:"user,omitempty"`       // uid:gid
	Stdin      bool     `json:"stdin,omitempty"`      // open, and closed when the attached stream is
	TTY        bool     `json:"tty,omitempty"`        // a terminal of its own is its streams; see Attach and Resize
	NoLog      bool     `json:"noLog,omitempty"`      // the engine keeps none of its output; attached clients get all of it
}

// Link is how a container is connected.
type Link struct {
	Network string   `json:"network,omitempty"` // "bridge", "none", "container:ID", or the name of a network
	Aliases []string `json:"aliases,omitempty"` // names that the engine's DNS gives it on Network; not on "bridge"
}

// Rights are what the kernel lets a container's processes do.
type Rights struct {
	CapDrop      []string          `json:"capDrop,omitempty"`
	CapAdd       []string          `json:"capAdd,omitempty"`
	SecurityOpt  []string          `json:"securityOpt,omitempty"`
	Runtime      string            `json:"runtime,omitempty"` // the OCI runtime, by the engine's name for it
	Sysctls      map[string]string `json:"sysctls,omitempty"`
	ReadOnlyRoot bool              `json:"readOnlyRoot,omitempty"`
}

// Storage is what a container finds in its file system, in addition to its image.
type Storage struct {
	Mounts    []Mount           `json:"mounts,omitempty"`    // in the order of mounting
	Tmpfs     map[string]string `json:"tmpfs,omitempty"`     // path: mount options
	Volumes   []string          `json:"volumes,omitempty"`   // paths of new, empty volumes that go with the container
	VolumesOf string            `json:"volumesOf,omitempty"` // a container whose volumes this one has too, read-only
}

// Limits bound what a container takes of its machine; 0 = no limit.
type Limits struct {
	MemoryBytes int64   `json:"memoryBytes,omitempty"` // with swap
	CPUs        float64 `json:"cpus,omitempty"`
	Pids        int64   `json:"pids,omitempty"`
}

// Mount binds a folder or file of the engine's machine into the container.
// Source must exist: a missing one is an error, never created.
type Mount struct {
	Source   string `json:"source,omitempty"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readonly,omitempty"`
	// Relabel gives Source, and all in it, the label of SELinux with which all containers
	// may use it. It stays. Source has no colon then.
	Relabel bool `json:"relabel,omitempty"`
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
	podman, err := e.fitting(ctx)
	if err != nil {
		return "", wrap(err, "creating container", spec.Name)
	}
	if podman != nil {
		spec.Tmpfs = podmanTmpfs(spec.Tmpfs)
	}
	volumes, err := e.volumesOf(ctx, spec)
	if err != nil {
		return "", err
	}
	host := spec.hostConfig(volumes)
	if podman.rootless() {
		host.UsernsMode = userNamespace(spec.Network)
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

// hostConfig is what the engine gives the container of its machine. volumes are the names
// of the volumes of Spec.VolumesOf by their place.
func (s Spec) hostConfig(volumes map[string]string) *container.HostConfig {
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(s.Network),
		CapDrop:        s.CapDrop,
		CapAdd:         s.CapAdd,
		SecurityOpt:    s.SecurityOpt,
		Runtime:        s.Runtime,
		Sysctls:        s.Sysctls,
		Init:           new(bool), // an engine may have been told to add its own init to every container
		ReadonlyRootfs: s.ReadOnlyRoot,
		Binds:          s.Storage.relabelled(),
		Mounts:         s.Storage.mounts(volumes),
		Tmpfs:          s.Tmpfs,
		Resources: container.Resources{
			Memory:     s.MemoryBytes,
			MemorySwap: s.MemoryBytes,
			NanoCPUs:   int64(s.CPUs * 1e9),
		},
	}
	if s.Pids > 0 {
		host.PidsLimit = &s.Pids
	}
	if s.NoLog {
		host.LogConfig.Type = "none"
	}
	if s.VolumesOf != "" {
		host.VolumesFrom = []string{s.VolumesOf + ":ro"}
	}
	return host
}

// mounts are the mounts in the engine's words.
func (s Storage) mounts(volumes map[string]string) []mount.Mount {
	var list []mount.Mount
	for _, m := range s.Mounts {
		if name := cmp.Or(m.Named, volumes[m.Volume]); name != "" {
			list = append(list, mount.Mount{Type: mount.TypeVolume, Source: name, Target: m.Target, ReadOnly: m.ReadOnly,
				VolumeOptions: &mount.VolumeOptions{NoCopy: true}})
			continue
		}
		if m.Relabel {
			continue
		}
		// Mounts and not Binds: Binds would create a missing source as root.
		list = append(list, mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	for _, path := range s.Volumes {
		list = append(list, mount.Mount{Type: mount.TypeVolume, Target: path, VolumeOptions: &mount.VolumeOptions{NoCopy: true}})
	}
	return list
}

// relabelled are the mounts that only Docker's older words can describe.
func (s Storage) relabelled() (binds []string) {
	for _, m := range s.Mounts {
		if m.Relabel {
			options := ":z"
			if m.ReadOnly {
				options += ",ro"
			}
			binds = append(binds, m.Source+":"+m.Target+options)
		}
	}
	return binds
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
