package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall/control"
)

// A command runs once for each line, and each answer is there before the next line comes.
func TestEachLineHasAnAnswer(t *testing.T) {
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	in, lines := io.Pipe()
	answers, out := io.Pipe()
	var problem bytes.Buffer
	code := make(chan int, 1)
	go func() {
		p := &program{stdin: in, stdout: out, stderr: &problem}
		code <- p.main([]string{"each", "canary", open.Addr().String(), "word"})
		out.Close()
	}()
	decoder := json.NewDecoder(answers)
	for _, want := range []int{1, 1, 0} { // there is a listener at first
		if want == 0 {
			open.Close()
		}
		if _, err := lines.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		var got control.Response
		if err := decoder.Decode(&got); err != nil || got.Code != want || got.Stderr == "" {
			t.Errorf("%+v, %v; want code %d", got, err, want)
		}
	}
	lines.Close()
	if got := <-code; got != 0 || problem.Len() > 0 {
		t.Errorf("ended with %d: %s", got, &problem)
	}
}

func TestEachRunsNoOtherCommand(t *testing.T) {
	for _, args := range [][]string{{}, {"each", "verify"}, {"run", "--policy", "x"}, {"keys"}} {
		var stderr bytes.Buffer
		p := &program{stdin: strings.NewReader("\n"), stdout: io.Discard, stderr: &stderr}
		if code := p.main(append([]string{"each"}, args...)); code != 64 {
			t.Errorf("%q: code %d: %s", args, code, &stderr)
		}
	}
}
