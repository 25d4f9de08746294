package worker

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each line that docs/worker.md shows is a request or a message, and its tables have every
// operation with its members, every type and every code.
func TestDocumentedLines(t *testing.T) {
	text, err := os.ReadFile("../../docs/worker.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	seen, types := map[Op]bool{}, 0
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			if strings.Contains(line, `"op"`) {
				r, err := Parse([]byte(line))
				if err != nil {
					t.Errorf("%s%v", line, err)
				}
				seen[r.Op] = true
				continue
			}
			decoder := json.NewDecoder(strings.NewReader(line))
			decoder.DisallowUnknownFields()
			var m Message
			if err := decoder.Decode(&m); err != nil {
				t.Errorf("%s%v", line, err)
				continue
			}
			if types++; !strings.Contains(page, "`"+m.Type+"`") {
				t.Errorf("no table has the type %s", m.Type)
			}
			var want, got bytes.Buffer
			encoder := json.NewEncoder(&got)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(m); err != nil || json.Compact(&want, []byte(line)) != nil || want.String() != strings.TrimSpace(got.String()) {
				t.Errorf("the page shows\n%sand the server writes\n%s", line, &got)
			}
		}
	}
	for op, names := range members {
		row := regexp.MustCompile("(?m)^\\| `" + string(op) + "` \\|.*$").FindString(page)
		if !seen[op] || row == "" {
			t.Errorf("no example or row of %s", op)
		}
		for _, name := range names {
			if !strings.Contains(row, "`"+name+"`") {
				t.Errorf("the row of %s lacks %s", op, name)
			}
		}
	}
	source, err := os.ReadFile("message.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`(?m)^\t\w+ +Code = "([a-z_]+)"`).FindAllSubmatch(source, -1)
	if len(codes) < 25 {
		t.Fatalf("found %d codes", len(codes))
	}
	for _, code := range codes {
		if !strings.Contains(page, "`"+string(code[1])+"`") {
			t.Errorf("the page lacks the code %s", code[1])
		}
	}
	if types < 10 {
		t.Errorf("%d messages", types)
	}
}
