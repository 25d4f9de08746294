package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

var (
	// servers matches command lines that run until somebody ends them.
	servers = lazyregexp.New(`^(python3? manage\.py runserver|flask run|uvicorn |gunicorn |(bundle exec )?(bin/)?rails s(erver)?\b|` +
		`php artisan serve|` +
		`php -S |hugo server|(bundle exec )?jekyll serve|mkdocs serve|jupyter(-lab|-notebook| lab| notebook)|python3? -m http\.server|` +
		`tail -[fF]|` +
		`sleep infinity|nodemon|http-server|live-server|(npx (-y |--yes )?)?json-server |ng serve|vite( dev| serve| --\S.*)?$|next dev|` +
		`nuxt dev|astro dev|webpack serve|` +
		`react-scripts start|` +
		`vue-cli-service serve|streamlit run|gatsby develop|expo start|nest start --watch|docker(-| )compose (-\S+ \S+ )*up( \S+)*$)`)
	detached = lazyregexp.New(`\s(-d|--detach|--wait|--no-start)\b`)
)

// inBackground is a job that outlives its hook, with a terminal (docker exec -t) and without one: the shell that ignores the
// hang-up starts it.
const inBackground = "nohup sh -c '… > /tmp/server.log 2>&1 &'"

// endlessHooks reports servers that a hook waits for: no later hook runs. It also reports jobs that end with the hook.
func endlessHooks(v *rule.View) (out []rule.Finding) {
	eachHookText(v, func(property string, n *jsonc.Node) {
		if property == "postAttachCommand" || property == "initializeCommand" {
			return
		}
		said := false
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			line := joinedWords(cmd)
			if script := calledScript(v, cmd); script != "" {
				line = script
			}
			if said || cmd.OnFailure == shell.Open || !servers.MatchString(line) || detached.MatchString(line) {
				return
			}
			said = true
			out = append(out, v.AtValue(n, fmt.Sprintf("%s does not end, and %s waits for it", joinedWords(cmd), property),
				"call it in postAttachCommand, or in the background: "+inBackground))
		})
		text := strings.TrimSpace(n.Text)
		if lost := strings.HasSuffix(text, "&") && !strings.HasSuffix(text, "&&") && !strings.Contains(text, "setsid"); lost {
			out = append(out, v.AtValue(n, "editors run hooks in a terminal, where a job behind a last & ends with the hook",
				"write "+inBackground))
		}
	})
	return out
}

// calledScript is the text of the script of package.json that a command calls, "" when that is not known.
func calledScript(v *rule.View, cmd *shell.Command) string {
	words := cmd.Operands()
	if v.Tree == nil || len(words) == 0 || !cmd.Is("npm", "yarn", "pnpm") {
		return ""
	}
	name := words[0].Text
	if name == "run" && len(words) > 1 {
		name = words[1].Text
	}
	folder, known := workspaceOnHost(v)
	if !known {
		return ""
	}
	scripts, _ := npmScripts(v, folder)
	return scripts[name]
}

// everyTime are the hooks that run at each start of a container that stays.
var everyTime = []string{"initializeCommand", "postStartCommand", "postAttachCommand"}

// onceOnlyHooks reports commands that succeed once, in hooks that run again.
func onceOnlyHooks(v *rule.View) (out []rule.Finding) {
	eachHookText(v, func(property string, n *jsonc.Node) {
		if !slices.Contains(everyTime, property) || n.Kind == jsonc.String && (guarded.MatchString(n.Text) || strings.Contains(n.Text, "rm ")) {
			return
		}
		said := false
		v.EachCommand(n, func(_ *jsonc.Node, cmd *shell.Command) {
			what, instead := failsAgain(cmd)
			if what == "" || said || cmd.OnFailure != shell.Ends {
				return
			}
			said = true
			out = append(out, v.AtValue(n, fmt.Sprintf("%s fails when it runs again, and %s runs at each start", what, property), instead))
		})
	})
	return out
}

func failsAgain(cmd *shell.Command) (what, instead string) {
	line, words := joinedWords(cmd), cmd.Operands()
	_, parents := cmd.Flag("-p", "--parents")
	_, forced := cmd.Flag("-f", "--force")
	_, symbolic := cmd.Flag("-s", "--symbolic")
	switch {
	case cmd.Is("mkdir") && !parents && len(words) > 0:
		return "mkdir", "write mkdir -p"
	case cmd.Is("ln") && symbolic && !forced && len(words) == 2 && !strings.HasSuffix(words[1].Text, "/"):
		return "ln -s", "write ln -sfn"
	case strings.HasPrefix(line, "git clone "):
		return "git clone", "do it in onCreateCommand, or ask first: [ -d FOLDER ] || git clone …"
	case strings.HasPrefix(line, "docker network create "):
		return "docker network create", "write docker network inspect NAME >/dev/null 2>&1 || docker network create NAME"
	case strings.HasPrefix(line, "git remote add "):
		return "git remote add", "do it in onCreateCommand"
	}
	return "", ""
}

// rootsVolumes reports volumes below the workspace that the user of the sessions cannot write: an empty volume belongs
// to root unless the image has the folder.
func rootsVolumes(v *rule.View) (out []rule.Finding) {
	out = eachMount(v, serversFolder)
	user, known := v.SessionUser()
	if image, ok := baseimage.Of(v.BaseImage()); ok && v.NamedUser() == nil && len(v.Of(rights.User, rights.Session)) == 0 &&
		image.Session != "" {
		user, known = image.Session, true
	}
	folder := v.Root.Member("workspaceFolder").TextOr("${containerWorkspaceFolder}")
	plain := known && user != "" && !rule.IsRoot(user)
	if !plain || v.Kind() != devcontainer.ConfigFile || v.Build != nil && v.Bare {
		return out
	}
	corrected := false
	v.EachHookText(func(text string) {
		corrected = corrected || strings.Contains(text, "chown") || strings.Contains(text, "chmod") || strings.Contains(text, ".sh")
	})
	for _, r := range v.Of(rights.Command, rights.Entrypoint) { // of a service, or in runArgs
		words := strings.Join(r.Words, " ")
		corrected = corrected || !r.Next && (strings.Contains(words, "chown") || strings.Contains(words, "chmod") ||
			strings.Contains(words, ".sh"))
	}
	for _, r := range slices.Concat(v.Mounts(), v.ServiceMounts()) {
		target := r.Mount.Target
		inside := strings.HasPrefix(target, "${containerWorkspaceFolder}/") || strings.HasPrefix(target, folder+"/")
		made := v.Build != nil && strings.Contains(v.DockerfileText(), path.Base(target))
		if r.Mount.Type != "volume" || corrected || !inside || made {
			continue
		}
		hint := fmt.Sprintf("add to postCreateCommand: sudo chown %s %s", user, target)
		image, _ := baseimage.Of(v.BaseImage())
		if lacks, _ := image.LacksSudo(); lacks && !v.HasFeatures() && (v.Build == nil || !strings.Contains(v.DockerfileText(), "sudo")) {
			opened := v.Root.Member("workspaceFolder").TextOr("/workspaces/NAME")
			place := strings.ReplaceAll(strings.ReplaceAll(target, "${containerWorkspaceFolder}", opened), basename, "NAME")
			hint = fmt.Sprintf("make the folder in a Dockerfile, whose owner a new volume takes: RUN install -d -o %s %s", user, place)
		}
		out = append(out, rule.AtRight(r, fmt.Sprintf("root owns a new volume, so %s cannot write %s", user, target), hint))
	}
	return out
}
