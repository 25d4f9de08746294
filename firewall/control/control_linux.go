package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/peercred"
)

const (
	socketName = "control.sock"
	// besideLog is added to the log's folder for the socket of a sidecar, whose
	// log lies in a folder that another container reads.
	besideLog = "-control"

	maxRequestBytes = 256 << 10
	requestTimeout  = 5 * time.Second // for a request to arrive
)

// Request is what a client sends.
type Request struct {
	Command string `json:"command"`
	Input   []byte `json:"input,omitempty"` // what the command reads; most read nothing

	keep *func(net.Conn)
}

// Keep has take get the connection behind the response, for a command that goes on. Open
// is for such commands. Others' connections end with the response.
func (r Request) Keep(take func(net.Conn)) { *r.keep = take }

// Response is the answer to a command: what the command that asked has to print,
// and its exit code.
type Response struct {
	Code   int    `json:"code"`
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// Path is where the firewall with the audit log at the path log listens: in the
// log's folder, or, of a sidecar, in one next to it.
func Path(log string, sidecar bool) string {
	dir := filepath.Dir(log)
	if sidecar {
		dir += besideLog
	}
	return filepath.Join(dir, socketName)
}

// Find returns Path of whichever topology has a socket there, that of a single
// container when neither has.
func Find(log string) string {
	if path := Path(log, true); exists(path) {
		return path
	}
	return Path(log, false)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// Listen opens the socket for root alone, in the place of one that a firewall
// before this one has left.
func Listen(path string) (*net.UnixListener, error) {
	fail := func(err error) (*net.UnixListener, error) {
		return nil, fmt.Errorf("opening the control socket: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fail(err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fail(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return fail(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return fail(err)
	}
	return l, nil
}

// Serve answers requests until the socket is closed. handle gets root's commands,
// one at a time; any other client gets the response that refuse makes of the
// reason.
func Serve(l *net.UnixListener, handle func(Request) Response, refuse func(error) Response) {
	var one sync.Mutex
	for {
		conn, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the client was gone already
		}
		go func() {
			var keep func(net.Conn)
			defer func() {
				if keep == nil {
					conn.Close()
				}
			}()
			request, err := readRequest(conn)
			if err != nil {
				_ = json.NewEncoder(conn).Encode(refuse(err)) // a client that has gone gets none
				return
			}
			request.keep = &keep
			one.Lock()
			response := handle(request)
			one.Unlock()
			if err := json.NewEncoder(conn).Encode(response); keep != nil && err == nil {
				keep(conn)
			} else {
				keep = nil
			}
		}()
	}
}

// readRequest errs unless root sends a request in time.
func readRequest(conn *net.UnixConn) (r Request, err error) {
	if err := conn.SetReadDeadline(time.Now().Add(requestTimeout)); err != nil {
		return r, err
	}
	if err := json.NewDecoder(io.LimitReader(conn, maxRequestBytes)).Decode(&r); err != nil {
		return r, fmt.Errorf("reading the request: %w", err)
	}
	// The mode of the file keeps others out as well; this holds when the mode is
	// changed.
	uid, err := peercred.UID(conn)
	if err != nil {
		return r, fmt.Errorf("asking for the user at the other end: %w", err)
	}
	if uid != 0 {
		return r, fmt.Errorf("user %d is not root", uid)
	}
	return r, conn.SetReadDeadline(time.Time{})
}

// Call sends a request to the firewall at the socket path. It waits for as long
// as the firewall takes. Its errors have hints.
func Call(path string, r Request) (Response, error) {
	answer, conn, err := Open(path, r)
	if err == nil {
		conn.Close()
	}
	return answer, err
}

// Open is Call for a command that goes on: the connection is open behind the response.
func Open(path string, r Request) (Response, net.Conn, error) {
	conn, err := net.Dial("unix", path)
	switch {
	case errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM):
		err = fmt.Errorf("only root may speak to the firewall: %w", err)
		return Response{}, nil, diag.WithHint(err,
			"run it as root (docker exec -u root ...); every user may read the refusals with their reasons: sbx-init log")
	case errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED):
		err = fmt.Errorf("no firewall answers: %w", err)
		return Response{}, nil, diag.WithHint(err, "run it in the container whose sbx-init set the firewall up "+
			"(in a sidecar topology: the firewall's own), with the --audit that was given there")
	case err != nil:
		return Response{}, nil, fmt.Errorf("speaking to the firewall: %w", err)
	}
	answer, err := exchange(conn, r)
	if err != nil {
		conn.Close()
		return Response{}, nil, err
	}
	return answer, conn, nil
}

// exchange sends a request and reads the response, and no byte of what is behind
// either.
func exchange(conn net.Conn, r Request) (answer Response, err error) {
	request, err := json.Marshal(r)
	if err == nil {
		_, err = conn.Write(request) // no line end: it could be read as the first byte behind the request
	}
	if err != nil {
		return answer, fmt.Errorf("speaking to the firewall: %w", err)
	}
	var line []byte
	for one := make([]byte, 1); !bytes.HasSuffix(line, []byte{'\n'}); line = append(line, one...) {
		if _, err := io.ReadFull(conn, one); err != nil {
			return answer, fmt.Errorf("the firewall gave no answer: %w", err)
		}
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return answer, fmt.Errorf("the firewall gave no answer: %w", err)
	}
	return answer, nil
}
