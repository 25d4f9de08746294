package lint

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/schema"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// extensions.txt has ids of well-known extensions that moved in the Marketplace or are deprecated there, and, behind
// "never", ids that were never there (November 2026), and the id to write instead; - = the editor does it by itself.
// settings.txt has well-known settings of VS Code and of extensions, with what a value is: bool, number, object, list, the accepted
// texts, or - when that is not judged; and those that are gone, with what took their place. One that ends in a dot stands
// for all that begin with it.
//
//go:embed extensions.txt
var extensionList string

//go:embed settings.txt
var settingList string

var renamedExtensions = sync.OnceValue(func() map[string]string { return byFirstWord(extensionList) })

// settingForms are the settings by their names, and by their names in lower case when those differ.
var settingForms = sync.OnceValue(func() map[string]string { return byFirstWord(settingList) })

var settingsInLower = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for name := range settingForms() {
		out[strings.ToLower(name)] = name
	}
	return out
})

func byFirstWord(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[name] = rest
	}
	return out
}

// ofConfiguration reports whether a name is that of a property of the configuration, and of nothing else.
func ofConfiguration(name string) bool {
	return schema.IsProperty(name) && !slices.Contains([]string{"name", "image", "build", "init", "secrets", "service", "context"}, name)
}

// builtIn are the extensions that VS Code brings (November 2026), which have the publisher vscode; no others do.
var builtIn = strings.Fields(`
	bat builtin-notebook-renderers clojure coffeescript configuration-editing cpp csharp css css-language-features dart
	debug-auto-launch debug-server-ready diff docker dotenv emmet extension-editing fsharp git git-base github github-authentication go groovy
	grunt gulp handlebars hlsl html html-language-features image-preview ini ipynb jake java javascript json json-language-features
	julia latex less log lua make markdown markdown-basics markdown-language-features markdown-math media-preview merge-conflict
	mermaid-chat-features microsoft-authentication notebook-renderers npm objective-c perl php php-language-features powershell
	prompt prompt-basics pug python r razor references-view restructuredtext ruby rust scss search-result shaderlab shellscript
	simple-browser sql swift terminal-suggest theme-seti tunnel-forwarding typescript typescript-basics typescript-language-features
	vb xml yaml`)

// ofMicrosoft are extensions of the publisher ms-vscode, of which people write vscode.
var ofMicrosoft = strings.Fields("azure-account azure-repos cmake-tools cpptools cpptools-extension-pack cpptools-themes hexeditor " +
	"js-debug-nightly live-server makefile-tools powershell remote-explorer remote-repositories remote-server vscode-node-azure-pack " +
	"vscode-typescript-next")

// extensionID is PUBLISHER.NAME, with a version, or with a minus to leave it out.
var extensionID = lazyregexp.New(`^-?[\w-]+\.[\w.-]+(@(\d+\.\d+\.\d+[\w.+-]*|prerelease))?$`)

var (
	// slashedID matches an id whose dot is a slash.
	slashedID = lazyregexp.New(`^[\w-]+/[\w-]+$`)
	// itemName matches the id in the address of a page of the Marketplace.
	itemName = lazyregexp.New(`[?&]itemName=([\w-]+\.[\w.-]+)`)
)

// isSetting reports whether a member has the name and the value of a setting.
func isSetting(m jsonc.Member) bool {
	scalar := m.Value.Kind == jsonc.String || m.Value.Kind == jsonc.Number || m.Value.Is(true) || m.Value.Is(false)
	return scalar && strings.Contains(m.Name, ".")
}

// editorNames reports customizations that no editor reads.
func editorNames(v *rule.View) (out []rule.Finding) {
	all := v.Root.Member("customizations")
	for _, m := range all.Fields() {
		switch m.Name {
		case "extensions", "settings", "devPort":
			out = append(out, v.AtName(m, fmt.Sprintf("no tool is called %q", m.Name), fmt.Sprintf("move it into customizations.vscode.%s", m.Name)))
		}
		if ofConfiguration(m.Name) {
			out = append(out, v.AtName(m, fmt.Sprintf("no tool is called %q", m.Name), "move it out of customizations, one level up"))
		}
		if isSetting(m) {
			out = append(out, v.AtName(m, fmt.Sprintf("no tool is called %q", m.Name), "settings stand in customizations.vscode.settings"))
		}
		if m.Name != "vscode" && strings.EqualFold(m.Name, "vscode") {
			out = append(out, v.AtName(m, fmt.Sprintf("no tool is called %q", m.Name), `write it as "vscode"`))
		}
	}
	for _, m := range all.Fields() {
		best := diag.Suggest(m.Name, []string{"vscode", "codespaces", "jetbrains"})
		if best != "" && best != m.Name && !strings.EqualFold(m.Name, best) {
			out = append(out, v.AtName(m, fmt.Sprintf("no tool is called %q", m.Name), fmt.Sprintf("did you mean %q?", best)))
		}
	}
	code := all.Member("vscode")
	if code != nil && code.Kind == jsonc.Array {
		out = append(out, v.AtValue(code, "VS Code reads an object here, and nothing of this list", `write {"extensions": […]}`))
	}
	list := code.Member("extensions")
	if list != nil && list.Kind == jsonc.String {
		out = append(out, v.AtValue(list, "extensions is a list, and VS Code reads no text", fmt.Sprintf("write [%s]", jsonc.Quote(list.Text))))
	}
	if list != nil && list.Kind == jsonc.Object {
		out = append(out, v.AtValue(list, "extensions is a list, and VS Code reads no object", `write ["PUBLISHER.NAME", …]`))
	}
	known := []string{"extensions", "settings", "devPort"}
	for _, m := range code.Fields() {
		if ofConfiguration(m.Name) {
			out = append(out, v.AtName(m, fmt.Sprintf("VS Code reads no customization %q", m.Name),
				"it is a property of the configuration: move it out of customizations"))
			continue
		}
		if isSetting(m) {
			out = append(out, v.AtName(m, fmt.Sprintf("VS Code reads no customization %q", m.Name), "settings stand one level below, in settings"))
			continue
		}
		best := diag.Suggest(m.Name, known)
		if strings.HasSuffix(strings.ToLower(m.Name), "recommendations") {
			best = "extensions"
		}
		if best != "" && best != m.Name {
			out = append(out, v.AtName(m, fmt.Sprintf("VS Code reads no customization %q", m.Name), fmt.Sprintf("did you mean %q?", best)))
		}
	}
	for _, n := range append(rights.Texts(list), rights.Texts(v.Root.Member("extensions"))...) {
		if f := extensionUnknown(v, n); f.Message != "" {
			out = append(out, f)
		}
	}
	out = append(out, settingsUnread(v, code.Member("settings"), list)...)
	out = append(out, settingsUnread(v, v.Root.Member("settings"), v.Root.Member("extensions"))...)
	for _, port := range v.Root.Member("portsAttributes").Fields() {
		for _, m := range port.Value.Fields() {
			if ofConfiguration(m.Name) {
				out = append(out, v.AtName(m, fmt.Sprintf("a port has no attribute %q", m.Name),
					"it is a property of the configuration: move it out of portsAttributes"))
			}
			if m.Name == "visibility" {
				out = append(out, v.AtName(m, "no tool reads the visibility of a port here",
					"change it in the editor, or with gh codespace ports visibility"))
			}
		}
	}
	return slices.Concat(out, codespacesUnread(v, all.Member("codespaces")), jetbrainsUnread(v, all.Member("jetbrains")))
}

// backends are the IDEs that JetBrains starts in a container, by the names that it reads.
var backends = strings.Fields("IntelliJ PyCharm WebStorm GoLand CLion PhpStorm RubyMine Rider RustRover DataSpell Aqua AndroidStudio")

// jetbrainsUnread reports customizations that JetBrains' IDEs do not read.
func jetbrainsUnread(v *rule.View, all *jsonc.Node) (out []rule.Finding) {
	for _, m := range all.Fields() {
		if m.Name == "extensions" {
			out = append(out, v.AtName(m, `JetBrains reads no customization "extensions"`, `write "plugins", with the ids of plugins`))
		}
	}
	backend := all.Member("backend")
	if text := backend.TextOr(""); text != "" && !strings.Contains(text, "$") && !slices.Contains(backends, text) {
		hint := "accepted: " + strings.Join(backends, ", ")
		if i := slices.IndexFunc(backends, func(b string) bool { return strings.EqualFold(b, text) }); i >= 0 {
			hint = "write " + backends[i]
		} else if strings.Contains(strings.ToLower(text), "idea") {
			hint = "write IntelliJ"
		}
		out = append(out, v.AtValue(backend, fmt.Sprintf("JetBrains has no backend %q", text), hint))
	}
	for _, n := range rights.Texts(all.Member("plugins")) {
		if plainDigits.MatchString(n.Text) {
			out = append(out, v.AtValue(n, fmt.Sprintf("%s is the number of a plugin's page, and no id", n.Text),
				"write the id, such as com.github.copilot"))
		}
	}
	return out
}

var plainDigits = lazyregexp.New(`^\d+$`)

// extensionUnknown is the finding about an element of extensions that names none.
func extensionUnknown(v *rule.View, n *jsonc.Node) rule.Finding {
	page := strings.HasPrefix(n.Text, "http") && strings.Contains(n.Text, "itemName=")
	slashed := slashedID.MatchString(n.Text)
	archive := strings.HasSuffix(n.Text, ".vsix")
	id, _ := strings.CutSuffix(n.Text, ".vsix")
	if archive && extensionID.MatchString(id) && v.Tree != nil && absent(v, path.Join(v.Home, n.Text)) {
		return v.AtValue(n, fmt.Sprintf("%q is no id of an extension, and there is no such file", n.Text), "write only the id, without .vsix")
	}
	address := page || slashed || strings.Contains(n.Text, "//marketplace.")
	if n.Text == "" || archive || strings.ContainsAny(n.Text, "/$") && !address {
		return rule.Finding{}
	}
	if !extensionID.MatchString(n.Text) {
		hint := "an id is PUBLISHER.NAME, such as ms-python.python"
		if slashed {
			hint = fmt.Sprintf("write %s", jsonc.Quote(strings.Replace(n.Text, "/", ".", 1)))
		} else if m := itemName.FindStringSubmatch(n.Text); m != nil {
			hint = fmt.Sprintf("write %s", jsonc.Quote(m[1]))
		} else if ids := strings.FieldsFunc(n.Text, func(c rune) bool { return c == ',' || c == ' ' }); len(ids) > 1 &&
			!slices.ContainsFunc(ids, func(id string) bool { return !extensionID.MatchString(id) }) {
			hint = "write each id as an element of its own"
		} else if id, _, versioned := strings.Cut(n.Text, "@"); versioned {
			hint = fmt.Sprintf("a version is three numbers; %s without one is the newest", id)
		}
		return v.AtValue(n, fmt.Sprintf("%q is no id of an extension", n.Text), hint)
	}
	id, _, _ = strings.Cut(strings.ToLower(n.Text), "@")
	name, ofEditor := strings.CutPrefix(strings.TrimPrefix(id, "-"), "vscode.")
	if ofEditor && !strings.Contains(name, "theme-") && !slices.Contains(builtIn, name) {
		hint := "look its publisher up in the Marketplace"
		if slices.Contains(ofMicrosoft, name) {
			hint = fmt.Sprintf("did you mean ms-vscode.%s?", name)
		}
		return v.AtValue(n, fmt.Sprintf("%s is none of the extensions that VS Code brings, whose publisher is vscode", id), hint)
	}
	instead, gone := renamedExtensions()[id]
	if !gone {
		return rule.Finding{}
	}
	if right, never := strings.CutPrefix(instead, "never "); never {
		return v.AtValue(n, fmt.Sprintf("the Marketplace has no %s", id), "write "+right)
	}
	hint := "write " + instead
	if instead == "-" {
		hint = "leave it out: the editor does it by itself"
	}
	f := v.AtValue(n, fmt.Sprintf("%s has moved in the Marketplace, or is deprecated there", id), hint)
	f.Severity = diag.SeverityNote // the container works without it
	return f
}

// settingsUnread reports settings that do nothing, and values that they do not take. extensions is the list next to them.
func settingsUnread(v *rule.View, settings, extensions *jsonc.Node) (out []rule.Finding) {
	said := map[string]bool{} // of a family that is gone, one finding is enough
	for _, m := range settings.Fields() {
		if ofConfiguration(m.Name) {
			out = append(out, v.AtName(m, fmt.Sprintf("no setting is called %q", m.Name),
				"it is a property of the configuration: move it out of the settings"))
			continue
		}
		if m.Name == "extensions" && m.Value.Kind == jsonc.Array {
			out = append(out, v.AtName(m, `no setting is called "extensions"`, "move it one level up: customizations.vscode.extensions"))
			continue
		}
		if strings.HasPrefix(m.Name, "[") { // settings of a language
			for _, inner := range m.Value.Fields() {
				if f := settingUnread(v, inner, extensions); f.Message != "" {
					out = append(out, f)
				}
			}
			continue
		}
		if f := settingUnread(v, m, extensions); f.Message != "" && !said[f.Hint] {
			out, said[f.Hint] = append(out, f), strings.HasPrefix(f.Hint, insteadIs)
		}
	}
	return out
}

const insteadIs = "instead there is "

func settingUnread(v *rule.View, m jsonc.Member, extensions *jsonc.Node) rule.Finding {
	form, known := settingForms()[m.Name]
	if at := strings.LastIndexByte(m.Name, '.'); !known && at > 0 {
		form = settingForms()[m.Name[:at+1]]
	}
	if instead, gone := strings.CutPrefix(form, "gone "); gone {
		if m.Value.Kind == jsonc.Null {
			return rule.Finding{}
		}
		f := v.AtName(m, fmt.Sprintf("nothing reads the setting %s any more", m.Name), insteadIs+instead)
		f.Severity = diag.SeverityNote // it does no harm
		return f
	}
	if name := settingsInLower()[strings.ToLower(m.Name)]; !known && name != "" && !strings.HasSuffix(name, ".") {
		return v.AtName(m, fmt.Sprintf("no setting is called %q", m.Name), fmt.Sprintf("did you mean %q?", name))
	}
	value := m.Value
	switch {
	case m.Name == "editor.defaultFormatter":
		return formatterMissing(v, value, extensions)
	case m.Name == "editor.codeActionsOnSave":
		for _, action := range value.Fields() {
			if text, ok := action.Value.Str(); ok && !slices.Contains([]string{"always", "explicit", "never"}, text) {
				return v.AtName(action, fmt.Sprintf("%s cannot be %q", action.Name, text), "accepted: explicit, always, never")
			}
		}
	case form == "" || form == "-":
		return programOfSetting(v, m)
	case form == "bool":
		if value.Kind == jsonc.String {
			return v.AtName(m, fmt.Sprintf("%s is a yes or a no, not the text %q", m.Name, value.Text), "write true or false")
		}
	case form == "number":
		if value.Kind == jsonc.String {
			return v.AtName(m, fmt.Sprintf("%s is a number, not the text %q", m.Name, value.Text), "write it without quotes")
		}
	case form == "object" || form == "list":
		wanted, shown := jsonc.Object, "an object, {…}"
		if form == "list" {
			wanted, shown = jsonc.Array, "a list, […]"
		}
		if value.Kind != wanted && value.Kind != jsonc.Null && !strings.Contains(value.TextOr(""), "$") {
			return v.AtName(m, fmt.Sprintf("the editor does not read this value of %s", m.Name), "write "+shown)
		}
	case value.Kind == jsonc.String:
		accepted := strings.Fields(strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(form))
		if m.Name == "files.eol" { // whose values are white space
			accepted = []string{"\n", "\r\n", "auto"}
		}
		if !slices.Contains(accepted, value.Text) {
			return v.AtName(m, fmt.Sprintf("%s cannot be %q", m.Name, value.Text), "accepted: "+strings.Join(strings.Fields(form), ", "))
		}
	}
	return rule.Finding{}
}

// formatters are extensions that are there to format, and come with no image.
var formatters = strings.Fields("esbenp.prettier-vscode ms-python.black-formatter ms-python.autopep8 charliermarsh.ruff biomejs.biome " +
	"denoland.vscode-deno foxundermoon.shell-format rvest.vs-code-prettier-eslint")

// formatterMissing reports a formatter that nothing installs in the container.
func formatterMissing(v *rule.View, value, extensions *jsonc.Node) rule.Finding {
	id := strings.ToLower(value.TextOr(""))
	if id == "ms-python.python" {
		return v.AtValue(value, "the extension ms-python.python formats nothing any more",
			"write ms-python.black-formatter, ms-python.autopep8 or charliermarsh.ruff, and list it in extensions")
	}
	image, known := baseimage.Of(v.BaseImage())
	plain := known && (image.Official() || image.ForDevContainers()) && v.Build == nil && !v.HasFeatures()
	if !plain || !slices.Contains(formatters, id) || slices.ContainsFunc(rights.Texts(extensions), func(n *jsonc.Node) bool {
		other := strings.ToLower(n.Text)
		return strings.HasPrefix(other, id) || strings.Contains(other, "pack") || strings.ContainsAny(other, "/$")
	}) {
		return rule.Finding{}
	}
	return v.AtValue(value, fmt.Sprintf("extensions does not list %s, so nothing formats in the container", value.Text),
		fmt.Sprintf("add %s to customizations.vscode.extensions", jsonc.Quote(value.Text)))
}

// asItIs reports whether the container is a well-known image without anything besides.
func asItIs(v *rule.View) bool {
	_, known := baseimage.Of(v.BaseImage())
	return known && v.Build == nil && !v.HasFeatures() && !v.ByCompose() && len(v.Mounts()) == 0
}

// programOfSetting reports a setting whose value is a program that the image, taken as it is, does not have.
func programOfSetting(v *rule.View, m jsonc.Member) rule.Finding {
	text, ok := m.Value.Str()
	profile := m.Name == "terminal.integrated.defaultProfile.linux"
	named := profile || strings.HasSuffix(m.Name, "Path") && path.IsAbs(text)
	if !ok || !named || !asItIs(v) {
		return rule.Finding{}
	}
	image, _ := baseimage.Of(v.BaseImage())
	program := path.Base(text)
	lacks := image.Lacks(program) && (profile || slices.Contains(systemPath, path.Dir(text)))
	if strings.HasPrefix(text, "/opt/conda/") {
		lacks, program = image.Lacks("conda"), "conda"
	}
	brought := false
	v.EachHookText(func(hook string) {
		brought = brought || strings.Contains(hook, program) || strings.Contains(hook, ".sh")
	})
	if !lacks || brought {
		return rule.Finding{}
	}
	return v.AtName(m, fmt.Sprintf("%s has no %s", v.BaseImage(), text), "name a program of the image, or install this one")
}

// repositoryName is OWNER/NAME, where the name may have a *.
var repositoryName = lazyregexp.New(`^[\w.-]+/[\w.*-]+$`)

// permissions are those of a token of Codespaces (github.com/microsoft/vscode, devContainer.codespaces.schema.json).
var permissions = strings.Fields("actions checks contents deployments discussions issues packages pages pull_requests " +
	"repository_projects statuses workflows")

// codespacesUnread reports customizations that Codespaces does not read.
func codespacesUnread(v *rule.View, all *jsonc.Node) (out []rule.Finding) {
	for _, m := range all.Fields() {
		known := []string{"repositories", "openFiles", "disableAutomaticConfiguration"}
		if best := diag.Suggest(m.Name, known); best != "" && best != m.Name {
			out = append(out, v.AtName(m, fmt.Sprintf("Codespaces reads no customization %q", m.Name), fmt.Sprintf("did you mean %q?", best)))
		}
	}
	files := all.Member("openFiles")
	if files != nil && files.Kind != jsonc.Array {
		out = append(out, v.AtValue(files, "openFiles is a list of files", `write ["README.md"]`))
	}
	for _, n := range rights.Texts(files) {
		full := path.Join(v.Home, n.Text)
		if v.Tree != nil && isProject(v) && !strings.Contains(n.Text, "$") && !devcontainer.LeavesTree(full) && absent(v, full) {
			out = append(out, v.AtValue(n, fmt.Sprintf("there is no file %s to open", n.Text), "paths begin at the workspace's folder"))
		}
	}
	repositories := all.Member("repositories")
	if repositories != nil && repositories.Kind != jsonc.Object {
		name := "OWNER/NAME"
		if list := rights.Texts(repositories); len(list) > 0 && repositoryName.MatchString(list[0].Text) {
			name = list[0].Text
		}
		return append(out, v.AtValue(repositories, "Codespaces wants an object here: each repository by its name, with the permissions it gets",
			fmt.Sprintf(`write {%q: {"permissions": {"contents": "read"}}}`, name)))
	}
	for _, m := range repositories.Fields() {
		granted := m.Value.Member("permissions")
		switch {
		case !repositoryName.MatchString(m.Name):
			out = append(out, v.AtName(m, fmt.Sprintf("%q names no repository", m.Name), "write OWNER/NAME, or OWNER/* for all"))
		case granted == nil && slices.ContainsFunc(m.Value.Fields(), func(f jsonc.Member) bool { return slices.Contains(permissions, f.Name) }):
			out = append(out, v.AtName(m, fmt.Sprintf("%s gets no permission: Codespaces reads them only in permissions", m.Name),
				`write {"permissions": {…}}`))
		case granted != nil && granted.Kind == jsonc.String && granted.Text != "read-all" && granted.Text != "write-all":
			out = append(out, v.AtValue(granted, fmt.Sprintf("permissions cannot be %q", granted.Text),
				"accepted: read-all, write-all, or an object"))
		}
		for _, p := range granted.Fields() {
			value := p.Value.TextOr("")
			if best := diag.Suggest(p.Name, permissions); !slices.Contains(permissions, p.Name) && best != "" {
				out = append(out, v.AtName(p, fmt.Sprintf("there is no permission %q", p.Name), fmt.Sprintf("did you mean %q?", best)))
			} else if slices.Contains(permissions, p.Name) && value != "read" && value != "write" && !strings.Contains(value, "$") {
				out = append(out, v.AtName(p, fmt.Sprintf("the permission %s is read or write", p.Name), `write "read" or "write"`))
			}
		}
	}
	return out
}

// settingsElsewhere reports settings of VS Code with a path below /workspaces, where the project is mounted elsewhere.
func settingsElsewhere(v *rule.View) (out []rule.Finding) {
	folder := v.Root.Member("workspaceFolder").TextOr("")
	own := v.Root.Member("workspaceMount").TextOr("") != "" || v.ByCompose()
	if !own || !path.IsAbs(folder) || strings.HasPrefix(folder, "/workspaces") || strings.Contains(folder, "$") ||
		mounted("/workspaces", slices.Concat(v.Mounts(), v.ServiceMounts())) {
		return nil
	}
	settings := v.Root.Member("customizations").Member("vscode").Member("settings")
	if settings == nil {
		return nil
	}
	settings.Walk(func(n *jsonc.Node) {
		if n.Kind == jsonc.String && strings.HasPrefix(n.Text, "/workspaces/") {
			f := v.AtValue(n, fmt.Sprintf("the project is at %s, and the container has no /workspaces", folder),
				"write ${workspaceFolder}/…, which settings of folders know, or "+folder+"/…")
			out = append(out, f)
		}
	})
	return out
}
