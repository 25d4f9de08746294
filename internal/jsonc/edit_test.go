package jsonc_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/org/claude-sandbox/internal/jsonc"
)

func parse(t *testing.T, src string) *jsonc.Document {
	t.Helper()
	doc, findings := jsonc.Parse("f", []byte(src))
	if doc == nil {
		t.Fatalf("%v in:\n%s", findings, src)
	}
	return doc
}

func TestAddMember(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"empty", `{}`, `{"n": 1}`},
		{"empty over lines", "{\n}", "{\n  \"n\": 1\n}"},
		{"one line", `{"a": 1}`, `{"a": 1, "n": 1}`},
		{"lines", "{\n\t\"a\": 1\n}", "{\n\t\"a\": 1,\n\t\"n\": 1\n}"},
		{"comment behind the last", "{\n  \"a\": 1 // one\n}", "{\n  \"a\": 1, // one\n  \"n\": 1\n}"},
		{"comments of both kinds", "{\n  \"a\": 1 /* x */ // one\n}", "{\n  \"a\": 1, /* x */ // one\n  \"n\": 1\n}"},
		{"trailing comma stays", "{\n  \"a\": 1, // one\n}", "{\n  \"a\": 1, // one\n  \"n\": 1,\n}"},
		{"line ends", "{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"n\": 1\r\n}\r\n"},
		{"comment below", "{\n  \"a\": 1\n  // done\n}", "{\n  \"a\": 1,\n  \"n\": 1\n  // done\n}"},
		{"byte order mark", "\xef\xbb\xbf{\n  \"a\": 1\n}", "\xef\xbb\xbf{\n  \"a\": 1,\n  \"n\": 1\n}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := parse(t, tt.src)
			got, applied := jsonc.Apply(doc.Src, doc.AddMember(doc.Root, "n", "1"))
			if string(got) != tt.want || !applied[0] {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestRemoveMember(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"only", `{"x": 1}`, `{}`},
		{"first", `{"x": 1, "a": 2}`, `{"a": 2}`},
		{"last", `{"a": 2, "x": 1}`, `{"a": 2}`},
		{"own line", "{\n  \"x\": 1,\n  \"a\": 2\n}", "{\n  \"a\": 2\n}"},
		{"last line", "{\n  \"a\": 2,\n  \"x\": 1\n}", "{\n  \"a\": 2\n}"},
		{"comments stay", "{\n  // of x\n  \"x\": 1, // too\n  \"a\": 2\n}", "{\n  // of x\n  // too\n  \"a\": 2\n}"},
		{"comma behind a comment", "{\n  \"x\": 1 /* , */ ,\n  \"a\": 2\n}", "{\n  /* , */\n  \"a\": 2\n}"},
		{"last of a line", "{\n  \"a\": 2, \"x\": 1,\n  \"b\": 3\n}", "{\n  \"a\": 2,\n  \"b\": 3\n}"},
		{"last of a line, line ends", "{\r\n  \"a\": 2, \"x\": 1,\r\n  \"b\": 3\r\n}", "{\r\n  \"a\": 2,\r\n  \"b\": 3\r\n}"},
		{"before a comment", "{\n  \"a\": 2,\n  \"x\": 1   // p\n}", "{\n  \"a\": 2\n  // p\n}"},
		{"comma between comments", "{\n  \"x\": 1 /* m */ , // n\n  \"a\": 2\n}", "{\n  /* m */ // n\n  \"a\": 2\n}"},
		{"comma of the one before", "{\n  \"a\": 2 /* m */ , // n\n  \"x\": 1\n}", "{\n  \"a\": 2 /* m */ // n\n}"},
		{"comma on a line of its own", "{\n  \"a\": 2 // m\n  ,\n  \"x\": 1\n}", "{\n  \"a\": 2 // m\n}"},
		{"only, with blanks", `{ "x": 1 }`, `{ }`},
		{"last, with blanks", `{ "a": 2 , "x": 1 }`, `{ "a": 2 }`},
		{"trailing comma", "{\n  \"a\": 2,\n  \"x\": 1,\n}", "{\n  \"a\": 2,\n}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := parse(t, tt.src)
			i := 0
			for doc.Root.Members[i].Name != "x" {
				i++
			}
			got, _ := jsonc.Apply(doc.Src, doc.RemoveMember(doc.Root, i))
			if string(got) != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestApplyMakesAGroupWholeOrNotAtAll(t *testing.T) {
	got, applied := jsonc.Apply([]byte("abcdef"), []jsonc.Edit{{1, 2, "B"}}, []jsonc.Edit{{4, 5, "E"}, {1, 3, "x"}}, []jsonc.Edit{{5, 6, "F"}})
	if string(got) != "aBcdeF" || !applied[0] || applied[1] || !applied[2] {
		t.Errorf("got %q, %v", got, applied)
	}
}

// An edit changes the one thing it is for, and nothing else's value.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,],}`, "\xef\xbb\xbf{\"a\":1}", "{ /*,*/ \"a\" /*,*/ : 1 /*,*/ , // ,\n \"b\": {} }",
		"{\"a\":{\"a\":1,\"a\":2}}", "{\n\"a\": [\n1 // x\n,\n2]\n}", "{\"a\":1//\n}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, _ := jsonc.Parse("f", src)
		if doc == nil {
			return
		}
		var edits [][]jsonc.Edit
		var wants []func(v any) any
		doc.Root.Walk(func(n *jsonc.Node) {
			if n.Pointer != "" { // the root is enough: nothing else moves
				return
			}
			switch n.Kind {
			case jsonc.Object:
				if n.Member("new") != nil {
					return
				}
				edits = append(edits, doc.AddMember(n, "new", `"v"`))
				wants = append(wants, func(v any) any { v.(map[string]any)["new"] = "v"; return v })
				for i, m := range n.Members {
					if i > 2 || count(n, m.Name) > 1 {
						continue
					}
					edits = append(edits, doc.RemoveMember(n, i))
					wants = append(wants, func(v any) any { delete(v.(map[string]any), m.Name); return v })
				}
			case jsonc.Array:
				edits = append(edits, doc.AddElement(n, `"v"`))
				wants = append(wants, func(v any) any { return append(v.([]any), "v") })
				for i := range min(3, len(n.Elements)) {
					edits = append(edits, doc.RemoveElement(n, i))
					wants = append(wants, func(v any) any {
						a := v.([]any)
						return append(append([]any{}, a[:i]...), a[i+1:]...)
					})
				}
			}
		})
		for i := range edits {
			got, applied := jsonc.Apply(src, edits[i])
			if !applied[0] {
				t.Fatalf("edit %v of %q was not made", edits[i], src)
			}
			if want := wants[i](value(t, src)); !reflect.DeepEqual(want, value(t, got)) {
				t.Fatalf("edit %v of %q gives %q, want %v", edits[i], src, got, want)
			}
		}
	})
}

func count(n *jsonc.Node, name string) (k int) {
	for _, m := range n.Members {
		if m.Name == name {
			k++
		}
	}
	return k
}

func value(t *testing.T, src []byte) any {
	t.Helper()
	std, err := hujson.Standardize([]byte(strings.TrimPrefix(string(src), "\xef\xbb\xbf") + "\n"))
	if err != nil {
		t.Fatalf("%v in %q", err, src)
	}
	var v any
	if err := json.Unmarshal(std, &v); err != nil {
		t.Skip(err) // a number out of range
	}
	return v
}
