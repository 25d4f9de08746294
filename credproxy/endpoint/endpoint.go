package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
)

// Default is the address for programs of this machine, with a free port.
const Default = "127.0.0.1:0"

// Listen opens an address, IP:PORT. It takes loopback, and private addresses, which are
// those of an engine's bridges.
func Listen(address string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, diag.WithHint(fmt.Errorf("%q is no address with a port", address), "such as 127.0.0.1:8790; the port 0 is a free one")
	}
	switch ip := at.Addr().Unmap(); {
	case ip.IsUnspecified():
		return nil, refused(at, "stands for all networks of this machine")
	case !ip.IsLoopback() && !ip.IsPrivate():
		return nil, refused(at, "is neither loopback nor private")
	}
	listener, err := net.Listen("tcp", at.String())
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", at, err)
	}
	return listener, nil
}

func refused(at netip.AddrPort, why string) error {
	return diag.WithHint(fmt.Errorf("%s %s: requests and the token would travel there unencrypted", at.Addr(), why),
		"take 127.0.0.1, or for containers the address of their bridge, such as 172.17.0.1")
}

// Bounds on a client.
const (
	headTimeout = 30 * time.Second
	maxHead     = 64 << 10        // bytes
	lastAnswers = 5 * time.Second // to end answers that are under way
)

// Serve answers connections until ctx ends, and then closes all of them.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: headTimeout, MaxHeaderBytes: maxHead}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
	defer cancel()
	if err := server.Shutdown(last); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	_ = server.Close()
	return nil
}
