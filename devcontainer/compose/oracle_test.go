package compose_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v4"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// oracleEnv are the variables of the host for both readers.
var oracleEnv = map[string]string{"FROM_HOST": "of the host", "HOME": "/home/x", "HOST_EMPTY": ""}

// TestEqualsComposeGo compares with Docker Compose's own library. Our project,
// written as one file without extends and include, must be the same to it as
// the files that it came from: what is merged, filled in and moved by us is then
// what Compose makes of them. Lists are counted in addition, because the library
// would drop doubles of ours.
func TestEqualsComposeGo(t *testing.T) {
	cases, err := filepath.Glob("testdata/oracle/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for _, f := range archive.Files {
				name := filepath.Join(dir, filepath.FromSlash(f.Name))
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, f.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			// The comment names the project's files, and after "differs:" why the
			// readers differ.
			names, why, differs := strings.Cut(strings.TrimSpace(string(archive.Comment)), "differs:")
			got := compareWithComposeGo(t, dir, strings.Fields(names))
			switch {
			case got != "" && !differs:
				t.Error(got)
			case got == "" && differs:
				t.Errorf("there is no difference any more: %s", strings.TrimSpace(why))
			}
		})
	}
}

// The Compose files of real dev containers are the same to both.
func TestCorpusEqualsComposeGo(t *testing.T) {
	var files []string
	err := filepath.WalkDir(testenv.Corpus(t, "corpus"), func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(filepath.Base(file), "compose") && strings.Contains(filepath.Ext(file), "y") {
			files = append(files, file)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(file))), func(t *testing.T) {
			if got := compareWithComposeGo(t, filepath.Dir(file), []string{filepath.Base(file)}); got != "" {
				t.Errorf("%s: %s", file, got)
			}
		})
	}
}

// compareWithComposeGo loads files of dir with both and says how the results
// differ, "" when they do not.
func compareWithComposeGo(t *testing.T, dir string, names []string) string {
	t.Helper()
	var docs []*jsonc.Document
	for _, name := range names {
		src, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, jsonc.Text(name, src))
	}
	ours := compose.Load(docs, names, func(name string) (*jsonc.Document, error) {
		src, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		return jsonc.Text(name, src), err
	}, oracleEnv)
	home, err := filepath.Abs(filepath.Join(dir, filepath.FromSlash(path.Dir(names[0]))))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, name := range names {
		files = append(files, filepath.Join(dir, filepath.FromSlash(name)))
	}
	want, refused := loadComposeGo(t, home, files)
	if problems := append(slices.Clip(ours.Problems), ours.Refused()...); refused != nil || len(problems) > 0 {
		if (refused != nil) != (len(problems) > 0) {
			return fmt.Sprintf("Compose says %v, we say %+v", refused, problems)
		}
		return ""
	}
	if len(ours.Unread) > 0 {
		return fmt.Sprintf("not read: %+v", ours.Unread)
	}
	flat := filepath.Join(t.TempDir(), "flat.yml")
	if err := os.WriteFile(flat, flatten(t, ours.Root), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := loadComposeGo(t, home, []string{flat})
	if err != nil {
		return fmt.Sprintf("Compose refuses what we made: %v", err)
	}
	var out []string
	g, w := asMap(t, got), asMap(t, want)
	difference("", g, w, &out)
	for name, service := range want.Services {
		counts(ours.Service(name), service, &out)
		env := map[string]any{}
		for _, v := range ours.Environment(ours.Service(name), func(file compose.EnvFileName) *jsonc.Document {
			if src, err := os.ReadFile(filepath.Join(home, filepath.FromSlash(file.Name))); err == nil {
				return jsonc.Text(file.Name, src)
			}
			return nil
		}) {
			env[v.Name] = v.Value
		}
		theirs := map[string]any{}
		for name, value := range service.Environment {
			if value != nil { // otherwise the container gets none
				theirs[name] = *value
			}
		}
		difference("/"+name+"/environment", env, theirs, &out)
		difference("/"+name+"/rights", ourRights(ours, name, home), theirRights(service), &out)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func loadComposeGo(t *testing.T, home string, files []string) (*types.Project, error) {
	t.Helper()
	var env []string
	for name, value := range oracleEnv {
		env = append(env, name+"="+value)
	}
	options, err := cli.NewProjectOptions(files, cli.WithEnv(env), cli.WithName("p"), cli.WithWorkingDirectory(home),
		cli.WithEnvFiles(), cli.WithDotEnv, cli.WithProfiles([]string{"*"}),
		cli.WithLoadOptions(func(o *loader.Options) { o.SkipNormalization = true }))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(context.Background())
}

// flatten writes our project as one file.
func flatten(t *testing.T, root *compose.Node) []byte {
	t.Helper()
	var convert func(n *compose.Node, at string) *yaml.Node
	convert = func(n *compose.Node, at string) *yaml.Node {
		switch {
		case n.Kind == compose.Map:
			out := &yaml.Node{Kind: yaml.MappingNode}
			for _, m := range n.Members {
				if at == "/" && m.Name == "include" || m.Name == "extends" && strings.HasPrefix(at, "/services/") && strings.Count(at, "/") == 3 {
					continue
				}
				out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: m.Name, Style: yaml.DoubleQuotedStyle},
					convert(m.Value, at+m.Name+"/"))
			}
			return out
		case n.Kind == compose.List:
			out := &yaml.Node{Kind: yaml.SequenceNode}
			for _, item := range n.Items {
				out.Content = append(out.Content, convert(item, at+"-/"))
			}
			return out
		case n.Null:
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
		case n.Type() == "str":
			return &yaml.Node{Kind: yaml.ScalarNode, Value: strings.ReplaceAll(n.Text, "$", "$$"), Style: yaml.DoubleQuotedStyle}
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strings.ReplaceAll(n.Text, "$", "$$")}
	}
	out, err := yaml.Marshal(convert(root, "/"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// asMap is a project as JSON has it.
func asMap(t *testing.T, p *types.Project) any {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// difference adds the places where got is not want.
func difference(at string, got, want any, out *[]string) {
	a, aMap := got.(map[string]any)
	b, bMap := want.(map[string]any)
	if !aMap || !bMap {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		if string(g) != string(w) {
			*out = append(*out, fmt.Sprintf("%s: ours %s, Compose's %s", at, g, w))
		}
		return
	}
	for name := range a {
		difference(at+"/"+name, a[name], b[name], out)
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			difference(at+"/"+name, nil, b[name], out)
		}
	}
}

// ourRights are the rights that we see in a service, by kind.
func ourRights(p *compose.Project, name, home string) any {
	out := map[string]any{}
	add := func(kind string, value ...any) {
		list, _ := out[kind].([]string)
		out[kind] = append(list, fmt.Sprint(value...))
		slices.Sort(out[kind].([]string))
	}
	for _, r := range rights.List(rights.Sources{Config: jsonc.Text("devcontainer.json", nil), ByCompose: true, Compose: p,
		Service: p.Service(name)}) {
		switch {
		// not in ServiceConfig's lists
		case r.Next || r.Key == "networks" || r.Key == "volumes_from" || r.Key == "devices" && (r.Value == "" || r.Value == "all"):
		case r.Kind == rights.Mounted:
			m := r.Mount
			if rest, ok := strings.CutPrefix(m.Source, "~"); ok {
				user, _ := os.UserHomeDir()
				m.Source = user + rest
			} else if m.Type == "bind" && !path.IsAbs(m.Source) {
				m.Source = filepath.Join(home, m.Source)
			}
			add(r.Key, m.Type, " ", path.Clean(m.Source), " ", path.Clean(m.Target), " ", m.ReadOnly)
		case r.Kind == rights.Device:
			source, _, _ := strings.Cut(r.Value, ":")
			add("devices", source)
		case r.Kind == rights.Namespace || r.Kind == rights.Capability || r.Kind == rights.SecurityOpt || r.Kind == rights.User ||
			r.Kind == rights.Privileged:
			add(r.Key, r.Value)
		}
	}
	return out
}

// theirRights are the same in the library's words.
func theirRights(s types.ServiceConfig) any {
	out := map[string]any{}
	add := func(kind string, values ...string) {
		for _, value := range values {
			if value != "" || kind == "privileged" {
				list, _ := out[kind].([]string)
				out[kind] = append(list, value)
				slices.Sort(out[kind].([]string))
			}
		}
	}
	if s.Privileged {
		add("privileged", "")
	}
	for _, c := range s.CapAdd {
		add("cap_add", rights.CapabilityName(c))
	}
	add("security_opt", s.SecurityOpt...)
	add("network_mode", s.NetworkMode)
	add("pid", s.Pid)
	add("ipc", s.Ipc)
	add("uts", s.Uts)
	add("userns_mode", s.UserNSMode)
	add("cgroup", s.Cgroup)
	add("user", s.User)
	for _, d := range s.Devices {
		add("devices", d.Source)
	}
	for _, rule := range s.DeviceCgroupRules {
		source, _, _ := strings.Cut(rule, ":")
		add("devices", source)
	}
	for _, v := range s.Volumes {
		add("volumes", fmt.Sprint(v.Type, " ", path.Clean(v.Source), " ", path.Clean(v.Target), " ", v.ReadOnly))
	}
	for _, v := range s.Tmpfs {
		add("tmpfs", fmt.Sprint("tmpfs . ", strings.Split(v, ":")[0], " ", false))
	}
	return out
}

// counts compares how many elements the lists of a service have.
func counts(ours *compose.Service, theirs types.ServiceConfig, out *[]string) {
	for key, want := range map[string]int{"volumes": len(theirs.Volumes), "devices": len(theirs.Devices), "cap_add": len(theirs.CapAdd),
		"cap_drop": len(theirs.CapDrop), "security_opt": len(theirs.SecurityOpt), "env_file": len(theirs.EnvFiles), "tmpfs": len(theirs.Tmpfs),
		"group_add": len(theirs.GroupAdd), "secrets": len(theirs.Secrets), "configs": len(theirs.Configs), "profiles": len(theirs.Profiles),
		"volumes_from": len(theirs.VolumesFrom), "extra_hosts": len(theirs.ExtraHosts)} {
		n := ours.Get(key)
		got := 0
		switch {
		case n == nil || n.Null:
		case n.Kind == compose.Map && key != "env_file":
			got = len(n.Members)
		case n.Kind == compose.List:
			got = len(n.Items)
		default:
			got = 1
		}
		if got != want {
			*out = append(*out, fmt.Sprintf("%s of %s: we have %d, Compose %d", key, ours.Name, got, want))
		}
	}
}
