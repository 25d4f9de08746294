package relay_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/org/claude-sandbox/firewall/credential"
)

// talk is a service of gRPC, in gRPC's own library.
type talk struct {
	calls chan string   // the methods of calls that arrived
	ended chan struct{} // a call of Wait's was given up
}

// stream handles every method: what it does stands in the method's name.
func (s *talk) stream(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	s.calls <- method
	if method == "/test.Talk/Bare" { // its answer is a head alone
		return status.Error(codes.NotFound, "no such thing")
	}
	in, _ := metadata.FromIncomingContext(stream.Context())
	_ = stream.SetHeader(metadata.Pairs("said", strings.Join(in.Get("say"), ","), "raw-bin", "\x00\xff"))
	stream.SetTrailer(metadata.Pairs("last", "word"))
	text := new(wrapperspb.StringValue)
	switch method {
	case "/test.Talk/Fail":
		return status.Error(codes.FailedPrecondition, "not today: 100 % \u00fc")
	case "/test.Talk/Count":
		for i := range 200 {
			if err := stream.SendMsg(wrapperspb.String(fmt.Sprint(i, strings.Repeat("x", 8<<10)))); err != nil {
				return err
			}
		}
		return nil
	case "/test.Talk/Wait":
		_ = stream.SendHeader(nil)
		<-stream.Context().Done()
		close(s.ended)
		return stream.Context().Err()
	case "/test.Talk/Sum":
		total := 0
		for {
			if err := stream.RecvMsg(text); err == io.EOF {
				return stream.SendMsg(wrapperspb.String(fmt.Sprint(total)))
			} else if err != nil {
				return err
			}
			total += len(text.Value)
		}
	}
	for { // Talk
		if err := stream.RecvMsg(text); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.SendMsg(wrapperspb.String(strings.ToUpper(text.Value))); err != nil {
			return err
		}
	}
}

// newTalk serves gRPC at a host, and returns a client that goes through the relay with the
// entries.
func newTalk(t *testing.T, entries ...string) (*grpc.ClientConn, *talk, *box) {
	t.Helper()
	s := &talk{calls: make(chan string, 100), ended: make(chan struct{})}
	certificate := world().host("ok.test")
	server := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&certificate)), grpc.UnknownServiceHandler(s.stream))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	b := newBox(t, &host{addr: l.Addr().String()}, entries...)
	client, err := grpc.NewClient("passthrough:///ok.test", grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: b.roots})),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", b.addr)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client, s, b
}

var bothWays = &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}

// gRPC's library speaks through the relay as if nothing stood between: calls, streams in
// either and in both directions, headers, trailers, statuses, compression, and an end that
// either side decides.
func TestGRPC(t *testing.T) {
	t.Run("relay", func(t *testing.T) { testGRPC(t, false) })
	t.Run("keyed", func(t *testing.T) { testGRPC(t, true) })
}

func testGRPC(t *testing.T, keyed bool) {
	client, s, b := newTalk(t, "https://ok.test POST /test.Talk/*")
	if keyed {
		b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "https://ok.test"})
	}
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "say", "hello", "blob-bin", "\x01\xfe"), limit)
	defer cancel()
	for i, options := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
		var header, trailer metadata.MD
		answer := new(wrapperspb.StringValue)
		err := client.Invoke(ctx, "/test.Talk/Talk", wrapperspb.String("one"), answer,
			append(options, grpc.Header(&header), grpc.Trailer(&trailer))...)
		if keyed && i == 1 { // a key could hide in a compressed answer
			if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "compressed") {
				t.Errorf("%v %v", answer, err)
			}
			continue
		}
		if err != nil || answer.Value != "ONE" || !slices.Equal(header["said"], []string{"hello"}) || header["raw-bin"][0] != "\x00\xff" ||
			trailer["last"][0] != "word" {
			t.Fatalf("%v %v %v %v", answer, header, trailer, err)
		}
	}
	err := client.Invoke(ctx, "/test.Talk/Fail", wrapperspb.String("one"), new(wrapperspb.StringValue))
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "not today: 100 % \u00fc") {
		t.Errorf("%v", err)
	}
	for range 30 { // the status of a head alone arrives whenever that head is written
		err := client.Invoke(ctx, "/test.Talk/Bare", wrapperspb.String("one"), new(wrapperspb.StringValue))
		if status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "no such thing") {
			t.Errorf("%v", err)
		}
	}
	both, err := client.NewStream(ctx, bothWays, "/test.Talk/Talk")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 { // each is answered before the next one
		answer := new(wrapperspb.StringValue)
		if err := both.SendMsg(wrapperspb.String(fmt.Sprint("a", i))); err != nil {
			t.Fatal(err)
		}
		if err := both.RecvMsg(answer); err != nil || answer.Value != fmt.Sprint("A", i) {
			t.Fatalf("%v %v", answer, err)
		}
	}
	if err := both.CloseSend(); err != nil || both.RecvMsg(new(wrapperspb.StringValue)) != io.EOF || both.Trailer()["last"][0] != "word" {
		t.Errorf("%v %v", both.Trailer(), err)
	}
	count, err := client.NewStream(ctx, bothWays, "/test.Talk/Count")
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	for ; err == nil; messages++ {
		err = count.RecvMsg(new(wrapperspb.StringValue))
	}
	if err != io.EOF || messages != 201 {
		t.Errorf("%d messages, %v", messages-1, err)
	}
	sum, err := client.NewStream(ctx, bothWays, "/test.Talk/Sum")
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if err := sum.SendMsg(wrapperspb.String(strings.Repeat("x", 8<<10))); err != nil {
			t.Fatal(err)
		}
	}
	total := new(wrapperspb.StringValue)
	if err := sum.CloseSend(); err != nil || sum.RecvMsg(total) != nil || total.Value != fmt.Sprint(200*8<<10) {
		t.Errorf("%v %v", total, err)
	}
	leaving, leave := context.WithCancel(ctx)
	wait, err := client.NewStream(leaving, bothWays, "/test.Talk/Wait")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wait.Header(); err != nil { // it has arrived
		t.Error(err)
	}
	leave()
	select {
	case <-s.ended:
	case <-ctx.Done():
		t.Error("the server did not hear that the client left")
	}
}

// Attack: a method that no entry names. Nothing of it arrives, and the caller reads why in
// the words of its library.
func TestAttackOperationGRPC(t *testing.T) {
	client, s, _ := newTalk(t, "https://ok.test POST /test.Talk/Talk")
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for _, method := range []string{"/test.Talk/Delete", "/test.Talk/../test.Admin/Delete", "/test.Talk/Talk%2f..%2fDelete",
		"/test.Admin/Talk", "/test.Talk//Talk", "/test.talk/Talk"} {
		err := client.Invoke(ctx, method, wrapperspb.String("one"), new(wrapperspb.StringValue))
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "claude-sandbox: refused: ") {
			t.Errorf("%s: %v", method, err)
		}
	}
	answer := new(wrapperspb.StringValue)
	if err := client.Invoke(ctx, "/test.Talk/Talk", wrapperspb.String("one"), answer); err != nil || answer.Value != "ONE" {
		t.Errorf("%v %v", answer, err)
	}
	close(s.calls)
	for method := range s.calls {
		if method != "/test.Talk/Talk" {
			t.Errorf("arrived: %s", method)
		}
	}
}
