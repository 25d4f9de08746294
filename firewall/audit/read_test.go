package audit

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
)

func deny(name, rule, reason string) Record {
	return Record{Verdict: firewall.Deny, Layer: LayerDNS, Name: name, Rule: rule, Reason: reason}
}

// readLog returns the records of the log at path, those of its older part first.
func readLog(path string) ([]Record, error) {
	var text bytes.Buffer
	err := Tail(context.Background(), path, false, func(line []byte) error {
		text.Write(append(line[:len(line):len(line)], '\n'))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return Read(&text)
}

func TestReadSkipsACutLastLineAndOverlongLines(t *testing.T) {
	log := `{"verdict":"deny","layer":"dns","name":"a.example","reason":"r"}` + "\n" +
		"not json\n" + strings.Repeat("x", 3*maxLineBytes) + "\n" +
		`{"verdict":"allow","layer":"dns","name":"b.example","reason":"r"}` + "\n" +
		`{"verdict":"deny","layer":"dns","na`
	records, err := Read(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 2 || records[0].Name != "a.example" || records[1].Name != "b.example" {
		t.Errorf("read %+v, want a.example and b.example", records)
	}
}
