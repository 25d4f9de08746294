package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/org/claude-sandbox/internal/diag"
)

// Description is what an engine says about itself and its machine. Words that it does
// not say are "".
type Description struct {
	Name     string   `json:"name"` // "Docker" or "Podman"
	Version  string   `json:"version"`
	API      string   `json:"api"` // the version that is spoken with it, such as "1.41"
	Address  string   `json:"address"`
	Remote   bool     `json:"remote,omitempty"` // see Engine.Remote
	Rootless bool     `json:"rootless"`         // its containers' root is no root of the machine
	OS       string   `json:"os"`               // of its containers: "linux", "windows"
	Kernel   string   `json:"kernel"`
	Storage  string   `json:"storage"`           // such as "overlay2"
	Folder   string   `json:"folder"`            // where its images are, on its machine
	Cgroup   string   `json:"cgroup"`            // version of control groups: "1", "2"
	Security []string `json:"security"`          // such as "apparmor", "selinux", "seccomp", "userns", without their settings
	Runtimes []string `json:"runtimes"`          // names of the OCI runtimes that it knows, sorted
	Lacks    []string `json:"lacks,omitempty"`   // limits that it cannot set: "memory", "cpus", "pids"
	Memory   int64    `json:"memory,omitempty"`  // bytes
	CPUs     int      `json:"cpus,omitempty"`    // processors
	Machine  string   `json:"machine,omitempty"` // the host name
	Unfit    string   `json:"unfit,omitempty"`   // why no container can be made on it, with what to do
}

// Describe asks the engine about itself, once: it counts all that it has for an answer. The
// result is shared: do not change it.
func (e *Engine) Describe(ctx context.Context) (Description, error) {
	e.describing.Lock()
	defer e.describing.Unlock()
	if e.described == nil {
		d, err := e.describe(ctx)
		if err != nil {
			return Description{}, err
		}
		e.described = &d
	}
	return *e.described, nil
}

func (e *Engine) describe(ctx context.Context) (Description, error) {
	podman, err := e.podman(ctx)
	if err != nil {
		return Description{}, wrap(err, "asking", e.host)
	}
	r, err := e.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return Description{}, wrap(err, "asking", e.host)
	}
	i := r.Info
	d := Description{
		Name: "Docker", Version: i.ServerVersion, API: e.client.ClientVersion(), Address: e.host, Remote: e.Remote(), Lacks: podman.lacks(),
		OS: cmp.Or(i.OSType, "linux"), Kernel: i.KernelVersion, Storage: i.Driver, Folder: i.DockerRootDir, Cgroup: i.CgroupVersion,
		Memory: i.MemTotal, CPUs: i.NCPU, Machine: i.Name,
		Runtimes: slices.Sorted(maps.Keys(i.Runtimes)), Security: securityNames(i.SecurityOptions),
	}
	d.Rootless = podman.rootless() || slices.Contains(d.Security, "rootless") // Podman 4.3 does not say it in the latter
	if podman != nil {
		d.Name = "Podman"
	}
	if _, err := e.fitting(ctx); err != nil {
		d.Unfit = err.Error() + ": " + diag.HintOf(err)
	}
	for _, limit := range []struct {
		name string
		is   bool
	}{{"memory", i.MemoryLimit}, {"cpus", i.CPUCfsQuota}, {"pids", i.PidsLimit}} {
		if !limit.is && !slices.Contains(d.Lacks, limit.name) {
			d.Lacks = append(d.Lacks, limit.name)
		}
	}
	return d, nil
}

// securityNames are the names of security options, which engines write as "name=seccomp,profile=default".
func securityNames(options []string) (names []string) {
	for _, o := range options {
		name, _, _ := strings.Cut(strings.TrimPrefix(o, "name="), ",")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// noSource is what Docker says of a mount whose source its machine does not have.
const noSource = "bind source path does not exist"

// NoSource reports whether err is that of a container whose mount has no source on the
// engine's machine.
func NoSource(err error) bool { return strings.Contains(err.Error(), noSource) }

// Lacks reports whether the engine surely has no file at an absolute path of its machine.
// It is asked for a container of an image that cannot exist: Docker looks at the mounts
// first, and makes nothing. Podman looks at the image first, so that it lacks nothing here.
func (e *Engine) Lacks(ctx context.Context, path string) bool {
	_, err := e.client.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config:     &container.Config{Image: "sha256:" + strings.Repeat("0", 64)},
		HostConfig: &container.HostConfig{Mounts: []mount.Mount{{Type: mount.TypeBind, Source: path, Target: "/looked-for", ReadOnly: true}}},
	})
	return err != nil && NoSource(err)
}
