package resolver

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
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
	ours     *openQuestions
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
	wake      time.Time           // when listen looks what is over
	shared    bool                // several questions were open at a time
	asked     map[uint16]*inquiry // by id, with those that are over: what comes late for them is no forgery
	open      int                 // questions that are not over
	strangers int                 // replies that matched no question
}

// inquiry is one question on a line.
type inquiry struct {
	id        uint16              // random, and nobody else's on the line
	q         dnsmessage.Question // in the letters that were sent
	mixed     bool                // the question has upper-case letters
	deadline  time.Time
	otherCase bool // somebody replied in other letters
	over      bool
	done      func(result)
}

// result is what came of a question.
type result struct {
	reply []byte
	rcode dnsmessage.RCode
	err   error
}

var errNoReply = errors.New("no reply came in time")

// begin finds a line for a question, which the caller then sends. Unless it is
// abandoned, done is called once: by the line, which reads nothing else meanwhile,
// or by send. The reply that done gets is valid until it returns.
func (ls *lines) begin(ctx context.Context, key cacheKey, mixed bool, timeout time.Duration, done func(result)) (*line, *inquiry, error) {
	q, err := key.question(mixed)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	i := &inquiry{q: q, mixed: mixed && hasUpper(q.Name), deadline: now.Add(timeout), done: done}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.now
	if l == nil || now.Sub(l.made) > lineTime {
		conn, err := ls.dial(ctx)
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
	l.wakeAt(i.deadline)
	l.asked[i.id] = i
	ls.ours.add(askedAs(i.id, i.q))
	l.open++
	l.shared = l.shared || l.open > 1
	if len(l.asked) == lineQuestions {
		ls.now = nil
	}
	return l, i, nil
}

// send sends a question. When it cannot be sent it is over.
func (ls *lines) send(l *line, i *inquiry, edns bool) {
	buf := ls.buffers.Get().(*[maxUDPMessage]byte)
	defer ls.buffers.Put(buf)
	if _, err := l.conn.Write(appendAsked(buf[:0], i.id, i.q, edns)); err != nil {
		ls.fail(l, err)
	}
}

// abandon ends a question that nobody waits for any more.
func (ls *lines) abandon(l *line, i *inquiry) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !i.over {
		ls.end(l, i)
	}
}

// wakeAt has listen look what is over at a time, if it does not look before.
func (l *line) wakeAt(at time.Time) {
	if l.wake.IsZero() || at.Before(l.wake) {
		l.wake = at
		_ = l.conn.SetReadDeadline(at)
	}
}

// end ends a question. With its last one the line ends, unless it is busy: then
// it waits for further ones as long as it takes any.
func (ls *lines) end(l *line, i *inquiry) {
	i.over = true
	ls.ours.remove(askedAs(i.id, i.q))
	if l.open--; l.open > 0 {
		return
	}
	if until := l.made.Add(lineTime); l.shared && ls.now == l && time.Now().Before(until) {
		l.wakeAt(until)
		return
	}
	ls.close(l)
}

func (ls *lines) close(l *line) {
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
	i, r := ls.whose(l, message)
	if i != nil {
		i.done(r)
		return
	}
	if r.err != nil {
		ls.fail(l, r.err)
	}
}

// whose finds the question that a reply ends. An error without a question is
// the line's.
func (ls *lines) whose(l *line, message []byte) (*inquiry, result) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(message) < 2 {
		return nil, result{}
	}
	i := l.asked[binary.BigEndian.Uint16(message)]
	if i != nil && i.over {
		return nil, result{}
	}
	if i != nil {
		h, same, err := checkReply(message, i.id, i.q)
		learns := h.RCode == dnsmessage.RCodeSuccess || h.RCode == dnsmessage.RCodeNameError
		switch {
		case err != nil: // not from our upstream: its own may still come
		case learns && i.mixed && !ls.believes(same):
			i.otherCase = true
		case h.Truncated:
			ls.end(l, i)
			return i, result{err: errTruncated}
		default:
			ls.end(l, i)
			return i, result{message, h.RCode, nil}
		}
	}
	if l.strangers++; l.strangers == maxForged {
		return nil, result{err: errForged}
	}
	return nil, result{}
}

// expire ends the questions whose time is over, and a line that has none.
func (ls *lines) expire(l *line) {
	ls.mu.Lock()
	now := time.Now()
	if l.open == 0 {
		ls.close(l)
	}
	l.wake = time.Time{}
	var over []*inquiry
	for _, i := range l.asked {
		switch {
		case i.over:
		case !i.deadline.After(now):
			over = append(over, i)
		default:
			l.wakeAt(i.deadline)
		}
	}
	ls.endAll(l, over, errNoReply)
}

// fail ends all questions of a line.
func (ls *lines) fail(l *line, err error) {
	ls.mu.Lock()
	ls.retire(l)
	var over []*inquiry
	for _, i := range l.asked {
		if !i.over {
			over = append(over, i)
		}
	}
	ls.endAll(l, over, err)
}

// endAll ends questions with an error and unlocks ls.
func (ls *lines) endAll(l *line, over []*inquiry, err error) {
	for _, i := range over {
		ls.end(l, i)
	}
	ls.mu.Unlock()
	for _, i := range over {
		r := result{err: err}
		if i.otherCase && err == errNoReply {
			r.err = errForged // or the upstream repeats letters no more; over TCP it need not
		}
		i.done(r)
	}
}

func hasUpper(n dnsmessage.Name) bool {
	return bytes.ContainsAny(n.Data[:n.Length], "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}
