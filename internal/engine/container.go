package engine

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
)

// Start starts a created container.
func (e *Engine) Start(ctx context.Context, id string) error {
	_, err := e.client.ContainerStart(ctx, id, client.ContainerStartOptions{})
	return wrap(err, "starting container", short(id))
}

// Exit is how a container ended.
type Exit struct {
	Code int   // the exit status of its first process; 128+n for signal n
	Err  error // the engine lost track of it; Code means nothing then
}

// Wait returns a channel that receives one Exit when the container that runs
// next, or runs now, ends. Call it before Start: the engine has then taken note
// of the waiter, and not even an instant exit is missed.
func (e *Engine) Wait(ctx context.Context, id string) <-chan Exit {
	wait := e.client.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	exit := make(chan Exit, 1)
	go func() {
		select {
		case r := <-wait.Result:
			if r.Error != nil {
				exit <- Exit{Err: fmt.Errorf("waiting for container %s: %s", short(id), r.Error.Message)}
				return
			}
			exit <- Exit{Code: int(r.StatusCode)}
		case err := <-wait.Error:
			exit <- Exit{Err: wrap(err, "waiting for container", short(id))}
		}
	}()
	return exit
}

// Kill sends a signal ("INT", "TERM", "KILL") to the container's first
// process. A container that does not run any more is no error.
func (e *Engine) Kill(ctx context.Context, id, signal string) error {
	_, err := e.client.ContainerKill(ctx, id, client.ContainerKillOptions{Signal: signal})
	if err == nil || !e.state(ctx, id).Running {
		return nil
	}
	return wrap(err, "signalling container", short(id))
}

// state is what the engine knows of a container; zero of one that is not there.
func (e *Engine) state(ctx context.Context, id string) container.State {
	r, err := e.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil || r.Container.State == nil {
		return container.State{}
	}
	return *r.Container.State
}

// OOMKilled reports whether the kernel killed the container's first process
// because memory ran out.
func (e *Engine) OOMKilled(ctx context.Context, id string) bool { return e.state(ctx, id).OOMKilled }

// EndedAt is when a container ended, by its engine; zero where it runs, or the engine does
// not know.
func (e *Engine) EndedAt(ctx context.Context, id string) time.Time {
	s := e.state(ctx, id)
	if s.Running {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339Nano, s.FinishedAt)
	if at.Year() < 2000 { // of one that never ran
		return time.Time{}
	}
	return at
}

// removeTries and removePause bound how long Remove asks again, a second in all.
const (
	removeTries = 10
	removePause = 100 * time.Millisecond
)

// passing are parts of the errors of a removal that works a moment later.
var passing = []string{
	"container state improper", // Podman: the container ends by itself at that moment
	"already in progress",      // Docker: somebody else removes it
	"device or resource busy",  // Docker: a process that ends, or a copy from its files, holds its mount
}

// Remove kills and removes a container with its anonymous volumes. One that
// does not exist is no error. An engine that cannot do it at that moment is asked again.
func (e *Engine) Remove(ctx context.Context, id string) (err error) {
	for try := range removeTries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return err
			case <-time.After(removePause):
			}
		}
		_, err = e.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch err = wrap(err, "removing container", short(id)); {
		case err == nil, isNotFound(err):
			return nil
		case !slices.ContainsFunc(passing, func(part string) bool { return strings.Contains(err.Error(), part) }):
			return err
		}
	}
	return err
}

// List returns the ids of all containers, running or not, with the label
// key=value, sorted. An empty value stands for any.
func (e *Engine) List(ctx context.Context, key, value string) ([]string, error) {
	all, err := e.Containers(ctx, key, value)
	var ids []string
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	return ids, err
}

// Container is one that the engine has.
type Container struct {
	ID      string
	Name    string // without the slash in front
	Labels  map[string]string
	Running bool // and is not paused
	Paused  bool
	Ended   bool     // it does not run, and is not about to
	Sources []string // what is bind-mounted into it, as paths of the engine's machine
	// Networks are the names of those that it is in, sorted.
	Networks []string
}

// Containers returns all containers, running or not, with the label key=value, sorted
// by name; an empty value means any.
func (e *Engine) Containers(ctx context.Context, key, value string) ([]Container, error) {
	label := key
	if value != "" {
		label += "=" + value
	}
	r, err := e.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", label)})
	if err != nil {
		return nil, wrap(err, "listing containers with label", key)
	}
	var all []Container
	for _, c := range r.Items {
		one := Container{ID: c.ID, Name: short(c.ID), Labels: c.Labels, Running: c.State == container.StateRunning,
			Paused: c.State == container.StatePaused, Ended: c.State == container.StateExited || c.State == container.StateDead}
		if len(c.Names) > 0 {
			one.Name = strings.TrimPrefix(c.Names[0], "/")
		}
		for _, m := range c.Mounts {
			if m.Type == mount.TypeBind {
				one.Sources = append(one.Sources, m.Source)
			}
		}
		if c.NetworkSettings != nil {
			one.Networks = slices.Sorted(maps.Keys(c.NetworkSettings.Networks))
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Container) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Labels returns the labels of a container, running or not; none of one that does
// not exist.
func (e *Engine) Labels(ctx context.Context, id string) (map[string]string, error) {
	r, err := e.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err = wrap(err, "looking at container", short(id)); err != nil {
		if isNotFound(err) {
			err = nil
		}
		return nil, err
	}
	if r.Container.Config == nil {
		return nil, nil
	}
	return r.Container.Config.Labels, nil
}

// NetworkOwner returns the id or name of the container whose network a container
// has joined, "" when it has one of its own or none.
func (e *Engine) NetworkOwner(ctx context.Context, id string) (string, error) {
	r, err := e.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return "", wrap(err, "looking at container", short(id))
	}
	if r.Container.HostConfig == nil {
		return "", nil
	}
	return r.Container.HostConfig.NetworkMode.ConnectedContainer(), nil
}

// short cuts an id to the 12 digits that people know from the docker command.
func short(id string) string {
	if len(id) == 64 {
		return id[:12]
	}
	return id
}

// Gateways returns the addresses by which a container's networks reach the engine's machine
// and beyond. The container must have started.
func (e *Engine) Gateways(ctx context.Context, id string) (addrs []netip.Addr, err error) {
	r, err := e.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil || r.Container.NetworkSettings == nil {
		return nil, wrap(err, "looking at container", short(id))
	}
	for _, n := range r.Container.NetworkSettings.Networks {
		for _, addr := range []netip.Addr{n.Gateway, n.IPv6Gateway} {
			if addr.IsValid() {
				addrs = append(addrs, addr)
			}
		}
	}
	return addrs, nil
}
