package engine

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
)

// The engine's socket as the host of a URL is no help in a message.
func TestMessagesHaveNoAddressOfTheSocket(t *testing.T) {
	err := wrap(&url.Error{Op: "Post", URL: "http://%2Fvar%2Frun%2Fdocker.sock/v1.41/containers/create", Err: context.Canceled},
		"creating container", "x")
	if strings.Contains(err.Error(), "%2F") || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
