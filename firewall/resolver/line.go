package resolver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// lineQuestions and lineTime are how many questions are asked from one port,
	// and for how long further ones are. A forger has to guess the port and the id
	// of an open question, whoever else uses the port; but who knows the port, as
	// the agent can see it, needs the id alone. So a port is for questions of the
	// same moment, before anybody outside can be told of it.
	lineQuestions = 32
	lineTime      = 10 * time.Millisecond

	// maxForged is how many replies that match no question of ours arrive on a
	// line before its questions are asked over TCP, which a third party cannot
	// forge.
	maxForged = 16
)

// lines are the UDP sockets to one upstream. A question is asked from the port
// of others that are open, if they are as young, or else from a new one: under
// load, making and closing a socket costs as much as all the rest of a question.
// It is safe for concurrent use.
type lines struct {
	dial     func(ctx context.Context) (net.Conn, error)
	timeout  time.Duration
	believes func(same bool) bool // see order
	buffers  sync.Pool            // of *[maxUDPMessage]byte

	mu  sync.Mutex
	now *line // takes further questions; nil = none does
}

// line is one socket. It is connected, so that the kernel drops what another
// address sends, and its port is random.
type line struct {
	conn net.Conn
	made time.Time

	// Of lines' mutex.
	asked     map[uint16]*inquiry // by id, with those that are over: what comes late for them is no forgery
	open      int                 // questions that are not over
	strangers int                 // replies that matched no question
}

// inquiry is one question on a line.
type inquiry struct {
	id        uint16 // random, and nobody else's on the line
	q         dnsmessage.Question
	mixed     bool // the question has upper-case letters
	deadline  time.Time
	otherCase bool // somebody replied in other letters
	over      bool
	done      chan result // has room for the result
}

type result struct {
	reply []byte
	rcode dnsmessage.RCode
	err   error
}

// begin finds a line for a question. The caller sends the question, waits and
// then leaves the line.
func (ls *lines) begin(ctx context.Context, q dnsmessage.Question) (*line, *inquiry, error) {
	now := time.Now()
	i := &inquiry{q: q, mixed: hasUpper(q.Name), deadline: now.Add(ls.timeout), done: make(chan result, 1)}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.now
	if l == nil || now.Sub(l.made) > lineTime {
		conn, err := ls.dial(ctx)
		if err == nil {
			err = conn.SetReadDeadline(i.deadline)
		}
		if err != nil {
			return nil, nil, err
		}
		l = &line{conn: conn, made: now, asked: map[uint16]*inquiry{}}
		ls.now = l
		go ls.listen(l)
	}
	for {
		i.id = random16()
		if _, taken := l.asked[i.id]; !taken {
			break
		}
	}
	l.asked[i.id] = i
	l.open++
	if len(l.asked) == lineQuestions {
		ls.now = nil
	}
	return l, i, nil
}

// leave ends a question of the line. With its last one the line ends.
func (ls *lines) leave(l *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.open--; l.open > 0 {
		return
	}
	l.conn.Close()
	ls.retire(l)
}

// retire keeps the line from getting further questions.
func (ls *lines) retire(l *line) {
	if ls.now == l {
		ls.now = nil
	}
}

// listen takes what arrives on a line until it is closed.
func (ls *lines) listen(l *line) {
	buf := ls.buffers.Get().(*[maxUDPMessage]byte)
	defer ls.buffers.Put(buf)
	for {
		n, err := l.conn.Read(buf[:])
		switch {
		case err == nil:
			ls.take(l, buf[:n])
		case errors.Is(err, os.ErrDeadlineExceeded):
			ls.expire(l)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			ls.fail(l, err)
		}
	}
}

// take gives a reply to whose it is.
func (ls *lines) take(l *line, message []byte) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(message) < 2 {
		return
	}
	i := l.asked[uint16(message[0])<<8|uint16(message[1])]
	if i != nil && i.over {
		return
	}
	if i != nil {
		h, same, err := checkReply(message, i.id, i.q)
		learns := h.RCode == dnsmessage.RCodeSuccess || h.RCode == dnsmessage.RCodeNameError
		switch {
		case err != nil: // not from our upstream: its own may still come
		case learns && i.mixed && !ls.believes(same):
			i.otherCase = true
		case h.Truncated:
			i.end(result{err: errTruncated})
			return
		default:
			i.end(result{bytes.Clone(message), h.RCode, nil})
			return
		}
	}
	if l.strangers++; l.strangers == maxForged {
		ls.failAll(l, errForged)
	}
}

// expire ends the questions whose time is over.
func (ls *lines) expire(l *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	now := time.Now()
	next := now.Add(ls.timeout)
	for _, i := range l.asked {
		switch {
		case i.over:
		case i.deadline.After(now):
			if i.deadline.Before(next) {
				next = i.deadline
			}
		case i.otherCase: // or the upstream repeats letters no more
			i.end(result{err: errForged})
		default:
			i.end(result{err: fmt.Errorf("no reply within %v", ls.timeout)})
		}
	}
	_ = l.conn.SetReadDeadline(next)
}

// fail ends all questions of a line.
func (ls *lines) fail(l *line, err error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.failAll(l, err)
}

func (ls *lines) failAll(l *line, err error) {
	for _, i := range l.asked {
		if !i.over {
			i.end(result{err: err})
		}
	}
	ls.retire(l)
}

func (i *inquiry) end(r result) {
	i.over = true
	i.done <- r
}

func hasUpper(n dnsmessage.Name) bool {
	return strings.ContainsAny(n.String(), "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}
