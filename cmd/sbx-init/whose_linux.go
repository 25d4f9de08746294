package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/redact"
)

// In topology sidecar the firewall sees no process of the agent's container, but
// the first one there is ours. It answers which process holds a socket, at a
// name that belongs to the network which both share. Whoever binds the name
// first has it as long as it lives, and reap binds it before anything of the
// agent's runs. It has no place in a file system that could be replaced.
//
// The answers are recorded and decide nothing. What the firewall reads there it
// takes for anybody's.
const whoseSocket = "@sbx-init/whose"

const (
	askLimit      = 25 * time.Millisecond  // for one answer, while a program waits
	askPause      = time.Second            // after an answer that did not come
	connectPause  = 100 * time.Millisecond // after a connection that was refused, which takes no time
	questionSize  = 16                     // number and inode, in the network's order
	maxAnswer     = 8 << 10                // bytes
	maxQuestioner = 4                      // connections that are answered at a time
)

// answer is a message to whoever asked.
type answer struct {
	Number uint64 `json:"number"` // the question's
	owner
}

// answerWhose begins to answer root which process of ours holds a socket, for
// the life of this program. environ is what the processes inherit, see
// redact.SecretsOf.
func answerWhose(environ []string) error {
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: whoseSocket, Net: "unixpacket"})
	if err != nil {
		return fmt.Errorf("opening the socket for questions about processes: %w", err)
	}
	f := &finder{uid: os.Getuid(), redact: redact.New(redact.Options{Secrets: redact.SecretsOf(environ), Patterns: true})}
	turn := make(chan struct{}, 1)
	places := make(chan struct{}, maxQuestioner)
	go func() {
		for {
			conn, err := l.AcceptUnix()
			if err != nil {
				time.Sleep(connectPause) // as for want of memory, which may pass
				continue
			}
			if uid, err := peerUID(conn); err != nil || uid != 0 {
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
				answerQuestions(conn, func(inode uint64) owner {
					turn <- struct{}{}
					defer func() { <-turn }()
					return f.find(inode)
				})
			}()
		}
	}()
	return nil
}

// answerQuestions answers one who asks until he goes or says what is no
// question.
func answerQuestions(conn *net.UnixConn, find func(inode uint64) owner) {
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

// peerUID is the user at the other end: of a listener, when it began to listen.
func peerUID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var failure error
	if err := raw.Control(func(fd uintptr) { peer, failure = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	if failure != nil {
		return 0, os.NewSyscallError("getsockopt SO_PEERCRED", failure)
	}
	return int(peer.Uid), nil
}

// asker asks the first process of the agent's container. It is not safe for
// concurrent use.
type asker struct {
	conn    *net.UnixConn // nil = none
	uid     int           // of whoever answers
	number  uint64        // of the last question
	silence time.Time     // until then nobody is asked
}

// find asks who holds a socket. Nobody is asked about a socket of another user
// than the one who answers, so that he can speak for himself alone.
func (a *asker) find(s socket) owner {
	if time.Now().Before(a.silence) {
		return owner{}
	}
	if a.conn == nil {
		if err := a.connect(); err != nil {
			a.silence = time.Now().Add(connectPause)
			return owner{}
		}
	}
	if s.uid != a.uid {
		return owner{}
	}
	o, err := a.ask(s.inode)
	if err == nil {
		return o
	}
	a.silence = time.Now().Add(askPause)
	if !errors.Is(err, os.ErrDeadlineExceeded) { // late answers are passed over
		a.conn.Close()
		a.conn = nil
	}
	return owner{}
}

func (a *asker) connect() error {
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: whoseSocket, Net: "unixpacket"})
	if err != nil {
		return err
	}
	uid, err := peerUID(conn)
	if err == nil && uid == 0 {
		err = errors.New("root is not the agent")
	}
	if err != nil {
		conn.Close()
		return err
	}
	a.conn, a.uid = conn, uid
	return nil
}

func (a *asker) ask(inode uint64) (owner, error) {
	if err := a.conn.SetDeadline(time.Now().Add(askLimit)); err != nil {
		return owner{}, err
	}
	a.number++
	q := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, a.number), inode)
	if _, err := a.conn.Write(q); err != nil {
		return owner{}, err
	}
	buf := make([]byte, maxAnswer+1)
	for {
		n, err := a.conn.Read(buf)
		if err != nil {
			return owner{}, err
		}
		got, err := parseAnswer(buf[:n])
		if err != nil || got.Number > a.number {
			return owner{}, errors.Join(errors.New("no answer to a question"), err)
		}
		if got.Number == a.number {
			return got.owner, nil
		}
	}
}

// maxPID is the kernel's (proc(5), /proc/sys/kernel/pid_max).
const maxPID = 1 << 22

// parseAnswer reads what may come from anybody.
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
		a.owner = owner{}
	}
	a.Exe, a.Cmd = a.Exe[:min(len(a.Exe), maxExe)], a.Cmd[:min(len(a.Cmd), maxCmd)]
	return a, nil
}
