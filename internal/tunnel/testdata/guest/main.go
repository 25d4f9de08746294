// Guest is what the tests of package tunnel run in a container: the tunnel's
// guest, and a client that puts load on it.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/internal/tunnel"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(command string) error {
	switch command {
	case "idle":
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGTERM)
		<-end
		return nil
	case "tunnel":
		return tunnel.ServeGuest(context.Background(), tunnel.ListenAddress, os.Stdin, os.Stdout)
	case "load":
		return load()
	case "events":
		resp, err := http.Get("http://" + tunnel.ListenAddress + "/events")
		if err != nil {
			return err
		}
		_, err = io.Copy(os.Stdout, resp.Body)
		return err
	}
	return fmt.Errorf("unknown command %q", command)
}

// load sends 50 random bodies of 1 MiB at a time and compares the echoes.
func load() error {
	begin := time.Now()
	errs := make([]error, 50)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = echo() })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	fmt.Println(time.Since(begin).Round(time.Millisecond))
	return nil
}

func echo() error {
	body := make([]byte, 1<<20)
	_, _ = rand.Read(body)
	resp, err := http.Post("http://"+tunnel.ListenAddress+"/echo", "application/octet-stream", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(got, body) {
		return fmt.Errorf("%d bytes came back of %d: %w", len(got), len(body), err)
	}
	return nil
}
