package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/diag"
)

// followPause is how often log -f looks for more.
const followPause = 200 * time.Millisecond

// log prints the audit log. Everybody may: it says why something was refused.
func (p *program) log(args []string) error {
	fs := newFlags("log")
	path := fs.String("audit", defaultAudit, "")
	follow := fs.Bool("f", false, "")
	asJSON := fs.Bool("json", false, "")
	rest, err := parseFlags(fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageError("log takes no argument")
	}
	show := func(line []byte) error {
		text := logLine(line)
		if *asJSON {
			text = string(line) + "\n"
		}
		_, err := io.WriteString(p.stdout, text)
		return err
	}
	if old, err := os.Open(*path + audit.RotatedSuffix); err == nil {
		before := logTail{file: old}
		err := before.lines(show)
		old.Close()
		if err != nil {
			return err
		}
	}
	f, err := os.Open(*path)
	if err != nil {
		return diag.WithHint(fmt.Errorf("reading the audit log: %w", err), "give the place that 'sbx-init run' was given: --audit FILE")
	}
	tail := logTail{file: f}
	defer func() { tail.file.Close() }()
	for {
		if err := tail.lines(show); err != nil || !*follow {
			return err
		}
		time.Sleep(followPause)
		next, err := tail.successor(*path)
		if err != nil {
			return err
		}
		if next == nil {
			continue
		}
		// What was written between the last look and the rotation.
		if err := tail.lines(show); err != nil {
			next.Close()
			return err
		}
		tail.file.Close()
		tail = logTail{file: next}
	}
}

// logTail reads a log that is still being written.
type logTail struct {
	file *os.File
	cut  []byte // the beginning of a line whose end is not written yet
}

// lines calls show with every whole line since the last call, without its end.
func (t *logTail) lines(show func([]byte) error) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := t.file.Read(buf)
		t.cut = append(t.cut, buf[:n]...)
		for {
			line, rest, found := bytes.Cut(t.cut, []byte("\n"))
			if !found {
				break
			}
			if err := show(line); err != nil {
				return err
			}
			t.cut = rest
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the audit log: %w", err)
		}
	}
}

// successor opens the file at path when it is another one; nil when it is not.
func (t *logTail) successor(path string) (*os.File, error) {
	now, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // between the renaming and the new file
	}
	if err != nil {
		return nil, fmt.Errorf("following the audit log: %w", err)
	}
	then, err := t.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("following the audit log: %w", err)
	}
	if os.SameFile(now, then) {
		return nil, nil
	}
	next, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("following the audit log: %w", err)
	}
	return next, nil
}

// logLine writes a record for people, on one line; "" for what is no record.
// Names come from the agent: nothing but visible ASCII is printed of them.
func logLine(line []byte) string {
	var r audit.Record
	if json.Unmarshal(line, &r) != nil || r.Verdict == "" {
		return ""
	}
	verdict := "allowed"
	if r.Verdict != firewall.Allow {
		verdict = "denied"
	}
	target := r.Name
	if r.Dst != "" {
		at := r.Dst
		if r.Port != 0 {
			at = net.JoinHostPort(r.Dst, strconv.Itoa(int(r.Port)))
		}
		target = strings.TrimSpace(target + " " + at)
	} else if r.Port != 0 {
		target = net.JoinHostPort(r.Name, strconv.Itoa(int(r.Port)))
	}
	if r.Proto != "" {
		target += "/" + string(r.Proto)
	}
	if target != "" {
		target += ": "
	}
	text := fmt.Sprintf("%s %-7s %-4s %s%s", r.Time.Local().Format(time.DateTime), verdict, r.Layer, target, r.Reason)
	if r.Exe != "" {
		text += fmt.Sprintf(" [%s, pid %d]", r.Exe, r.PID)
	}
	quoted := strconv.QuoteToASCII(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`) + "\n"
}
