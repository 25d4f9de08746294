package merge_test

import (
	"bytes"
	"testing"

	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/templates/merge"
)

// Whatever three texts hold, the merge ends, an update to the same version is
// the identity, what comes out is well formed, and merging it again changes
// nothing.
func FuzzJSONC(f *testing.F) {
	f.Add([]byte(`{"a":1}`), []byte(`{"a":2}`), []byte(`{"a":1, "b": 2} // x`))
	f.Add([]byte(`{"mounts":["target=/a"]}`), []byte(`{"mounts":["target=/a,x","target=/b"]}`),
		[]byte(`{"mounts":[ // c`+"\n"+`"target=/a"]}`))
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{}`), []byte(`{"a":{"b":1/*x*/}}`))
	f.Add([]byte(`{"a":1,"a":2}`), []byte(`{"a":[]}`), []byte("\xef\xbb\xbf{\"a\":1}\r\n"))
	f.Add([]byte(`[]`), []byte(`{}`), []byte(`[1]`))
	f.Fuzz(func(t *testing.T, base, template, mine []byte) {
		if same, conflicts, err := merge.JSONC(base, base, mine, merge.Neither); err == nil && (len(conflicts) > 0 || !bytes.Equal(same, mine)) {
			t.Fatalf("no identity: %v %q", conflicts, same)
		}
		for _, prefer := range []merge.Side{merge.Neither, merge.Mine, merge.Template} {
			merged, conflicts, err := merge.JSONC(base, template, mine, prefer)
			if err != nil || len(conflicts) > 0 {
				continue
			}
			if doc, findings := jsonc.Parse("", mine); doc != nil && merged != nil && !bytes.Equal(merged, template) {
				if again, _ := jsonc.Parse("", merged); again == nil {
					t.Fatalf("%v: %q is not well formed", findings, merged)
				}
			}
			if again, _, err := merge.JSONC(base, template, merged, merge.Mine); prefer == merge.Mine && err == nil && !bytes.Equal(again, merged) {
				t.Fatalf("merging again changes %q to %q", merged, again)
			}
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte("a\nc\n"), []byte("x\na\nb"))
	f.Add([]byte("a\r\n"), []byte("a\nb\n"), []byte("a\r\nc\r\n"))
	f.Fuzz(func(t *testing.T, base, template, mine []byte) {
		if len(base)+len(template)+len(mine) > 4096 {
			return
		}
		if same, conflicts := merge.Text(base, base, mine, merge.Neither); len(conflicts) > 0 || !bytes.Equal(same, mine) {
			t.Fatalf("no identity: %v %q", conflicts, same)
		}
		merged, conflicts := merge.Text(base, template, mine, merge.Mine)
		if len(conflicts) > 0 {
			t.Fatal("decided, and yet conflicts")
		}
		if again, conflicts := merge.Text(template, template, merged, merge.Neither); len(conflicts) > 0 || !bytes.Equal(again, merged) {
			t.Fatalf("merging again changes %q to %q", merged, again)
		}
	})
}

func FuzzDockerfile(f *testing.F) {
	f.Add([]byte(old), []byte(old+"\n# sbx:begin new\nRUN x\n# sbx:end new\n"), []byte("# mine\n"+old))
	f.Add([]byte("FROM x\n"), []byte(old), []byte("FROM x\r\nRUN y"))
	f.Add([]byte(old), []byte("# sbx:begin a\n# sbx:end a\n"), []byte(old[20:]))
	f.Fuzz(func(t *testing.T, base, template, mine []byte) {
		if len(base)+len(template)+len(mine) > 4096 {
			return
		}
		if same, conflicts, _ := merge.Dockerfile(base, base, mine, merge.Neither); len(conflicts) > 0 || !bytes.Equal(same, mine) {
			t.Fatalf("no identity: %v %q", conflicts, same)
		}
		merged, conflicts, _ := merge.Dockerfile(base, template, mine, merge.Mine)
		if len(conflicts) > 0 {
			t.Fatal("decided, and yet conflicts")
		}
		if again, conflicts, _ := merge.Dockerfile(template, template, merged, merge.Neither); len(conflicts) > 0 || !bytes.Equal(again, merged) {
			t.Fatalf("merging again changes %q to %q", merged, again)
		}
	})
}
