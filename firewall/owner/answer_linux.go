package owner

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/org/claude-sandbox/internal/peercred"
)

// lookupSocket is where the first process of the agent's container answers which
// process holds a socket. The firewall sees no process there. The name is an
// abstract one, which belongs to the network that both containers share: the
// first process to bind it has it as long as it lives, so it must be bound
// before anything of the agent's runs. It has no place in a file system that
// could be replaced.
const lookupSocket = "@sbx-init/whose"

const (
	questionSize = 16                     // number and inode, in the network's order
	maxAsking    = 4                      // connections that are answered at a time
	acceptPause  = 100 * time.Millisecond // after a connection that could not be accepted
)

// answer is a message to the one who asked.
type answer struct {
	Number uint64 `json:"number"` // the question's
	Process
}

// Answer begins to answer root which process of the caller's user holds a
// socket, for the life of this program. environ is what the processes inherit,
// as for New. It errs when another process has the name already.
func Answer(environ []string) error {
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: lookupSocket, Net: "unixpacket"})
	if err != nil {
		return fmt.Errorf("opening the socket for questions about processes: %w", err)
	}
	s := &scanner{uid: os.Getuid(), redact: newRedactor(environ)}
	turn := make(chan struct{}, 1)
	find := func(inode uint64) Process {
		turn <- struct{}{}
		defer func() { <-turn }()
		return s.find(inode)
	}
	places := make(chan struct{}, maxAsking)
	go func() {
		for {
			conn, err := l.AcceptUnix()
			if err != nil {
				time.Sleep(acceptPause) // as when memory is short, which may pass
				continue
			}
			if uid, err := peercred.UID(conn); err != nil || uid != 0 {
				conn.Close()
				continue
			}
			select {
			case places <- struct{}{}:
			default:
				conn.Close()
				continue
			}
			go func() {
				defer func() { conn.Close(); <-places }()
				answerQuestions(conn, find)
			}()
		}
	}()
	return nil
}

// answerQuestions answers until conn ends or carries a message that is no
// question.
func answerQuestions(conn *net.UnixConn, find func(inode uint64) Process) {
	q := make([]byte, questionSize+1)
	for {
		n, err := conn.Read(q)
		if err != nil || n != questionSize {
			return
		}
		text, err := json.Marshal(answer{binary.BigEndian.Uint64(q), find(binary.BigEndian.Uint64(q[8:]))})
		if err != nil {
			return
		}
		if _, err := conn.Write(text); err != nil {
			return
		}
	}
}
