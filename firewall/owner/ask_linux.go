package owner

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/internal/peercred"
)

const (
	askLimit     = 25 * time.Millisecond  // for one answer, while a program waits
	askPause     = time.Second            // after an answer that did not come
	connectPause = 100 * time.Millisecond // after a connection that was refused, which takes no time
	maxAnswer    = 8 << 10                // bytes
)

// client asks the first process of the agent's container. An answer from there
// may be anybody's: it is bounded, and recorded without deciding anything. A
// client is not safe for concurrent use.
type client struct {
	conn   *net.UnixConn // nil = none
	uid    int           // of the process that answers
	number uint64        // of the last question
	until  time.Time     // no question is asked before this
}

// find asks which process holds a socket. No question is asked about a socket of
// another user than the one who answers, so that he can speak for himself alone.
func (c *client) find(s kernel.Socket) Process {
	if time.Now().Before(c.until) {
		return Process{}
	}
	if c.conn == nil {
		if err := c.connect(); err != nil {
			c.until = time.Now().Add(connectPause)
			return Process{}
		}
	}
	if s.UID != c.uid {
		return Process{}
	}
	p, err := c.ask(s.Inode)
	if err == nil {
		return p
	}
	c.until = time.Now().Add(askPause)
	if !errors.Is(err, os.ErrDeadlineExceeded) { // late answers are passed over
		c.conn.Close()
		c.conn = nil
	}
	return Process{}
}

func (c *client) connect() error {
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: lookupSocket, Net: "unixpacket"})
	if err != nil {
		return err
	}
	uid, err := peercred.UID(conn)
	if err == nil && uid == 0 {
		err = errors.New("root is not the agent")
	}
	if err != nil {
		conn.Close()
		return err
	}
	c.conn, c.uid = conn, uid
	return nil
}

func (c *client) ask(inode uint64) (Process, error) {
	if err := c.conn.SetDeadline(time.Now().Add(askLimit)); err != nil {
		return Process{}, err
	}
	c.number++
	q := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, c.number), inode)
	if _, err := c.conn.Write(q); err != nil {
		return Process{}, err
	}
	buf := make([]byte, maxAnswer+1)
	for {
		n, err := c.conn.Read(buf)
		if err != nil {
			return Process{}, err
		}
		got, err := parseAnswer(buf[:n])
		if err != nil || got.Number > c.number {
			return Process{}, errors.Join(errors.New("no answer to a question"), err)
		}
		if got.Number == c.number {
			return got.Process, nil
		}
	}
}

// maxPID is the kernel's (proc(5), /proc/sys/kernel/pid_max).
const maxPID = 1 << 22

// parseAnswer reads a message that may be anybody's.
func parseAnswer(text []byte) (a answer, err error) {
	if len(text) > maxAnswer {
		return a, errors.New("it is too long")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return answer{}, err
	}
	switch {
	case a.PID < 0 || a.PID > maxPID:
		return answer{}, fmt.Errorf("%d is no process", a.PID)
	case a.PID == 0:
		a.Process = Process{}
	}
	a.Exe, a.Cmd = a.Exe[:min(len(a.Exe), maxExe)], a.Cmd[:min(len(a.Cmd), maxCmd)]
	return a, nil
}
