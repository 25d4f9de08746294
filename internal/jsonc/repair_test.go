package jsonc_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// sound is a text without a mistake, one value a line.
const sound = `{
  // what it is
  "image": "debian:12",
  "remoteUser": "dev", // nobody
  "capAdd": [
    "SYS_PTRACE",
    "NET_ADMIN"
  ],
  "containerEnv": {
    "A": "1",
    "B": "two"
  },
  "privileged": false,
  "mounts": [{"source": "x"}, {"source": "y"}],
  "path": "C:\\Users",
  "limit": 1024
}
`

func lines(t *testing.T, src string) []int {
	t.Helper()
	doc, findings := jsonc.Parse("f", []byte(src))
	if doc != nil {
		return nil
	}
	if len(findings) == 0 {
		t.Fatalf("neither a document nor an error:\n%s", src)
	}
	var out []int
	for _, f := range findings {
		out = append(out, f.Line)
	}
	return out
}

// slips are mistakes that can be repaired in one way; each says in which line it
// is found, counted from the line that it was made in, or -1 if it cannot be made
// in this one.
var slips = map[string]func(line string) (string, int){
	"no comma": func(l string) (string, int) {
		code, comment, _ := strings.Cut(l, " //")
		if !strings.HasSuffix(code, ",") {
			return l, -1
		}
		return strings.TrimSuffix(code, ",") + strings.TrimSuffix(" //"+comment, " //"), 1
	},
	"name without quotes": func(l string) (string, int) {
		before, rest, ok := strings.Cut(l, `": `)
		i := strings.LastIndex(before, `"`)
		if !ok || strings.TrimSpace(before[:max(i, 0)]) != "" {
			return l, -1
		}
		return before[:i] + before[i+1:] + ": " + rest, 0
	},
	"single quotes": func(l string) (string, int) {
		if strings.Count(l, `"`) < 2 || strings.Contains(l, `\`) {
			return l, -1
		}
		return strings.Replace(strings.Replace(l, `"`, "'", 1), `"`, "'", 1), 0
	},
	"a literal of another language": func(l string) (string, int) {
		if !strings.Contains(l, ": false") {
			return l, -1
		}
		return strings.Replace(l, "false", "False", 1), 0
	},
	"two commas": func(l string) (string, int) {
		if !strings.HasSuffix(l, ",") {
			return l, -1
		}
		return l + ",", 0
	},
	"bad escape":   func(l string) (string, int) { s := strings.Replace(l, `\\`, `\`, 1); return s, changed(l, s) },
	"tab inside":   func(l string) (string, int) { s := strings.Replace(l, `: "d`, ": \"\td", 1); return s, changed(l, s) },
	"hash in line": func(l string) (string, int) { s := strings.Replace(l, "//", "#", 1); return s, changed(l, s) },
}

func changed(a, b string) int {
	if a == b {
		return -1
	}
	return 0
}

// Several mistakes are all found in one go, and nothing else.
func TestSeveralMistakes(t *testing.T) {
	names := []string{}
	for name := range slips {
		names = append(names, name)
	}
	slices.Sort(names)
	random := rand.New(rand.NewPCG(1, 2))
	most := 0
	for range 5000 {
		text := strings.Split(sound, "\n")
		var want []int
		made := ""
		for range 1 + random.IntN(5) {
			i, name := random.IntN(len(text)), names[random.IntN(len(names))]
			line, at := slips[name](text[i])
			if at < 0 || slices.ContainsFunc(want, func(w int) bool { return w >= i && w <= i+2 }) {
				continue // one mistake a line, and none beside another
			}
			if at == 1 && strings.TrimSpace(text[i+1])[0] == '}' {
				continue // no mistake
			}
			text[i], want = line, append(want, i+1+at)
			made += fmt.Sprintf("%s in line %d; ", name, i+1)
		}
		slices.Sort(want)
		most = max(most, len(want))
		got := lines(t, strings.Join(text, "\n"))
		if !slices.Equal(got, want) {
			t.Fatalf("%sfound in lines %v, want %v:\n%s", made, got, want, strings.Join(text, "\n"))
		}
	}
	if most < 4 {
		t.Errorf("at most %d mistakes in one text", most)
	}
}

// One mistake is never two findings, whatever it is: each byte removed, doubled,
// replaced or joined by another in turn, and each line removed, doubled or moved.
func TestOneMistakeIsNotTwo(t *testing.T) {
	once := func(what, src string) {
		if found := lines(t, src); len(found) > 1 {
			t.Errorf("%s is found in lines %v", what, found)
		}
	}
	for i := range len(sound) {
		for _, by := range []string{"", sound[i:i+1] + sound[i:i+1], `"`, "'", ",", ":", "{", "}", "[", "]", "#", "/", "\\", "x", "1", " ", "\n"} {
			where := fmt.Sprintf("%q in the place of %q in line %d", by, sound[i:i+1], 1+strings.Count(sound[:i], "\n"))
			once(where, sound[:i]+by+sound[i+1:])
			once(where+", which stays", sound[:i]+by+sound[i:])
		}
	}
	all := strings.Split(sound, "\n")
	for i := range all {
		once(fmt.Sprintf("line %d removed", i+1), strings.Join(slices.Delete(slices.Clone(all), i, i+1), "\n"))
		for j := range all {
			if strings.ContainsAny(all[i][max(0, len(all[i])-1):], "[{") && strings.HasPrefix(all[j], "}") {
				continue // a comma is missing, and a bracket is: two
			}
			once(fmt.Sprintf("line %d doubled at %d", i+1, j+1), strings.Join(slices.Insert(slices.Clone(all), j, all[i]), "\n"))
		}
	}
}
