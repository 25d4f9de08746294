package compose_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// load reads files in txtar-like pairs; the first ones without a "+" are the
// project's, the others can only be included.
func load(files ...string) *compose.Project {
	var docs []*jsonc.Document
	var names []string
	all := map[string]string{}
	for i := 0; i+1 < len(files); i += 2 {
		if name, extra := strings.CutPrefix(files[i], "+"); extra {
			all[name] = files[i+1]
			continue
		}
		docs = append(docs, jsonc.Text(files[i], []byte(files[i+1])))
		names = append(names, files[i])
	}
	return compose.Load(docs, names, func(name string) (*jsonc.Document, error) {
		text, ok := all[name]
		if !ok {
			return nil, os.ErrNotExist
		}
		return jsonc.Text(name, []byte(text)), nil
	}, nil)
}

// show writes a value in one line.
func show(n *compose.Node) string {
	switch {
	case n == nil:
		return "-"
	case n.Kind == compose.Map:
		var parts []string
		for _, m := range n.Members {
			parts = append(parts, m.Name+"="+show(m.Value))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case n.Kind == compose.List:
		var parts []string
		for _, i := range n.Items {
			parts = append(parts, show(i))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case n.Null:
		return "~"
	}
	return n.Text
}

func TestFilesLaidOverEachOther(t *testing.T) {
	for _, c := range []struct {
		name, want string
		files      []string
	}{
		{"scalars, lists, maps", "{image=b cap_add=[X Y] environment={A=1 B=3 C=~} command=[z]}", []string{
			"a.yml", "services:\n  s:\n    image: a\n    cap_add: [X]\n    environment: [A=1, B=2]\n    command: [x, y]\n",
			"b.yml", "services:\n  s:\n    image: b\n    cap_add: [Y]\n    environment: {B: 3, C: }\n    command: [z]\n"}},
		{"volumes by target", "{volumes=[/new:/b:ro ./a:/a]}", []string{
			"a.yml", "services: {s: {volumes: ['./old:/b', './a:/a']}}", "b.yml", "services: {s: {volumes: ['/new:/b:ro']}}"}},
		{"reset and override", "{cap_add=[Z]}", []string{
			"a.yml", "services: {s: {ports: ['1:1'], cap_add: [X]}}", "b.yml", "services:\n  s:\n    ports: !reset\n    cap_add: !override [Z]\n"}},
		{"extends in the file", "{privileged=true image=i extends=base}", []string{
			"a.yml", "services:\n  base: {privileged: true}\n  s: {image: i, extends: base}\n"}},
		{"extends another file", "{cap_add=[X Y] extends={file=sub/c.yml service=b}}", []string{
			"a.yml", "services:\n  s:\n    extends: {file: sub/c.yml, service: b}\n    cap_add: [Y]\n", "+sub/c.yml",
			"services: {b: {cap_add: [X]}}"}},
		{"paths of another file are relative to it",
			"{build={context=sub/app} volumes=[./sub/d:/d ./up:/up v:/v ./own:/own] env_file=[sub/e.env] extends={file=sub/c.yml service=b}}",
			[]string{
				"a.yml", "services: {s: {extends: {file: sub/c.yml, service: b}, volumes: ['./own:/own']}}", "+sub/c.yml",
				"services: {b: {build: {context: app}, volumes: ['./d:/d', '../up:/up', 'v:/v'], env_file: [e.env]}}"}},
		{"what extends names is relative to the first file", "{pid=host extends={file=base.yml service=b}}", []string{
			"a.yml", "services: {s: {}}", "sub/b.yml", "services: {s: {extends: {file: base.yml, service: b}}}", "+base.yml",
			"services: {b: {pid: host}}"}},
		{"what another file has besides", "{image=i cap_add=[X] extends={file=c.yml service=b}}", []string{
			"a.yml", "services:\n  s: {extends: {file: c.yml, service: b}}\n  t: {image: i}\n", "+c.yml",
			"services: {b: {image: i, cap_add: [X]}, dev: {extends: b}, back: {extends: {file: a.yml, service: t}}}"}},
		{"one file in two ways", "{image=i cap_add=[X Y] extends={file=c.yml service=b}}", []string{
			"a.yml", "services:\n  r: {extends: {file: c.yml, service: dev}}\n  s: {extends: {file: c.yml, service: b}, cap_add: [Y]}\n", "+c.yml",
			"services: {dev: {extends: b}, b: {image: i, cap_add: [X]}}"}},
		{"an included file is its own folder", "{build=sub}",
			[]string{"a.yml", "include: [sub/c.yml]\n", "+sub/c.yml", "services: {s: {build: .}}"}},
		{"equal items once, devices by target", "{cap_add=[X Y] devices=[/dev/b:/dev/x]}", []string{
			"a.yml", "services: {s: {cap_add: [X], devices: ['/dev/a:/dev/x']}}", "b.yml",
			"services: {s: {cap_add: [X, Y], devices: ['/dev/b:/dev/x']}}"}},
		{"include", "{image=i}", []string{"a.yml", "include: [more.yml]\n", "+more.yml", "services: {s: {image: i}}"}},
		{"anchors", "{b=2 a=1}", []string{"a.yml", "x-base: &base {a: 1, b: 1}\nservices:\n  s:\n    <<: *base\n    b: 2\n"}},
		{"variables", "{image=x:1 user=u labels={p=$P} hostname=${NONE} domainname=dollar$ command=def}", []string{
			"a.yml",
			"services:\n  s: {image: 'x:${V}', user: '${U:-u}', labels: {p: '$$P'}, hostname: '${NONE}', domainname: 'dollar$$', command: " +
				"'${E:-${F-def}}'}\n", "+.env", "# c\nV=1\nE=\n"}},
	} {
		p := load(c.files...)
		if len(p.Problems) > 0 {
			t.Errorf("%s: %v", c.name, p.Problems)
		}
		s := p.Service("s")
		if s == nil {
			t.Errorf("%s: no service", c.name)
		} else if got := show(s.Node); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A value keeps its place in the file that it comes from.
func TestPlaces(t *testing.T) {
	a := "services:\n  s:\n    cap_add:\n      - SYS_ADMIN # why\n      - 'NET_ADMIN'\n    environment:\n      - TOKEN=x\n"
	b := "services:\n  s:\n    volumes:\n      - \"ü:/x\"\n      - {type: bind, source: /a b, target: /c}\n    privileged: true\n"
	p := load("a.yml", a, "b.yml", b)
	s := p.Service("s")
	at := func(n *compose.Node) string { return n.Doc.File + " " + string(n.Doc.Src[n.Start:n.End]) }
	for got, want := range map[string]string{
		at(s.Get("cap_add").Items[0]):                "a.yml SYS_ADMIN",
		at(s.Get("cap_add").Items[1]):                "a.yml 'NET_ADMIN'",
		at(s.Get("environment").Variables()[0].Node): "a.yml TOKEN=x",
		at(s.Get("volumes").Items[0]):                `b.yml "ü:/x"`,
		at(s.Get("volumes").Items[1].Get("source")):  "b.yml /a b",
		at(s.Get("privileged")):                      "b.yml true",
		fmt.Sprint(string(a[s.Start:s.End])):         "s",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNotCompose(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'i'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	for name, src := range map[string]string{"list": "- a\n", "text": "hello", "broken": "services:\n  a: [\n",
		"tab": "services:\n\ta: b\n", "empty": "",
		"bomb": bomb, "deep": strings.Repeat("[", 500) + strings.Repeat("]", 500), "large": strings.Repeat("#", compose.MaxSize+1)} {
		if p := load("a.yml", src); len(p.Problems) != 1 || p.Root != nil {
			t.Errorf("%s: %+v", name, p.Problems)
		}
	}
	if p := load("a.yml", "include: [gone.yml]\n"); len(p.Unread) != 1 {
		t.Error("a file that is not there goes unnoticed")
	}
}

// What Compose refuses of well-formed files, docker-compose refuses, too, and
// what it takes is not refused. A key that only newer versions know is left alone.
func TestRefused(t *testing.T) {
	program := testenv.Program(t, "docker-compose")
	for _, c := range []struct{ name, src, want string }{
		{"nothing to start from", "services:\n  a: {command: x}\n", "the service a has neither an image nor a build"},
		{"services as a list", "services:\n  - a\n", "services is a map by name"},
		{"a slip in a key", "services:\n  a: {image: i, prots: ['1']}\n", `a service has no "prots"; did you mean ports?`},
		{"a brace that nobody closes", "services:\n  a: {image: '${B'}\n", `"${B" is no variable; write $$ for a dollar sign`},
		{"no such service to extend", "services:\n  a: {image: i, extends: b}\n", "there is no service b to extend"},
		{"extends itself", "services:\n  a: {image: i, extends: b}\n  b: {image: i, extends: a}\n", "the service a extends itself"},
		{"depends on nobody", "services:\n  a: {image: i, depends_on: [b]}\n", "the service a depends on b, and there is no such service"},
		{"another's network, which there is not", "services:\n  a: {image: i, network_mode: 'service:b'}\n",
			"network_mode names the service b, and there is no such"},
		{"a volume that nobody declares", "services:\n  a: {image: i, volumes: ['v:/v']}\n",
			"the volume v is not declared under volumes; write ./v for a folder"},
		{"a health check without its first word", "services:\n  a: {image: i, healthcheck: {test: [curl, -f, x]}}\n",
			`a health check begins with CMD, CMD-SHELL or NONE, not with "curl"`},
		{"a time without a unit", "services:\n  a: {image: i, healthcheck: {test: 'true', interval: 10}}\n", "interval needs a unit: write 10s"},
		{"a health check that is right",
			"services:\n  a: {image: i, healthcheck: {test: [CMD, x], interval: 1m30s, timeout: '10s'}}\n" +
				"  b: {image: i, healthcheck: {test: 'a b'}}\n", ""},
		{"two kinds of networks", "services:\n  a: {image: i, network_mode: host, networks: [n]}\nnetworks: {n: }\n",
			"the service a has both network_mode and networks"},
		{"a circle",
			"services:\n  a: {image: i, depends_on: [b]}\n  b: {image: i, depends_on: {c: {condition: service_started}}}\n" +
				"  c: {image: i, depends_on: [a]}\n", "c depends on a, which waits for it in turn"},
		{"no circle", "services:\n  a: {image: i, depends_on: [b, c]}\n  b: {image: i, depends_on: [c]}\n  c: {image: i}\n", ""},
		{"a protocol that is none", "services:\n  a: {image: i, ports: ['127.0.0.1:80:80/tpc']}\n",
			`"127.0.0.1:80:80/tpc" is no port; write ADDRESS:HOST:CONTAINER/PROTOCOL; only CONTAINER is needed`},
		{"an address and one port", "services:\n  a: {image: i, ports: ['127.0.0.1:80']}\n",
			`"127.0.0.1:80" is no port; write ADDRESS:HOST:CONTAINER/PROTOCOL; only CONTAINER is needed`},
		{"a protocol at both ends", "services:\n  a: {image: i, ports: ['80/udp:80/udp']}\n",
			`"80/udp:80/udp" is no port; the protocol is written once, at the end: write 80:80/udp`},
		{"two ports in one text", "services:\n  a: {image: i, ports: ['80, 90:90']}\n",
			`"80, 90:90" is no port; write each port as an element of its own`},
		{"ports in all forms",
			"services:\n  a: {image: i, ports: [1, '1-2', '80:80', '1-2:3-4', '127.0.0.1:8:8', '127.0.0.1::5', " +
				"'127.0.0.1:5-6:5-6', '6:6/udp']}\n", ""},
		{"all of them right",
			"services:\n  a: {image: 'i:${B:-1}', build: ., command: 'echo $$1', volumes: ['v:/v', './x:/x', '/y', '~/z:/z'], depends_on: [b], " +
				"ports: ['1']}\n  b: {build: .}\nvolumes: {v: }\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := load("a.yml", c.src)
			problems := append(p.Problems, p.Refused()...)
			got := ""
			if len(problems) > 0 {
				got = problems[0].Message
			}
			if got != c.want || len(problems) > 1 {
				t.Errorf("got %+v, want %q", problems, c.want)
			}
			file := filepath.Join(t.TempDir(), "a.yml")
			if err := os.WriteFile(file, []byte(c.src), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(program, "-f", file, "config", "-q").CombinedOutput(); (err == nil) != (c.want == "") {
				t.Errorf("docker-compose says %v: %s", err, out)
			}
		})
	}
}

// What the engine refuses of a service is found before it is asked.
func TestRefusedByTheEngine(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"extra_hosts: [host.docker.internal]": "the address of host.docker.internal is missing; " +
			"write host.docker.internal:host-gateway for the host",
		"network_mode: 'service:b', ports: ['127.0.0.1:80:80']":  "the service a has the network of another; give ports to that one",
		"network_mode: 'container:x', hostname: h":               "the service a has the network of another; give hostname to that one",
		"network_mode: 'service:b', extra_hosts: ['h:1.2.3.4']":  "the service a has the network of another; give extra_hosts to that one",
		"ports: ['[::1]:8:8/TCP', '${P}:80', '::1:8:8']":         "",
		"ports: ['localhost:8:8']":                               `"localhost:8:8" is no port; the address is a number: write 127.0.0.1:8:8`,
		"network_mode: host, ports: ['127.0.0.1:80:80']":         "",
		"extra_hosts: ['h:host-gateway', 'i=1.2.3.4', '${H}']":   "",
		"network_mode: 'service:b', ports: [], environment: [A]": "",
	} {
		problems := load("a.yml", "services:\n  a: {image: i, "+src+"}\n  b: {image: i}\n").Refused()
		got := ""
		if len(problems) > 0 {
			got = problems[0].Message
		}
		if got != want || len(problems) > 1 {
			t.Errorf("%s: got %+v, want %q", src, problems, want)
		}
	}
}

// The time for a file of somebody else's with many entries grows no faster than the file.
func TestManyOfThem(t *testing.T) {
	var env strings.Builder
	env.WriteString("services:\n  s:\n    image: i\n    environment:\n")
	for i := range 60000 {
		fmt.Fprintf(&env, "      A%d: x\n", i)
	}
	p := load("a.yml", env.String(), "b.yml", env.String())
	if n := len(p.Service("s").Get("environment").Members); n != 60000 || p.Service("s").Get("environment").Get("A59999").String() != "x" {
		t.Error(n)
	}

	var b strings.Builder
	b.WriteString("services:\n  s0: {image: i}\n")
	const length = 5000
	for i := 1; i <= length; i++ {
		fmt.Fprintf(&b, "  s%d: {extends: s%d}\n", i, i-1)
	}
	if p = load("a.yml", b.String()); len(p.Problems) > 0 || p.Service(fmt.Sprint("s", length)).Get("image").String() != "i" {
		t.Error(p.Problems)
	}
}

func TestBuildAndWords(t *testing.T) {
	p := load("a.yml",
		"services:\n  a: {build: ./x}\n  b: {build: {dockerfile: D, target: t}}\n  c: {image: i, command: 'sleep  9', entrypoint: [a, 'b c']}\n")
	for name, want := range map[string]string{"a": "./x Dockerfile  true", "b": ". D t true", "c": "   false"} {
		context, file, target, ok := p.Service(name).Build()
		if got := fmt.Sprint(context, " ", file, " ", target, " ", ok); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	c := p.Service("c")
	if got := strings.Join(append(c.Get("entrypoint").Words(), c.Get("command").Words()...), "|"); got != "a|b c|sleep|9" {
		t.Error(got)
	}
}

// The Compose files of real dev containers are read.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob(testenv.Corpus(t, "corpus") + "/*/src/*/.devcontainer/docker-compose.y*ml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if p := load(filepath.Base(file), string(src)); len(p.Problems) > 0 || len(p.Services()) == 0 {
			t.Errorf("%s: %d services, %+v", file, len(p.Services()), p.Problems)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{"services:\n  s: &a\n    extends: {service: s}\n    volumes: ['a:b', {target: c}]\n  b: *a\n",
		"include: [a.yml]\n", "a: !reset\n<<: [{b: c}]\n", "services: {s: {environment: ['A=${B:-${C}}', D]}}"} {
		f.Add(s, "services: {s: {environment: {A: 1}}}")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		p := load("a.yml", a, "b.yml", b, "+.env", b)
		var walk func(n *compose.Node)
		walk = func(n *compose.Node) {
			if n == nil {
				return
			}
			if n.Doc == nil || n.Start < 0 || n.Start > n.End || n.End > len(n.Doc.Src) {
				t.Fatalf("a value at %d to %d", n.Start, n.End)
			}
			for _, m := range n.Members {
				if m.Start < 0 || m.Start > m.End {
					t.Fatalf("a name at %d to %d", m.Start, m.End)
				}
				walk(m.Value)
			}
			for _, i := range n.Items {
				walk(i)
			}
		}
		walk(p.Root)
		for _, s := range p.Services() {
			s.Build()
			s.Get("environment").Variables()
		}
		for _, problem := range p.Problems {
			if problem.Start < 0 || problem.Start > problem.End || problem.End > len(problem.Doc.Src) {
				t.Fatalf("a problem at %d to %d", problem.Start, problem.End)
			}
		}
	})
}

// A finding at a map of a flow list ends with the map.
func TestPlacesOfFlowMaps(t *testing.T) {
	for _, list := range []string{
		`[{type: bind, source: /a}, {type: bind, source: /b}]`, `[ {source: "/}a"}, {source: '/]'} ]`, `[{source: it's}, [x, {y: z}]]`,
		`[{source: a, tmpfs: {size: 1}}]`,
	} {
		src := "services:\n  a:\n    image: x\n    volumes: " + list + "\n"
		p := compose.Load([]*jsonc.Document{jsonc.Text("c.yaml", []byte(src))}, []string{"c.yaml"}, nil, nil)
		for _, n := range append(p.Service("a").Get("volumes").Items, p.Service("a").Get("volumes")) {
			got := src[n.Start:n.End]
			if open, end := got[0], got[len(got)-1]; open == '{' &&
				(end != '}' || strings.Count(got, "{") != strings.Count(got, "}")-strings.Count(got, `"/}`)) ||
				open == '[' && end != ']' {
				t.Errorf("%s: the place is %q", list, got)
			}
		}
	}
}

// Compose merges the documents of a file; we read one, so that further ones are no Compose file.
func TestSecondDocument(t *testing.T) {
	const first = "services:\n  a: {image: i}\n"
	for src, problems := range map[string]int{first: 0, "---\n" + first: 0, first + "---\n": 0, first + "...\n": 0,
		first + "---\nservices:\n  a: {privileged: true}\n": 1} {
		if p := load("a.yml", src); len(p.Problems) != problems {
			t.Errorf("%q: %+v", src, p.Problems)
		}
	}
}
