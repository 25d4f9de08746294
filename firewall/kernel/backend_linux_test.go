package kernel

import (
	"context"
	"slices"
)

// OpenBackend is Open of one backend; "" = any.
func OpenBackend(ctx context.Context, only Backend) (*Kernel, error) {
	if only == "" {
		return Open(ctx)
	}
	return openBackend(ctx, slices.DeleteFunc(candidates(), func(c candidate) bool { return c.backend != only }))
}
