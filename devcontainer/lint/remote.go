package lint

import (
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

var (
	// remoteSource matches what Compose and BuildKit fetch from elsewhere.
	remoteSource = lazyregexp.New(`^(oci|https?|git|ssh)://|^git@|^github\.com/`)
	// remotePinned matches a commit or a digest, which name one content for ever.
	remotePinned = lazyregexp.New(`#[0-9a-f]{40}(:|$)|@sha256:[0-9a-f]{64}$`)
)

// composeRemote reports Compose files and build contexts that come from
// elsewhere and may be others tomorrow.
func composeRemote(v *rule.View) (out []rule.Finding) {
	eachRemote(v, func(n *compose.Node, what string) {
		if s := n.String(); !remotePinned.MatchString(s) {
			out = append(out, rule.AtCompose(n, fmt.Sprintf("%s comes from %s, and may be another one tomorrow", what, s),
				"keep it in the repository, or name a commit (…git#COMMIT) or a digest (…@sha256:…)"))
		}
	})
	return out
}

// remoteRegistries compares their hosts and paths with the policy's registries.
func remoteRegistries(v *rule.View) (out []rule.Finding) {
	for _, a := range v.BuildArgs {
		_, source, context := strings.Cut(a.Value, "=")
		if a.Flag != "build-context" || !context {
			continue
		}
		if why, where := judgeRemote(v, source); why != "" {
			out = append(out, v.AtValue(a.Node, fmt.Sprintf("the context %s: %s", source, why), where))
		}
	}
	eachRemote(v, func(n *compose.Node, what string) {
		if why, where := judgeRemote(v, n.String()); why != "" {
			out = append(out, rule.AtCompose(n, fmt.Sprintf("%s from %s: %s", what, n.String(), why), where))
		}
	})
	return out
}

// judgeRemote compares the host and path of one with the policy's registries; "" for what is fetched from nowhere.
func judgeRemote(v *rule.View, source string) (why, where string) {
	if !remoteSource.MatchString(source) {
		return "", ""
	}
	place := strings.ToLower(source)
	if _, rest, ok := strings.Cut(place, "://"); ok {
		place = rest
	}
	if _, rest, ok := strings.Cut(place, "@"); ok && !strings.Contains(place, "@sha256:") { // a user's name
		place = strings.Replace(rest, ":", "/", 1)
	}
	place, _, _ = strings.Cut(place, "#")
	place = strings.TrimSuffix(place, ".git")
	if name, _, digest := rights.SplitImage(place); digest != "" || strings.HasPrefix(source, "oci://") {
		place = name
	}
	return v.Org.Judge("registries", func(e string) bool { return org.RegistryMatch(e, place) })
}

// eachRemote visits what Compose fetches from elsewhere.
func eachRemote(v *rule.View, visit func(n *compose.Node, what string)) {
	if v.Composed == nil {
		return
	}
	judge := func(n *compose.Node, what string) {
		if remoteSource.MatchString(n.String()) {
			visit(n, what)
		}
	}
	for _, u := range v.Composed.Project.Unread {
		if u.Cause == compose.Remote {
			visit(&compose.Node{Text: u.Text, Doc: u.Doc, Start: u.Start, End: u.End}, "a Compose file, which decides what is mounted and run,")
		}
	}
	for _, s := range v.Composed.Project.Services() {
		b := s.Get("build")
		if b.String() == "" {
			b = b.Get("context")
		}
		judge(b, "the build of "+s.Name)
		for _, context := range s.Get("build").Get("additional_contexts").Variables() {
			if n := context.Node; remoteSource.MatchString(context.Value) {
				judge(&compose.Node{Text: context.Value, Doc: n.Doc, Start: n.Start, End: n.End}, "a context of "+s.Name)
			}
		}
	}
}
