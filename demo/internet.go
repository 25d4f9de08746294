package demo

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/session/runs"
)

// internet is a web server in a container that answers to both of the demo's names and
// notes under which name it was asked.
type internet struct {
	engine    *engine.Engine
	network   string
	container string
}

// webServer answers every request with one line and appends the Host that was
// asked for to a file. Debian's base system has Perl and no other web server.
const webServer = `
use IO::Socket::INET; $| = 1;
my $s = IO::Socket::INET->new(LocalPort => 80, Listen => 16, ReuseAddr => 1) or die $!;
open(my $log, ">>", "/arrivals") or die $!; $log->autoflush(1);
print "listening\n";
while (my $c = $s->accept) {
  my $host = "";
  while (defined(my $l = <$c>)) { $host = $1 if $l =~ /^Host:\s*([^\s:]+)/i; last if $l =~ /^\r?$/; }
  print $log "$host\n";
  my $body = "Hello from $host.\n";
  print $c "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " . length($body) . "\r\nConnection: close\r\n\r\n$body";
  close $c;
}`

// startInternet makes the network and its server and waits until that listens.
func startInternet(ctx context.Context, e *engine.Engine) (_ *internet, err error) {
	d := &internet{engine: e, network: "sandbox-demo-" + runs.NewID()}
	defer func() {
		if err != nil {
			d.close(ctx)
		}
	}()
	if _, err = e.CreateNetwork(ctx, d.network, map[string]string{"sbx-devc.demo": "true"}); err != nil {
		return nil, err
	}
	d.container, err = e.Create(ctx, engine.Spec{
		Name: d.network, Image: image,
		Labels:  map[string]string{"sbx-devc.demo": "true"},
		Process: engine.Process{User: "0:0", Entrypoint: []string{"perl", "-e", webServer}},
		Link:    engine.Link{Network: d.network, Aliases: []string{allowedHost, deniedHost}},
	})
	if err != nil {
		return nil, err
	}
	stream, err := e.Attach(ctx, d.container, false, false)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	if err = e.Start(ctx, d.container); err != nil {
		return nil, err
	}
	var complaints bytes.Buffer
	out := stream.Conn(&complaints)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "listening\n" {
		return nil, fmt.Errorf("the demo's web server did not start: %s", strings.TrimSpace(complaints.String()))
	}
	return d, nil
}

// arrivals counts the requests that came in, by the name that they asked for.
func (d *internet) arrivals(ctx context.Context) (map[string]int, error) {
	var log bytes.Buffer
	if err := d.engine.CopyOut(ctx, d.container, "/arrivals", &log); err != nil {
		return nil, err
	}
	count := map[string]int{}
	for {
		line, err := log.ReadString('\n')
		if err == io.EOF {
			return count, nil
		}
		count[strings.TrimSpace(line)]++
	}
}

// close removes the server and its network.
func (d *internet) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if d.container != "" {
		_ = d.engine.Remove(ctx, d.container)
	}
	_ = d.engine.RemoveNetwork(ctx, d.network)
}
