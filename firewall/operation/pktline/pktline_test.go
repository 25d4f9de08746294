package pktline

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for text, want := range map[string]struct {
		kind Kind
		data string
		err  error
	}{
		"0000": {kind: Flush}, "0001": {kind: Delimiter}, "0002": {kind: End}, "0004": {}, "0006a\n": {data: "a\n"},
		"000Aabcdef": {data: "abcdef"},
		"":           {err: io.EOF}, "00": {err: io.ErrUnexpectedEOF}, "0003": {err: ErrLength}, "0009abc": {err: io.ErrUnexpectedEOF},
		"0008": {err: io.ErrUnexpectedEOF}, "00 8aaaa": {err: ErrLength}, "+008aaaa": {err: ErrLength}, "0x08aaaa": {err: ErrLength},
		"fff1" + strings.Repeat("x", 70000): {err: ErrLength}, "ffff" + strings.Repeat("x", 70000): {err: ErrLength},
	} {
		p, err := Read(strings.NewReader(text))
		if p.Kind != want.kind || string(p.Data) != want.data || !errors.Is(err, want.err) {
			t.Errorf("%.20q: %+v, %v, want %+v", text, p, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"0000", "0004", "0006a\n0000", "0003", "fff0", "FFF1", "00"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		from := bytes.NewReader(text)
		for {
			before := from.Len()
			p, err := Read(from)
			if err != nil {
				return
			}
			read := text[len(text)-before : len(text)-from.Len()]
			if p.Kind == Data && !bytes.EqualFold(Append(nil, string(p.Data))[:4], read[:4]) {
				t.Fatalf("%q is read as %q", read, p.Data)
			}
			if p.Kind == Data && !bytes.Equal(p.Data, read[4:]) || p.Kind != Data && len(read) != 4 {
				t.Fatalf("%q: %+v", read, p)
			}
		}
	})
}
