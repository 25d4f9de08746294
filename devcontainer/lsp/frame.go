package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds of a message.
const (
	maxMessage = 16 << 20 // bytes
	maxHeader  = 4 << 10  // bytes of one line
	maxHeaders = 32
)

// readFrame reads the body of one message. io.EOF says that the other side has ended
// between two messages.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length := -1
	for n := 0; ; n++ {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && n == 0 && len(line) == 0:
			return nil, io.EOF
		case errors.Is(err, bufio.ErrBufferFull) || n == maxHeaders:
			return nil, errors.New("a message's header is too long")
		case err != nil:
			return nil, fmt.Errorf("reading a message's header: %w", noEOF(err))
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		if name, value, ok := strings.Cut(text, ":"); ok && strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || length < 0 || length > maxMessage {
				return nil, fmt.Errorf("a message of %q bytes; at most %d are taken", strings.TrimSpace(value), maxMessage)
			}
		}
	}
	if length < 0 {
		return nil, errors.New("a message has no Content-Length")
	}
	var body strings.Builder // grows as the bytes arrive, whatever was announced
	if _, err := io.CopyN(&body, r, int64(length)); err != nil {
		return nil, fmt.Errorf("reading a message: %w", noEOF(err))
	}
	return []byte(body.String()), nil
}

// noEOF makes an end in the middle of a message an error.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// request is a request or, without an id, a notification.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// replyError is the error of a response. Codes are those of JSON-RPC 2.0 and LSP.
type replyError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *replyError) Error() string { return e.Message }

const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNotInitialized = -32002
)

// writeFrame writes a message.
func writeFrame(w io.Writer, message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = w.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...))
	return err
}

func notification(method string, params any) any {
	return struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params}
}

// response is the answer to a request; a result that is nil is null.
func response(id json.RawMessage, result any, failed *replyError) any {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	if failed != nil {
		return struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   *replyError     `json:"error"`
		}{"2.0", id, failed}
	}
	return struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, result}
}
