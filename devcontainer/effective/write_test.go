package effective

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestWriteText(t *testing.T) {
	origin := func(file string, line int) []Origin {
		return []Origin{{Source: "devcontainer.json", File: file, Line: line, Column: 3}}
	}
	r := &Result{
		Configuration: Object{{"image", "debian:12"}, {"mounts", []any{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}},
			{"name", strings.Repeat("x", 100)}},
		Origins: map[string][]Origin{"/mounts/10": origin("b.json", 9), "/mounts/2": origin("a.json", 2),
			"/image": origin("a.json", 1), "/name": nil},
		Folder:  "/workspaces/x",
		Run:     []string{"docker", "run", "--name", "it's", "-e", "A=", "debian:12", "sleep", "infinity"},
		Unknown: []string{"the label of the image"},
	}
	var out bytes.Buffer
	if err := r.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	want := `image             "debian:12"                                                                       a.json:1
mounts.2          "c"                                                                               a.json:2
mounts.10         "k"                                                                               b.json:9
name              "` + strings.Repeat("x", 78) + `…  
workspace folder  /workspaces/x

docker run \
  --name 'it'\''s' \
  -e A= debian:12 sleep infinity

not known:
  the label of the image
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	text, err := json.Marshal(r.Form())
	if err != nil || !strings.HasPrefix(string(text), `{"schemaVersion":1,"configuration":{"image":"debian:12",`) ||
		!strings.HasSuffix(string(text), `"compose":null,"unknown":["the label of the image"]}`) {
		t.Errorf("%s %v", text, err)
	}
}
