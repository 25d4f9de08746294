package guard_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/guard"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/firewall/relay"
)

// The guard under measurement lives in processes of its own: only so are memory, files
// and time the guard's, and only so can it live in a network namespace. The
// test binary plays each part, see yard.
const partEnv = "SBX_GUARD_TEST_PART"

func TestMain(m *testing.M) {
	part := os.Getenv(partEnv)
	if part == "" {
		os.Exit(m.Run())
	}
	parts := map[string]func() error{"guard": guardPart, "site": sitePart, "client": clientPart}
	if err := parts[part](); err != nil {
		fmt.Fprintln(os.Stderr, part+":", err)
		os.Exit(1)
	}
}

// The addresses of the yard's internet.
const (
	echoAddr = "93.184.216.1" // echo.test: sends back what it gets
	bulkAddr = "93.184.216.2" // bulk.test: answers the hello, sends bulkSize bytes and ends
	halfAddr = "93.184.216.3" // half.test: takes everything and says nothing
	sinkAddr = "93.184.216.4" // sink.test: answers the hello and takes everything
	tlsAddr  = "93.184.216.5" // tls.test: bulk.test in TLS
	openAddr = "93.184.216.6" // ok.test: bulk.test in HTTP in TLS, which the guard opens

	plainPort = 8443 // of each site, where no packet filter leads to the guard
	guardedBy = 443
	guardPort = 1080
	guardMark = 0x5b58
	bulkSize  = 256 << 20
)

var zone = map[string]string{"echo.test": echoAddr, "bulk.test": bulkAddr, "half.test": halfAddr, "sink.test": sinkAddr,
	"tls.test": tlsAddr, "ok.test": openAddr, "other.test": echoAddr}

type yardNames struct{}

func (yardNames) Addresses(_ context.Context, name string, _ netip.Addr) []netip.Addr {
	if a, ok := zone[name]; ok {
		return []netip.Addr{netip.MustParseAddr(a)}
	}
	return nil
}

func (yardNames) Aliases(string) []string { return nil }

func (yardNames) NamesAt(netip.Addr) []string { return nil }

// guardPart is the guard with the real recorder and log. It answers "state" on
// standard input with its open files, goroutines and bytes of heap and stacks.
func guardPart() error {
	policy, errs := firewall.NewPolicy(firewall.Network{Allow: []string{"echo.test", "bulk.test", "half.test", "sink.test", "tls.test",
		"https://ok.test GET /**"}})
	if errs != nil {
		return fmt.Errorf("the policy: %v", errs)
	}
	log, err := audit.OpenLog(os.Args[1])
	if err != nil {
		return err
	}
	recorder := audit.NewRecorder(log.Record, nil)
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", guardPort))
	if err != nil {
		return err
	}
	opener := relay.New(relay.Options{
		Memory: operation.NewMemory(), Record: recorder.Record, Roots: siteRoots, Publish: func([]byte) error { return nil },
	})
	if err := opener.SetHosts(policy.Operations().Hosts()); err != nil {
		return err
	}
	server := guard.New(guard.Options{
		Policy: policy, Names: yardNames{}, Record: recorder.Record, Destination: guard.OriginalDestination, Relay: opener.Serve,
		Dialer: net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
			var failure error
			err := c.Control(func(fd uintptr) { failure = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, guardMark) })
			return errors.Join(err, failure)
		}},
	})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			debug.FreeOSMemory() // a collection, so that only what is held is counted
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			files, _ := os.ReadDir("/proc/self/fd")
			fmt.Println(len(files), runtime.NumGoroutine(), m.HeapInuse+m.StackInuse)
		}
		stop() // the test ended
	}()
	fmt.Println("ready")
	return errors.Join(server.Serve(ctx, l), recorder.Close())
}

// sitePart is every site of the internet.
func sitePart() error {
	var listeners []net.Listener
	for _, port := range []int{guardedBy, plainPort} {
		l, err := net.Listen("tcp4", fmt.Sprintf(":%d", port))
		if err != nil {
			return err
		}
		listeners = append(listeners, l)
	}
	for _, l := range listeners {
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					time.Sleep(time.Millisecond)
					continue
				}
				go serveSite(conn.(*net.TCPConn))
			}
		}()
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

// siteRoots certify the site of the yard, which is another process.
func siteRoots() (*x509.CertPool, error) {
	conn, err := tls.Dial("tcp4", fmt.Sprintf("%s:%d", openAddr, plainPort), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	roots := x509.NewCertPool()
	roots.AddCert(conn.ConnectionState().PeerCertificates[0])
	return roots, nil
}

var bulkBlock = make([]byte, 256<<10)

func sendBulk(w io.Writer) {
	for range bulkSize / len(bulkBlock) {
		if _, err := w.Write(bulkBlock); err != nil {
			return
		}
	}
}

func serveSite(conn *net.TCPConn) {
	defer conn.Close()
	switch host, _, _ := net.SplitHostPort(conn.LocalAddr().String()); host {
	case bulkAddr:
		if _, err := io.ReadFull(conn, make([]byte, len(yardHello("bulk.test")))); err != nil {
			return
		}
		_, _ = io.WriteString(conn, answer)
		sendBulk(conn)
	case tlsAddr:
		session := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate()}})
		sendBulk(session)
		_ = session.CloseWrite() // so that its end is seen
	case openAddr:
		session := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate()}})
		if _, err := http.ReadRequest(bufio.NewReader(session)); err != nil {
			return
		}
		fmt.Fprintf(session, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", bulkSize)
		sendBulk(session)
		_ = session.CloseWrite()
	case halfAddr, sinkAddr:
		if host == sinkAddr && roundTrip(conn, yardHello("sink.test")) != nil {
			return
		}
		buf := make([]byte, 256<<10)
		for {
			if _, err := conn.Read(buf); err != nil {
				return
			}
		}
	default:
		// Small, since ten thousand connections hold one each.
		buf := make([]byte, 512)
		for {
			n, err := conn.Read(buf)
			if n > 0 {
				if _, err := conn.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

func yardHello(name string) []byte { return []byte(hello(sni(name))) }

// clientPart does what its standard input says, one line each, and answers
// with one line of numbers or "error: …".
func clientPart() error {
	fmt.Println("ready")
	var c client
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Fields(in.Text())
		numbers := make([]int, 0, 2)
		for _, w := range words[2:] {
			n, err := strconv.Atoi(w)
			if err != nil {
				return err
			}
			numbers = append(numbers, n)
		}
		answer, err := c.run(words[0], words[1], numbers)
		if err != nil {
			answer = "error: " + err.Error()
		}
		fmt.Println(answer)
	}
	return nil
}

type client struct{ held []*net.TCPConn }

func (c *client) run(job, via string, n []int) (string, error) {
	switch job {
	case "latency": // COUNT -> the median and the 99th percentile in nanoseconds
		times := make([]time.Duration, n[0])
		for i := range times {
			start := time.Now()
			if err := firstByte(via); err != nil {
				return "", err
			}
			times[i] = time.Since(start)
		}
		slices.Sort(times)
		return fmt.Sprint(times[len(times)/2].Nanoseconds(), times[len(times)*99/100].Nanoseconds()), nil
	case "rate": // COUNT WORKERS -> nanoseconds
		start := time.Now()
		if err := inParallel(n[0], n[1], func() error { return firstByte(via) }); err != nil {
			return "", err
		}
		return fmt.Sprint(time.Since(start).Nanoseconds()), nil
	case "bulk": // -> nanoseconds of one download
		start := time.Now()
		if err := download(via); err != nil {
			return "", err
		}
		return fmt.Sprint(time.Since(start).Nanoseconds()), nil
	case "tls": // -> nanoseconds of one download with its handshake
		start := time.Now()
		if err := downloadTLS(via); err != nil {
			return "", err
		}
		return fmt.Sprint(time.Since(start).Nanoseconds()), nil
	case "opened": // -> nanoseconds of one download whose TLS the guard opens
		start := time.Now()
		if err := downloadOpened(via); err != nil {
			return "", err
		}
		return fmt.Sprint(time.Since(start).Nanoseconds()), nil
	case "upload": // -> nanoseconds
		start := time.Now()
		if err := upload(via); err != nil {
			return "", err
		}
		return fmt.Sprint(time.Since(start).Nanoseconds()), nil
	case "hold": // COUNT -> nothing; the connections have answered once and stay
		var mu sync.Mutex
		return "0", inParallel(n[0], 32, func() error {
			conn, err := open(via, "echo.test")
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			c.held = append(c.held, conn)
			return roundTrip(conn, yardHello("echo.test"))
		})
	case "touch": // every held connection still works
		for _, conn := range c.held {
			if err := roundTrip(conn, []byte("still there?")); err != nil {
				return "", err
			}
		}
		return fmt.Sprint(len(c.held)), nil
	case "drop": // the held connections
		for _, conn := range c.held {
			_ = conn.SetLinger(0)
			conn.Close()
		}
		c.held = nil
		return "0", nil
	case "storm": // SECONDS WORKERS -> connections of every kind that were made
		return storm(via, time.Duration(n[0])*time.Second, n[1])
	}
	return "", fmt.Errorf("no job %q", job)
}

func inParallel(count, workers int, f func() error) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failure error
	left := count
	for range workers {
		wg.Go(func() {
			for {
				mu.Lock()
				done := left <= 0 || failure != nil
				left--
				mu.Unlock()
				if done {
					return
				}
				if err := f(); err != nil {
					mu.Lock()
					failure = err
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	return failure
}

// open connects to a site, straight or through the guard or Squid.
func open(via, name string) (*net.TCPConn, error) {
	addr := net.JoinHostPort(zone[name], strconv.Itoa(guardedBy))
	switch via {
	case "direct":
		addr = net.JoinHostPort(zone[name], strconv.Itoa(plainPort))
	case "squid":
		addr = squidAddr
	}
	conn, err := net.DialTimeout("tcp4", addr, limit)
	if err != nil {
		return nil, err
	}
	tcp := conn.(*net.TCPConn)
	if err := tcp.SetDeadline(time.Now().Add(10 * limit)); err != nil {
		return nil, err
	}
	if via == "squid" {
		// Not the guarded port: Squid's own connections must not meet the guard.
		if _, err := fmt.Fprintf(tcp, "CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n", name, plainPort, name, plainPort); err != nil {
			return nil, err
		}
		if err := readConnected(tcp); err != nil {
			tcp.Close()
			return nil, err
		}
	}
	return tcp, nil
}

// readConnected reads Squid's answer and no byte more.
func readConnected(conn io.Reader) error {
	var head []byte
	b := make([]byte, 128)
	for !strings.HasSuffix(string(head), "\r\n\r\n") {
		n, err := conn.Read(b)
		if err != nil {
			return err
		}
		head = append(head, b[:n]...)
	}
	if !strings.HasPrefix(string(head), "HTTP/1.1 200") {
		return fmt.Errorf("squid answers %q", head)
	}
	return nil
}

func roundTrip(conn net.Conn, b []byte) error {
	if _, err := conn.Write(b); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, len(b)))
	return err
}

// firstByte makes a connection and waits for the first byte of the answer. It
// ends with a reset: thousands of ports would else wait for a minute.
func firstByte(via string) error {
	conn, err := open(via, "echo.test")
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetLinger(0)
	if _, err := conn.Write(yardHello("echo.test")); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return err
}

func download(via string) error {
	conn, err := open(via, "bulk.test")
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(yardHello("bulk.test")); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, make([]byte, len(answer))); err != nil {
		return err
	}
	return takeBulk(conn)
}

func downloadTLS(via string) error {
	conn, err := open(via, "tls.test")
	if err != nil {
		return err
	}
	defer conn.Close()
	return takeBulk(tls.Client(conn, &tls.Config{ServerName: "tls.test", InsecureSkipVerify: true}))
}

func downloadOpened(via string) error {
	conn, err := open(via, "ok.test")
	if err != nil {
		return err
	}
	defer conn.Close()
	session := tls.Client(conn, &tls.Config{ServerName: "ok.test", InsecureSkipVerify: true})
	if _, err := io.WriteString(session, "GET / HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(session, len(bulkBlock)), nil)
	if err != nil {
		return err
	}
	return takeBulk(answer.Body)
}

func takeBulk(r io.Reader) error {
	got := 0
	buf := make([]byte, 256<<10)
	for {
		n, err := r.Read(buf)
		got += n
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if got != bulkSize {
		return fmt.Errorf("%d bytes of %d", got, bulkSize)
	}
	return nil
}

func upload(via string) error {
	conn, err := open(via, "sink.test")
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := roundTrip(conn, yardHello("sink.test")); err != nil {
		return err
	}
	if _, err := conn.Write(record(23, make([]byte, 100))); err != nil { // the guard looks at one record more
		return err
	}
	for range bulkSize / len(bulkBlock) {
		if _, err := conn.Write(bulkBlock); err != nil {
			return err
		}
	}
	if err := conn.CloseWrite(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn)
	return err
}
