package operation

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// An entry allows all that it covers: tried with all requests over a few words.
func TestAttackOperationCoveredAndNotAllowed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	path := func() string {
		var b strings.Builder
		for range 1 + random.IntN(3) {
			b.WriteString("/" + pick("a", "b", "*", "%61"))
		}
		return b.String() + pick("", "", "/", "/**")
	}
	entry := func() string {
		text := "https://" + pick("h.example.com", "*.example.com", "*.h.example.com", "H.example.com") + " " +
			pick("GET", "POST", "GET,POST") + " " + path()
		if random.IntN(3) == 0 {
			text += " " + path()
		}
		return text
	}
	var paths []string
	for _, first := range []string{"", "a", "b", "c"} {
		paths = append(paths, "/"+first)
		if first == "" {
			continue
		}
		for _, second := range []string{"", "a", "b", "c"} {
			paths = append(paths, "/"+first+"/"+second)
			for _, third := range []string{"", "a", "b/", "b/c/a"} {
				if second != "" {
					paths = append(paths, "/"+first+"/"+second+"/"+third)
				}
			}
		}
	}
	covered := 0
	for range 6000 {
		wideText, narrowText := entry(), entry()
		wide, _ := Compile([]string{wideText})
		narrow, _ := Compile([]string{narrowText})
		if wide == nil || narrow == nil {
			t.Fatal(wideText, narrowText)
		}
		if !wide.Covers(narrowText) {
			continue
		}
		covered++
		for _, host := range []string{"h.example.com", "x.example.com", "x.h.example.com", "example.com"} {
			for _, method := range []string{"GET", "POST"} {
				for _, p := range paths {
					n := narrow.Opens(host, webPort) && ask(t, narrow, NewMemory(), method, host+p, "", nil).Allowed
					if n && !(wide.Opens(host, webPort) && ask(t, wide, NewMemory(), method, host+p, "", nil).Allowed) {
						t.Fatalf("%q covers %q, and %s %s%s is allowed by that alone", wideText, narrowText, method, host, p)
					}
				}
			}
		}
	}
	if covered < 100 {
		t.Errorf("only %d pairs cover each other", covered)
	}
}

// Attack: a project's file with hundreds of long entries, each of which is compared with each
// other one. None is read anew for that: reading takes memory.
func TestAttackEntriesThatTakeLongToCompare(t *testing.T) {
	compile := func(text string) *Rules {
		rules, problems := Compile([]string{text})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return rules
	}
	long := "https://api.example.com GET /" + strings.Repeat("a/", 200)
	wide, narrow := compile(long+"**"), compile(long+"b/**")
	if !wide.Includes(narrow) || narrow.Includes(wide) {
		t.Errorf("%v, %v", wide.Includes(narrow), narrow.Includes(wide))
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = wide.Includes(narrow), narrow.Includes(wide) }); n > 20 {
		t.Errorf("two comparisons take %v pieces of memory", n)
	}
}
