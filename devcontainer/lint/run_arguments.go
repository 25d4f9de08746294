package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// joinedArguments reports elements of runArgs that hold an option and its value, with a
// space between them.
func joinedArguments(v *rule.View) (out []rule.Finding) {
	values := map[*jsonc.Node]bool{} // elements that are the value of the option before
	list := rights.Texts(v.EngineOnly("runArgs"))
	for i, n := range list {
		if i > 0 && rights.RunOptions.TakesNext(list[i-1].Text) && !values[list[i-1]] {
			values[n] = true
			continue
		}
		flag, rest, joined := strings.Cut(n.Text, " ")
		if !joined || !strings.HasPrefix(flag, "-") || strings.Contains(flag, "=") || strings.TrimSpace(rest) == "" {
			continue
		}
		out = append(out, joinedWord(v, n, rights.RunOptions))
	}
	return out
}

// joinedWord is the finding about such an element.
func joinedWord(v *rule.View, n *jsonc.Node, options rights.CommandOptions) rule.Finding {
	words := options.Words(n.Text)
	for i, w := range words {
		words[i] = jsonc.Quote(w)
	}
	apart := strings.Join(words, ", ")
	count := "an element for each"
	if len(words) == 2 {
		count = "two elements"
	}
	return v.AtValue(n, fmt.Sprintf("the engine gets %q as one word", n.Text), fmt.Sprintf("write %s: %s", count, apart)).
		FixedBy(jsonc.Replace(n, apart))
}

// ofOtherCommands are options that other commands have, and neither docker run nor podman run.
var ofOtherCommands = map[string]string{
	"build": "docker compose up", "renew-anon-volumes": "docker compose up", "force-recreate": "docker compose up",
	"no-recreate": "docker compose up", "remove-orphans": "docker compose up", "no-deps": "docker compose up",
	"no-cache": "docker build", "build-arg": "docker build", "build-context": "docker build", "target": "docker build",
}

// unknownArguments reports options that neither docker run nor podman run has. One that is near to none that they have may be
// of a newer engine.
func unknownArguments(v *rule.View) (out []rule.Finding) {
	for _, a := range v.BuildArgs {
		if a.Node == nil || !strings.HasPrefix(a.Node.Text, "--") || rights.ImageOptions.Knows(a.Flag) || strings.Contains(a.Flag, " ") {
			continue
		}
		if best := rights.ImageOptions.Nearest(a.Flag); best != "" {
			out = append(out, v.AtValue(a.Node, fmt.Sprintf("docker build has no option --%s", a.Flag), fmt.Sprintf("did you mean --%s?", best)))
		}
	}
	for _, a := range v.RunArgs {
		if a.Node == nil || !strings.HasPrefix(a.Node.Text, "--") || rights.RunOptions.Knows(a.Flag) || strings.ContainsAny(a.Flag, " ${") {
			continue
		}
		f := v.AtValue(a.Node, fmt.Sprintf("the engine has no option --%s", a.Flag), "")
		if other := ofOtherCommands[a.Flag]; other != "" {
			f.Message, f.Hint = fmt.Sprintf("docker run has no option --%s: it belongs to %s", a.Flag, other), "take it out"
			if a.Flag == "build-arg" || a.Flag == "target" {
				f.Hint = fmt.Sprintf(`write it under "build", as "%s"`, map[string]string{"build-arg": "args", "target": "target"}[a.Flag])
			}
		} else if best := rights.RunOptions.Nearest(a.Flag); best != "" {
			f.Hint = fmt.Sprintf("did you mean --%s?", best)
		} else {
			f.Message = fmt.Sprintf("neither docker run nor podman run has an option --%s", a.Flag)
			f.Hint, f.Severity = "the engine refuses to start: docker run --help lists what it takes", diag.SeverityWarning
		}
		out = append(out, f)
	}
	return out
}

// shortenedArguments reports options with one dash that the engine lacks: long ones, which it reads as single letters, and letters.
func shortenedArguments(v *rule.View) (out []rule.Finding) {
	list := rights.Texts(v.EngineOnly("runArgs"))
	for i, n := range list {
		name, _, _ := strings.Cut(strings.TrimPrefix(n.Text, "-"), "=")
		oneDash := strings.HasPrefix(n.Text, "-") && !strings.HasPrefix(name, "-")
		isValue := i > 0 && rights.RunOptions.TakesNext(list[i-1].Text)
		letter := rights.RunOptions.UnknownLetter(n.Text)
		switch {
		case !oneDash || isValue:
		case len(name) > 2 && rights.RunOptions.Knows(name):
			out = append(out, v.AtValue(n, fmt.Sprintf("the engine reads %s as options of one letter each", n.Text), "write -"+n.Text).
				FixedBy(jsonc.Replace(n, jsonc.Quote("-"+n.Text))))
		case letter != "":
			f := v.AtValue(n, fmt.Sprintf("the engine has no option -%s", letter), "docker run --help lists what it takes")
			if best := rights.RunOptions.Nearest(name); len(name) > 1 && best != "" {
				f.Hint = fmt.Sprintf("did you mean --%s?", best)
			}
			out = append(out, f)
		}
	}
	return out
}

// strayArgument reports a word that is no option: the engine takes it for the image's name.
func strayArgument(v *rule.View) []rule.Finding {
	list := v.EngineOnly("runArgs")
	n := rights.RunOptions.Stray(list)
	if n == nil || len(rights.Texts(list)) != len(list.Elements) {
		return nil
	}
	hint := "an option begins with --; a value stands right behind its option"
	if option := strings.TrimLeft(n.Text, "–—‒−"); option != n.Text {
		hint = fmt.Sprintf("this dash is no hyphen: write --%s", strings.TrimLeft(option, "-"))
	}
	return []rule.Finding{v.AtValue(n, fmt.Sprintf("the engine takes %q for the name of the image", n.Text), hint)}
}

// containerName is what the engine takes as the name of a container (moby, daemon/names).
var containerName = lazyregexp.New(`^/?[a-zA-Z0-9][a-zA-Z0-9_.-]+$`)

// refusedValues reports a name that no container can have, --rm together with a restart, and a
// container in the background: the reference CLI attaches to it, and the engine refuses both.
func refusedValues(v *rule.View) (out []rule.Finding) {
	removed := false
	restart := rights.Arg{}
	for _, a := range v.RunArgs {
		switch a.Flag { // the last one counts
		case "rm":
			removed = rights.IsOn(a.Value)
		case "restart":
			restart = a
		}
		if a.Flag == "detach" && rights.IsOn(a.Value) && a.Node != nil {
			out = append(out, v.AtValue(a.Node, "the engine refuses to detach from a container that the tools attach to", "remove it"))
		}
		plain := rights.Variable.ReplaceAllString(strings.ReplaceAll(a.Value, "${localWorkspaceFolder}", "/"), "xx")
		if a.Flag == "name" && a.Node != nil && !containerName.MatchString(plain) {
			out = append(out, v.AtValue(a.Node, fmt.Sprintf("the engine refuses the container's name %q", a.Value),
				"letters, digits, _ . and - only"))
		}
	}
	keeps := restart.Node != nil && restart.Value != "" && restart.Value != "no" && !strings.Contains(restart.Value, "$")
	if removed && keeps {
		f := v.AtValue(restart.Node, "the engine refuses --rm and --restart together", "take one of them out")
		if restart.Value == "on-failure" { // Podman takes it
			f.Message, f.Severity = "Docker refuses --rm and --restart together", diag.SeverityWarning
		}
		out = append(out, f)
	}
	return out
}

// runArguments reports options that end the start.
func runArguments(v *rule.View) []rule.Finding {
	return slices.Concat(joinedArguments(v), unknownArguments(v), shortenedArguments(v), strayArgument(v), refusedValues(v), unreadValues(v),
		namesOfNothing(v), argumentsAlone(v), networksOfNobody(v))
}
