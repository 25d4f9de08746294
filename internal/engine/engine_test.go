package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// toolProgram is the first process of the test containers: a static program
// that stands in for whatever runs in them.
const toolProgram = `package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	switch os.Args[1] {
	case "cat":
		io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintln(os.Stderr, "end of input")
		os.Exit(3)
	case "wait":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("waiting")
		<-c
		os.Exit(42)
	case "read":
		data, err := os.ReadFile(os.Args[2])
		fmt.Println(string(data), err)
	}
}
`

// testImage builds an image that holds nothing but /tool.
func testImage(t *testing.T, e *Engine) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool.go"), []byte(toolProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "tool"), filepath.Join(dir, "tool.go"))
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GO111MODULE=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the test program: %v\n%s", err, out)
	}
	program, err := os.ReadFile(filepath.Join(dir, "tool"))
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	tw := tar.NewWriter(&archive)
	for name, data := range map[string][]byte{
		"Dockerfile": []byte("FROM scratch\nCOPY tool /tool\nENTRYPOINT [\"/tool\"]\nHEALTHCHECK --interval=1s CMD [\"/tool\", \"cat\"]\n"),
		"tool":       program} {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	const tag = "sbx-engine-test:tool"
	var output bytes.Buffer
	if _, err := e.Build(context.Background(), BuildSpec{Dockerfile: "Dockerfile", Tags: []string{tag}}, &archive, &output); err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}
	t.Cleanup(func() {
		if err := e.ImageRemove(context.Background(), tag); err != nil {
			t.Error(err)
		}
	})
	return tag
}

func connectOrSkip(t *testing.T) *Engine {
	t.Helper()
	testenv.Slow(t)
	e, err := Connect(context.Background())
	if err != nil {
		testenv.Missing(t, "container engine", err.Error())
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func create(t *testing.T, e *Engine, spec Spec) string {
	t.Helper()
	spec.Name = fmt.Sprintf("sbx-engine-test-%d-%s", os.Getpid(), strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())))
	spec.Network = "none"
	id, err := e.Create(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Remove(context.Background(), id); err != nil {
			t.Error(err)
		}
	})
	return id
}

func TestContainerOnARealEngine(t *testing.T) {
	e := connectOrSkip(t)
	image := testImage(t, e)
	ctx := context.Background()

	// Attack: a program that the engine starts by itself, next to our first process, which
	// would have confined it.
	t.Run("the health check of an image is not run", func(t *testing.T) {
		id := create(t, e, Spec{Image: image, Process: Process{Command: []string{"wait"}}})
		if err := e.Start(ctx, id); err != nil {
			t.Fatal(err)
		}
		r, err := e.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		if err != nil || r.Container.State.Health != nil {
			t.Errorf("the engine keeps a state of its health: %+v, %v", r.Container.State.Health, err)
		}
	})
	t.Run("streams and exit code", func(t *testing.T) {
		id := create(t, e, Spec{Image: image, Process: Process{Command: []string{"cat"}, Stdin: true}})
		stream, err := e.Attach(ctx, id, true, false)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		exit := e.Wait(ctx, id)
		if err := e.Start(ctx, id); err != nil {
			t.Fatal(err)
		}
		input := bytes.Repeat([]byte("0123456789abcdef\x00\xff\n"), 200_000) // 3.8 MB, not text
		go func() {
			stream.Write(input)
			stream.CloseWrite()
		}()
		var stdout, stderr bytes.Buffer
		if err := stream.Copy(&stdout, &stderr); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(stdout.Bytes(), input) {
			t.Errorf("got %d bytes back, want the %d that were sent", stdout.Len(), len(input))
		}
		if stderr.String() != "end of input\n" {
			t.Errorf("standard error is %q", stderr.String())
		}
		if got := <-exit; got.Err != nil || got.Code != 3 {
			t.Errorf("exit is %+v, want code 3", got)
		}
	})

	t.Run("exec signal files", func(t *testing.T) {
		id := create(t, e,
			Spec{Image: image, Labels: map[string]string{"sbx-engine-test": t.Name()}, Process: Process{Command: []string{"wait"}}})
		stream, err := e.Attach(ctx, id, false, false)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		if err := e.CopyIn(ctx, id,
			[]File{{Path: "/etc/x", Mode: 0o755}, {Path: "/etc/x/file", Mode: 0o644, Data: []byte("content")}}); err != nil {
			t.Fatal(err)
		}
		exit := e.Wait(ctx, id)
		if err := e.Start(ctx, id); err != nil {
			t.Fatal(err)
		}
		conn := stream.Conn(io.Discard)
		ready := make([]byte, len("waiting\n"))
		if _, err := io.ReadFull(conn, ready); err != nil {
			t.Fatal(err)
		}
		if ids, err := e.List(ctx, "sbx-engine-test", t.Name()); err != nil || len(ids) != 1 || ids[0] != id {
			t.Errorf("List gives %v, %v", ids, err)
		}

		var out bytes.Buffer
		read := ExecSpec{Command: []string{"/tool", "read", "/etc/x/file"}, User: "65534:65534"}
		if code, err := e.Run(ctx, id, read, nil, &out, io.Discard); err != nil || code != 0 || out.String() != "content <nil>\n" {
			t.Errorf("exec ended with %d and printed %q, %v", code, out.String(), err)
		}
		long := bytes.Repeat([]byte("a line\n"), 1<<20)
		out.Reset()
		if code, err := e.Run(ctx, id, ExecSpec{Command: []string{"/tool", "cat"}}, long, &out, io.Discard); err != nil || code != 3 ||
			!bytes.Equal(out.Bytes(), long) {
			t.Errorf("exec ended with %d and printed %d bytes, %v", code, out.Len(), err)
		}
		if code, err := e.Run(ctx, id, read, long, io.Discard, io.Discard); err == nil { // it read nothing of that
			t.Errorf("exec ended with %d", code)
		}

		both, err := e.Exec(ctx, id, ExecSpec{Command: []string{"/tool", "cat"}, Stdin: true})
		if err != nil {
			t.Fatal(err)
		}
		pipe := both.Conn(io.Discard)
		echo := make([]byte, 4)
		for range 3 { // both directions stay open
			if _, err := pipe.Write([]byte("ping")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(pipe, echo); err != nil || string(echo) != "ping" {
				t.Fatalf("read %q, %v", echo, err)
			}
		}
		pipe.Close()

		if err := e.Kill(ctx, id, "TERM"); err != nil {
			t.Fatal(err)
		}
		if got := <-exit; got.Code != 42 {
			t.Errorf("exit is %+v, want code 42", got)
		}
		if err := e.Kill(ctx, id, "TERM"); err != nil {
			t.Errorf("signalling a container that ended: %v", err)
		}
		var file bytes.Buffer
		if err := e.CopyOut(ctx, id, "/etc/x/file", &file); err != nil || file.String() != "content" {
			t.Errorf("CopyOut gives %q, %v", file.String(), err)
		}
		if err := e.CopyOut(ctx, id, "/etc/x/none", io.Discard); !errors.Is(err, ErrNotFound) {
			t.Errorf("copying a missing file: %v, want ErrNotFound", err)
		}
	})

	t.Run("missing image", func(t *testing.T) {
		if _, err := e.Create(ctx, Spec{Name: "sbx-engine-test-none", Image: "sbx-engine-test:none"}); !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
	})
}
