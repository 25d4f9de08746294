package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// onLoopback are servers that listen on 127.0.0.1 alone unless they are told otherwise (their documentation, November 2026): no
// published port leads there. Ports that an editor forwards do.
var onLoopback = []struct {
	line    *lazyregexp.Regexp
	told    *lazyregexp.Regexp // of the rest of the line: it says where to listen
	setting string             // variables that say it, or files of the folder
	hint    string
}{
	{lazyregexp.New(`^(python3? (-\S+ )*)?(\./)?manage\.py runserver( |$)`), lazyregexp.New(`runserver (\S+ )*\S*:\d`), "",
		"runserver 0.0.0.0:8000"},
	{lazyregexp.New(`^(python3? -m )?flask (\S+ )*run( |$)`), lazyregexp.New(`-h|--host`), "FLASK_RUN_HOST", "--host 0.0.0.0"},
	{lazyregexp.New(`^(python3? -m )?uvicorn `), lazyregexp.New(`--host|--uds|--fd`), "UVICORN_HOST", "--host 0.0.0.0"},
	{lazyregexp.New(`^fastapi dev( |$)`), lazyregexp.New(`--host`), "", "--host 0.0.0.0"},
	{lazyregexp.New(`^gunicorn `), lazyregexp.New(`-b|--bind|-c|--config`), "GUNICORN_CMD_ARGS gunicorn.conf.py", "--bind 0.0.0.0:8000"},
	{lazyregexp.New(`^(bundle exec )?(\./)?(bin/)?rails (s|server)( |$)`), lazyregexp.New(`-b|--binding`), "BINDING HOST", "-b 0.0.0.0"},
	{lazyregexp.New(`^php artisan serve( |$)`), lazyregexp.New(`--host`), "SERVER_HOST", "--host=0.0.0.0"},
	{lazyregexp.New(`^php -S (localhost|127)`), lazyregexp.New(`0\.0\.0\.0`), "", "php -S 0.0.0.0:8000"},
	{lazyregexp.New(`^(npx )?vite( dev| serve)?( -|$)`), lazyregexp.New(`--host`),
		"vite.config.ts vite.config.js vite.config.mts vite.config.mjs", "--host"},
	{lazyregexp.New(`^(npx )?ng serve( |$)`), lazyregexp.New(`--host`), "angular.json", "--host 0.0.0.0"},
	{lazyregexp.New(`^(npx )?astro dev( |$)`), lazyregexp.New(`--host`), "astro.config.mjs astro.config.ts astro.config.js", "--host"},
	{lazyregexp.New(`^hugo (serve|server)( |$)`), lazyregexp.New(`--bind`), "", "--bind 0.0.0.0"},
	{lazyregexp.New(`^(bundle exec )?jekyll (s|serve)( |$)`), lazyregexp.New(`-H|--host`), "_config.yml", "--host 0.0.0.0"},
	{lazyregexp.New(`^mkdocs serve( |$)`), lazyregexp.New(`-a|--dev-addr`), "mkdocs.yml", "--dev-addr 0.0.0.0:8000"},
	{lazyregexp.New(`^jupyter[ -](lab|notebook)( |$)`), lazyregexp.New(`--ip|ServerApp`), "", "--ip 0.0.0.0"},
}

// tells matches the file of a server's settings that may say where it listens.
var tells = lazyregexp.New(`(?i)host|addr|bind`)

// heardInside says with what a server would be heard outside of its container; "" when a line starts none of them, or tells it where
// to listen. is reports whether a variable is set, and folder is where files may say it, "" = not known.
func heardInside(v *rule.View, folder, line string, is func(string) bool) string {
	for _, s := range onLoopback {
		if !s.line.MatchString(line) {
			continue
		}
		for _, name := range strings.Fields(s.setting) {
			if file := strings.Contains(name, "."); !file && is(name) || file && (folder == "" || tells.MatchString(textIn(v, folder, name))) {
				return ""
			}
		}
		if s.told.MatchString(line) {
			return ""
		}
		return s.hint
	}
	return ""
}

// unheardServers reports servers that listen inside their container alone, behind a port that is published.
func unheardServers(v *rule.View) (out []rule.Finding) {
	if v.Tree == nil {
		return nil
	}
	if !v.ByCompose() {
		return unheardInHooks(v)
	}
	dev := v.Composed.Dev()
	if dev == nil {
		return nil
	}
	for _, s := range append([]*compose.Service{dev}, neighbours(v)...) {
		command := s.Get("command")
		other := s == dev && v.Root.Member("overrideCommand").Is(true) || s.Get("network_mode") != nil || s.Get("entrypoint") != nil
		if other || s.Get("ports") == nil || command == nil {
			continue
		}
		set, unknown := map[string]bool{}, len(s.EnvFiles()) > 0
		if !unknown {
			for _, e := range v.Composed.Project.Environment(s, nil) {
				set[e.Name] = true
			}
		}
		is := func(name string) bool { return set[name] || unknown }
		commands, err := shell.Parse(rule.QuotedLine(command.Words()), nil)
		if err != nil || len(commands) == 0 {
			continue
		}
		folder := ""
		if at, known := workspaceOnHost(v); known {
			folder = at
		}
		for _, cmd := range commands {
			line := joinedWords(cmd)
			if script := calledScript(v, cmd); script != "" {
				line = script
			}
			if hint := heardInside(v, folder, line, is); hint != "" {
				out = append(out, rule.AtCompose(command,
					fmt.Sprintf("%s listens only inside its container, so the published port reaches nothing", cmd.Name()),
					"tell it where to listen: "+hint))
				break
			}
		}
	}
	return out
}

// unheardInHooks reports the same of servers that hooks start, in a container whose ports are published.
func unheardInHooks(v *rule.View) []rule.Finding {
	published := v.Root.Member("appPort") != nil || slices.ContainsFunc(v.RunArgs, func(a rights.Arg) bool { return a.Flag == "publish" })
	networks := slices.ContainsFunc(v.RunArgs, func(a rights.Arg) bool { return a.Flag == "network" && a.Value == "host" })
	if !published || networks || v.Root.Member("forwardPorts") != nil {
		return nil
	}
	folder, known := workspaceOnHost(v)
	if !known {
		folder = ""
	}
	set := map[string]bool{}
	for _, r := range v.Of(rights.Env, rights.SessionEnv) {
		set[r.Name] = true
	}
	is := func(name string) bool { return set[name] }
	var out []rule.Finding
	eachHookText(v, func(property string, n *jsonc.Node) {
		said := property == "initializeCommand"
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			line := joinedWords(cmd)
			if script := calledScript(v, cmd); script != "" {
				line = script
			}
			here := folder
			if cmd.Folder != "." {
				here = ""
			}
			hint := heardInside(v, here, line, is)
			if hint == "" || said {
				return
			}
			said = true
			out = append(out, v.AtValue(n,
				fmt.Sprintf("%s listens only inside the container, so the published port reaches nothing", cmd.Name()),
				"tell it where to listen: "+hint+"; or write forwardPorts, by which editors reach it"))
		})
	})
	return out
}
