package terminal

import (
	"bytes"
	"slices"
)

// command is what a key asks of the Client and not of the program.
type command int

const (
	noCommand command = iota
	leave             // Ctrl-P Ctrl-Q, as docker has it
	suspend           // Ctrl-Z
)

// The keys that are ours, as terminals type them: the byte, and the forms of terminals
// that report keys with their modifiers.
var (
	ctrlP = [][]byte{{0x10}, []byte("\x1b[112;5u"), []byte("\x1b[27;5;112~")}
	ctrlQ = [][]byte{{0x11}, []byte("\x1b[113;5u"), []byte("\x1b[27;5;113~")}
	ctrlZ = [][]byte{{0x1a}, []byte("\x1b[122;5u"), []byte("\x1b[27;5;122~")}
)

// A pasted text is between these; no key in it is ours.
var pasteBegins, pasteEnds = []byte("\x1b[200~"), []byte("\x1b[201~")

// keys looks for our keys in what a person types. The zero value is ready; suspends says
// whether Ctrl-Z is one.
type keys struct {
	suspends bool
	pasting  bool
	held     []byte // Ctrl-P, which may be the beginning of leave
}

// take returns what is the program's of p, up to the first key of ours, the command of
// that key, and what comes behind it. A key whose bytes come in two pieces is the
// program's.
func (k *keys) take(p []byte) (program []byte, c command, rest []byte) {
	for len(p) > 0 {
		key := firstKey(p)
		p = p[len(key):]
		switch {
		case bytes.Equal(key, pasteBegins):
			k.pasting = true
		case bytes.Equal(key, pasteEnds):
			k.pasting = false
		case k.pasting:
		case k.held != nil && is(key, ctrlQ):
			k.held = nil
			return program, leave, p
		case k.held == nil && is(key, ctrlP):
			k.held = bytes.Clone(key)
			continue
		case k.suspends && is(key, ctrlZ):
			return append(program, k.release()...), suspend, p
		}
		program = append(append(program, k.release()...), key...)
	}
	return program, noCommand, nil
}

func (k *keys) release() []byte {
	held := k.held
	k.held = nil
	return held
}

func is(key []byte, forms [][]byte) bool {
	return slices.ContainsFunc(forms, func(f []byte) bool { return bytes.Equal(f, key) })
}

// firstKey is the first key in p: a byte, or a whole control sequence.
func firstKey(p []byte) []byte {
	if len(p) > 2 && p[0] == 0x1b && p[1] == '[' {
		for i := 2; i < len(p); i++ {
			if p[i] >= 0x40 && p[i] < 0x7f {
				return p[:i+1]
			}
			if p[i] < 0x20 {
				break
			}
		}
	}
	return bytes.Clone(p[:1])
}
