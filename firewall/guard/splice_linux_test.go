package guard

import (
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pair is both ends of a connection.
func pair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a.(*net.TCPConn), b.(*net.TCPConn)
}

// A process that may open no more files makes no pipe, and its connections go on.
func TestBytesPassWithoutAFileForAPipe(t *testing.T) {
	client, src := pair(t)
	dst, site := pair(t)
	runtime.GC() // the pipes that were used before: package poll keeps them until a second one
	runtime.GC()
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	full := files
	full.Cur = 3
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &full); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
			t.Fatal(err)
		}
	}()
	if err := unix.Pipe2(make([]int, 2), unix.O_CLOEXEC); err == nil {
		t.Fatal("a pipe can be made, the test shows nothing")
	}
	sent := strings.Repeat("words ", 10000)
	go func() {
		_, _ = io.WriteString(client, sent)
		_ = client.CloseWrite()
	}()
	done := make(chan error, 1)
	go func() {
		n, err := splice(dst, src, 3)
		if err == nil && n == 3 {
			_, err = splice(dst, src, -1)
		}
		_ = dst.CloseWrite()
		done <- err
	}()
	got, err := io.ReadAll(site)
	if spliceErr := <-done; string(got) != sent || err != nil || spliceErr != nil {
		t.Errorf("%d bytes of %d arrived: %v, %v", len(got), len(sent), err, spliceErr)
	}
}
