package endpoint

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
)

// Attack: other machines reach the proxy, because it listens on more than was meant.
func TestAttackAnAddressThatOthersReach(t *testing.T) {
	for _, address := range []string{
		"0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0", "8.8.8.8:0", "[2001:db8::1]:0", "169.254.1.1:0", "[fe80::1]:0",
		"100.64.0.1:0", "[ff02::1]:0",
		":0", "127.0.0.1", "localhost:0", "", "unix:/tmp/x", "127.1:0", "127.0.0.1:99999",
	} {
		if l, err := Listen(address); err == nil {
			l.Close()
			t.Errorf("%q is taken: %s", address, l.Addr())
		}
	}
	l, err := Listen(Default)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		t.Errorf("the default is %s", l.Addr())
	}
}

func TestServeEnds(t *testing.T) {
	l, err := Listen(Default)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			io.WriteString(w, "answer")
		}))
	}()
	resp, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	<-begun
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		conn.Close()
		t.Error("the address still answers")
	}
}
