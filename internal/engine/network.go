package engine

import (
	"context"

	"github.com/moby/moby/client"
)

// CreateNetwork makes a bridge network of its own, with the engine's DNS for
// the names and aliases of the containers on it, and returns its id.
func (e *Engine) CreateNetwork(ctx context.Context, name string, labels map[string]string) (id string, err error) {
	r, err := e.client.NetworkCreate(ctx, name, client.NetworkCreateOptions{Driver: "bridge", Labels: labels})
	return r.ID, wrap(err, "creating network", name)
}

// CheckNetwork errs for a network that the engine does not have, with ErrNotFound.
func (e *Engine) CheckNetwork(ctx context.Context, name string) error {
	_, err := e.client.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	return wrap(err, "looking at network", name)
}

// RemoveNetwork removes a network that no container uses any more. One that
// does not exist is no error.
func (e *Engine) RemoveNetwork(ctx context.Context, name string) error {
	_, err := e.client.NetworkRemove(ctx, name, client.NetworkRemoveOptions{})
	if err = wrap(err, "removing network", name); isNotFound(err) {
		return nil
	}
	return err
}
