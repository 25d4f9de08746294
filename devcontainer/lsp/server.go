package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/release"
)

// pending is how many messages are read ahead of the one that is answered.
const pending = 64

// Serve answers an editor until it says exit, or ends its stream between two messages.
// The error says that the streams failed, that a message was too large or no message, or
// that the editor left without saying shutdown.
//
// rules says which rules count for a configuration, and how much: it is asked before each
// check, because the files that say so change. Its error is shown to the person, once for each text.
func Serve(ctx context.Context, in io.Reader, out io.Writer, rules func(config string) (lint.Files, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	frames, failed := make(chan []byte, pending), make(chan error, 1)
	go func() {
		defer close(frames)
		r := bufio.NewReaderSize(in, maxHeader)
		for {
			body, err := readFrame(r)
			if err != nil {
				if err != io.EOF {
					failed <- err
				}
				return
			}
			select {
			case frames <- body:
			case <-ctx.Done():
				return
			}
		}
	}()
	s := &server{out: out, rules: rules, texts: map[string]*open{}, judged: map[string]*judgement{}, alone: map[string]bool{},
		unread: map[string]string{}}
	for {
		body, ok := s.next(ctx, frames)
		if !ok {
			break
		}
		if s.take(body); s.ended || s.broken != nil {
			break
		}
	}
	select {
	case err := <-failed:
		return err
	default:
	}
	switch {
	case s.broken != nil:
		return fmt.Errorf("answering the editor: %w", s.broken)
	case ctx.Err() != nil:
		return ctx.Err()
	case s.ended && !s.shutdown:
		return fmt.Errorf("the editor left without a shutdown request")
	}
	return nil
}

// server is the state of one session. One goroutine has it.
type server struct {
	out                          io.Writer
	rules                        func(config string) (lint.Files, error)
	unread                       map[string]string // what was shown of a choice of rules that cannot be read, by configuration
	broken                       error             // of out
	initialized, shutdown, ended bool
	inBytes                      bool // how characters are counted
	texts                        map[string]*open
	judged                       map[string]*judgement // by the name of the configuration
	stale                        []string              // configurations to judge again
	shown                        map[string]shown      // by URI
	total                        int                   // bytes of texts
	alone                        map[string]bool       // open files that no configuration reads
}

// next returns the message to answer. When none waits, what has changed is judged first.
func (s *server) next(ctx context.Context, frames <-chan []byte) (body []byte, ok bool) {
	if len(s.stale) > 0 {
		select {
		case body, ok = <-frames:
			return body, ok
		default:
			s.judgeStale()
		}
	}
	select {
	case body, ok = <-frames:
		return body, ok
	case <-ctx.Done():
		return nil, false
	}
}

func (s *server) send(message any) {
	if err := writeFrame(s.out, message); err != nil && s.broken == nil {
		s.broken = err
	}
}

// take answers one message.
func (s *server) take(body []byte) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		s.send(response(nil, nil, &replyError{codeParse, "this is no JSON-RPC message"}))
		return
	}
	if r.Method == "" {
		return // an answer to a request that this server does not make
	}
	result, failed := s.handle(r)
	if len(r.ID) == 0 || string(r.ID) == "null" {
		return // a notification has no answer
	}
	s.send(response(r.ID, result, failed))
}

// handle calls what a method stands for. A fault in it is the answer to this message and
// not the end of the session.
func (s *server) handle(r request) (result any, failed *replyError) {
	defer func() {
		if fault := recover(); fault != nil {
			result, failed = nil, &replyError{codeInternal, fmt.Sprint(fault)}
		}
	}()
	switch {
	case r.Method == "exit":
		s.ended = true
		return nil, nil
	case s.shutdown:
		return nil, &replyError{codeInvalidRequest, "the server is shut down"}
	case r.Method == "initialize":
		return s.initialize(r.Params)
	case !s.initialized:
		return nil, &replyError{codeNotInitialized, "initialize comes first"}
	}
	answer, ok := methods[r.Method]
	if !ok {
		return nil, &replyError{codeNoMethod, "there is no method " + r.Method}
	}
	return answer(s, r.Params)
}

// methods are those of the protocol that this server knows.
var methods = map[string]func(*server, json.RawMessage) (any, *replyError){
	"initialized":                      ignore,
	"$/setTrace":                       ignore,
	"$/cancelRequest":                  ignore, // answers are quick
	"workspace/didChangeConfiguration": ignore,
	"shutdown":                         func(s *server, _ json.RawMessage) (any, *replyError) { s.shutdown = true; return nil, nil },
	"textDocument/didOpen":             with((*server).didOpen),
	"textDocument/didChange":           with((*server).didChange),
	"textDocument/didClose":            with((*server).didClose),
	"textDocument/didSave":             func(s *server, _ json.RawMessage) (any, *replyError) { return s.filesChanged() },
	"workspace/didChangeWatchedFiles":  func(s *server, _ json.RawMessage) (any, *replyError) { return s.filesChanged() },
	"textDocument/hover":               with((*server).hover),
	"textDocument/completion":          with((*server).completion),
	"textDocument/codeAction":          with((*server).codeActions),
}

func ignore(*server, json.RawMessage) (any, *replyError) { return nil, nil }

// with reads the parameters of a method.
func with[P any](answer func(*server, P) (any, *replyError)) func(*server, json.RawMessage) (any, *replyError) {
	return func(s *server, raw json.RawMessage) (any, *replyError) {
		var params P
		if err := json.Unmarshal(raw, &params); err != nil {
			return nil, &replyError{codeInvalidParams, err.Error()}
		}
		return answer(s, params)
	}
}

// initialize agrees on what both sides can.
func (s *server) initialize(raw json.RawMessage) (any, *replyError) {
	var params struct {
		Capabilities struct {
			General struct {
				PositionEncodings []string `json:"positionEncodings"`
			} `json:"general"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		return nil, &replyError{codeInvalidParams, err.Error()}
	}
	if s.initialized {
		return nil, &replyError{codeInvalidRequest, "initialize came twice"}
	}
	s.initialized, s.shown = true, map[string]shown{}
	encoding := "utf-16"
	if slices.Contains(params.Capabilities.General.PositionEncodings, "utf-8") {
		s.inBytes, encoding = true, "utf-8"
	}
	type object = map[string]any
	return object{
		"capabilities": object{
			"positionEncoding":   encoding,
			"textDocumentSync":   object{"openClose": true, "change": 1, "save": object{"includeText": false}},
			"hoverProvider":      true,
			"completionProvider": object{"triggerCharacters": []string{`"`}},
			"codeActionProvider": object{"codeActionKinds": []string{"quickfix", fixAll}},
		},
		"serverInfo": object{"name": "sbx-devc", "version": release.Version},
	}, nil
}
