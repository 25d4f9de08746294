package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/peercred"
)

const (
	// controlSocket, in the audit log's folder, is where root speaks to the
	// running firewall. It is a file, not an abstract name, which everybody in
	// the network namespace could reach. A sidecar's log is there for another
	// container to read, so its socket lies in a folder beside the log's.
	controlSocket = "control.sock"
	besideLog     = "-control"

	// exitDiffers is the exit code of verify for a kernel that is not as it should be.
	exitDiffers = 1

	maxRequestBytes = 4 << 10
	requestTimeout  = 5 * time.Second // for a request to arrive
)

// request is one line of JSON to the running firewall.
type request struct {
	Command string `json:"command"` // "reload", "status" or "verify"
}

// response is the answer, one line of JSON.
type response struct {
	Code   int    `json:"code"` // exit code
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// controlPath is where the firewall with this audit log listens.
func controlPath(audit string, sidecar bool) string {
	dir := filepath.Dir(audit)
	if sidecar {
		dir += besideLog
	}
	return filepath.Join(dir, controlSocket)
}

// listenControl opens the control socket for root alone, in the place of one
// that a firewall before us has left.
func listenControl(path string) (*net.UnixListener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("opening the control socket: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("opening the control socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the control socket: %w", err)
	}
	return l, nil
}

// serveControl passes requests on to jobs until the socket is closed.
func serveControl(l *net.UnixListener, jobs chan<- job) {
	for {
		conn, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the client was gone already
		}
		go func() {
			defer conn.Close()
			_ = json.NewEncoder(conn).Encode(serveRequest(conn, jobs)) // a client that has gone gets none
		}()
	}
}

func serveRequest(conn *net.UnixConn, jobs chan<- job) response {
	refuse := func(err error) response { return response{exitInternal, "", "sbx-init: error: " + err.Error() + "\n"} }
	if err := conn.SetReadDeadline(time.Now().Add(requestTimeout)); err != nil {
		return refuse(err)
	}
	var r request
	if err := json.NewDecoder(io.LimitReader(conn, maxRequestBytes)).Decode(&r); err != nil {
		return refuse(fmt.Errorf("reading the request: %w", err))
	}
	// The mode of the file keeps others out as well; this holds when somebody
	// changes the mode.
	if err := fromRoot(conn); err != nil {
		return refuse(err)
	}
	reply := make(chan response, 1)
	jobs <- job{r, reply}
	return <-reply
}

// fromRoot errs unless root opened the other end.
func fromRoot(conn *net.UnixConn) error {
	uid, err := peercred.UID(conn)
	if err != nil {
		return fmt.Errorf("asking for the user at the other end: %w", err)
	}
	if uid != 0 {
		return fmt.Errorf("user %d is not root", uid)
	}
	return nil
}

// ask sends a command to the running firewall and prints what it says.
func (p *program) ask(command string, args []string) error {
	fs := newFlags(command)
	audit := fs.String("audit", defaultAudit, "")
	asJSON := false
	if command == "status" {
		fs.BoolVar(&asJSON, "json", false, "")
	}
	rest, err := parseFlags(fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 || *audit == "" {
		return usageError("%s takes its options as 'sbx-init help' shows", command)
	}
	path := controlPath(*audit, true)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		path = controlPath(*audit, false)
	}
	r, err := callControl(path, request{command})
	if err != nil {
		return err
	}
	if command == "status" && r.Code == 0 && !asJSON {
		if r.Stdout, err = statusText(r.Stdout); err != nil {
			return err
		}
	}
	_, err = io.WriteString(p.stdout, r.Stdout)
	if _, err2 := io.WriteString(p.stderr, r.Stderr); err == nil {
		err = err2
	}
	if err == nil && r.Code != 0 {
		err = exitWith(r.Code, nil)
	}
	return err
}

// callControl asks the firewall at the socket path.
func callControl(path string, r request) (response, error) {
	conn, err := net.Dial("unix", path)
	switch {
	case errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM):
		err = fmt.Errorf("only root may speak to the firewall: %w", err)
		return response{}, diag.WithHint(err, "run it as root (docker exec -u root ...); what was refused, and why, everybody may read: sbx-init log")
	case errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED):
		err = fmt.Errorf("no firewall answers: %w", err)
		return response{}, diag.WithHint(err, "run it in the container whose sbx-init set the firewall up (in a sidecar topology: the firewall's own), with the --audit that was given there")
	case err != nil:
		return response{}, fmt.Errorf("speaking to the firewall: %w", err)
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(r); err != nil {
		return response{}, fmt.Errorf("speaking to the firewall: %w", err)
	}
	var answer response
	if err := json.NewDecoder(conn).Decode(&answer); err != nil {
		return response{}, fmt.Errorf("the firewall gave no answer: %w", err)
	}
	return answer, nil
}
