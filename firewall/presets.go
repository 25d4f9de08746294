package firewall

import "slices"

// PresetInfo is a named list of allowlist entries.
type PresetInfo struct {
	Name    string
	Entries []string // in the allowlist's own grammar
	Source  string   // the public page, by name, that says which domains there are
	Note    string   // what a user should know before adding it; may be empty
}

// presets are sorted by name. A package ecosystem is named by its own domain
// with a wildcard, never by single hosts: those change, and the ecosystem's
// owner decides what is under the domain. A single host stands only where its
// domain holds everybody's hosts too, because a wildcard over those would let
// whoever rents one be sent anything.
var presets = []PresetInfo{
	{
		Name:    "alpine",
		Entries: []string{"alpinelinux.org", "*.alpinelinux.org"},
		Source:  "wiki.alpinelinux.org, Repositories",
	},
	{
		// With an API key or a subscription.
		Name:    "anthropic",
		Entries: []string{"*.anthropic.com", "claude.ai", "*.claude.ai", "claude.com", "*.claude.com"},
		Source:  "code.claude.com/docs, Enterprise network configuration",
		Note:    "what Claude Code itself needs; the model reads whatever the agent sends it",
	},
	{
		Name:    "arch",
		Entries: []string{"archlinux.org", "*.archlinux.org"},
		Source:  "wiki.archlinux.org, Mirrors",
		Note:    "the project's own mirrors; packages of the user repository (AUR) are anybody's",
	},
	{
		Name: "aws",
		Entries: []string{
			"aws.amazon.com", "*.aws.amazon.com", "*.api.aws",
			"awscli.amazonaws.com", "iam.amazonaws.com", "sts.amazonaws.com",
		},
		Source: "docs.aws.amazon.com, AWS service endpoints",
		Note: "the console, the documentation and the service endpoints under api.aws; regional endpoints under amazonaws.com are " +
			"not covered, because that domain holds everybody's buckets, load balancers and machines: add those that you use, " +
			"such as sts.eu-west-1.amazonaws.com, and buckets by their own name",
	},
	{
		Name: "azure",
		Entries: []string{
			"azure.microsoft.com", "management.azure.com", "*.management.azure.com", "*.microsoftonline.com",
		},
		Source: "learn.microsoft.com, Azure portal and Azure CLI endpoints",
		Note: "sign-in and resource management; storage accounts, registries and web apps are everybody's: add yours by name. " +
			"Microsoft Graph is left out, because it takes files",
	},
	{
		Name:    "bitbucket",
		Entries: []string{"bitbucket.org", "bitbucket.org:22", "*.bitbucket.org"},
		Source:  "support.atlassian.com, IP addresses and domains for Atlassian cloud products",
		Note: "anybody's repositories: anyone with a key can push there. Large files and downloads are stored at a cloud's shared " +
			"domain and not covered",
	},
	{
		Name:    "bun",
		Entries: []string{"bun.com", "*.bun.com", "bun.sh", "*.bun.sh"},
		Source:  "bun.com/docs, Installation",
		Note:    "the runtime; packages come from npm's, archives of releases from github's",
	},
	{
		// The same with what an interactive session reads besides: the
		// extension bridge (claudeusercontent.com), the change log and the
		// plugin marketplace on GitHub.
		Name: "claude-code",
		Entries: []string{
			"*.anthropic.com", "claude.ai", "*.claude.ai", "claude.com", "*.claude.com",
			"*.claudeusercontent.com", "github.com", "*.githubusercontent.com",
		},
		Source: "code.claude.com/docs, Enterprise network configuration",
		Note: "anthropic and what an interactive session reads from GitHub: anybody's repositories there can be read, and pushed to " +
			"with a key",
	},
	{
		Name:    "conda",
		Entries: []string{"anaconda.com", "*.anaconda.com", "anaconda.org", "*.anaconda.org"},
		Source:  "docs.anaconda.com, Firewall configuration",
		Note:    "channels are anybody's: anyone with a token can upload there",
	},
	{
		Name:    "cpan",
		Entries: []string{"*.cpan.org", "metacpan.org", "*.metacpan.org"},
		Source:  "www.cpan.org/SITES.html",
	},
	{
		Name:    "cran",
		Entries: []string{"r-project.org", "*.r-project.org"},
		Source:  "cran.r-project.org, CRAN mirrors",
	},
	{
		Name:    "dart",
		Entries: []string{"dart.dev", "*.dart.dev", "flutter.dev", "*.flutter.dev", "pub.dev", "*.pub.dev"},
		Source:  "dart.dev, Dart packages; docs.flutter.dev, Using Flutter in China (list of hosts)",
		Note:    "the SDKs are stored at a shared domain of Google's and not covered",
	},
	{
		Name:    "debian",
		Entries: []string{"debian.org", "*.debian.org"},
		Source:  "www.debian.org/mirror/list",
		Note:    "the mirrors that the project runs itself",
	},
	{
		Name:    "deno",
		Entries: []string{"deno.com", "*.deno.com", "deno.land", "*.deno.land", "jsr.io", "*.jsr.io"},
		Source:  "docs.deno.com, Modules and dependencies",
		Note:    "modules are anybody's; sites that people host (deno.dev, deno.net) are not covered",
	},
	{
		Name:    "docker",
		Entries: []string{"docker.io", "*.docker.io", "*.docker.com"},
		Source:  "docs.docker.com, Allowlist for Docker Desktop",
		Note: "images are anybody's; some layers are stored at a cloud's shared domain, which is not covered: a pull that fails names " +
			"the host, and that one can be added",
	},
	{
		Name:    "fedora",
		Entries: []string{"fedoraproject.org", "*.fedoraproject.org"},
		Source:  "docs.fedoraproject.org, DNF system configuration",
		Note:    "the project's own mirrors; its list names others, which are not covered",
	},
	{
		Name: "gcp",
		Entries: []string{
			"cloud.google.com", "*.cloud.google.com",
			"cloudresourcemanager.googleapis.com", "compute.googleapis.com", "container.googleapis.com", "iam.googleapis.com",
			"iamcredentials.googleapis.com", "oauth2.googleapis.com", "serviceusage.googleapis.com", "sts.googleapis.com",
		},
		Source: "cloud.google.com/docs, Google APIs (service endpoints)",
		Note: "sign-in and resource management; storage, registries and functions are everybody's under googleapis.com, pkg.dev and " +
			"run.app: add what you use, " +
			"and know that storage.googleapis.com is one name for all buckets",
	},
	{
		// SSH is port 22 of the main name; the same over 443 is under the
		// wildcard.
		Name: "github",
		Entries: []string{
			"github.com", "github.com:22", "*.github.com", "*.githubusercontent.com", "*.githubassets.com",
			"ghcr.io", "*.ghcr.io",
		},
		Source: "docs.github.com, About GitHub's domains",
		Note: "anybody's repositories, gists and issues: anyone with a token can write there. \"deny\": [\"gist.github.com\"] closes " +
			"one way; pages that people host (github.io) are not covered",
	},
	{
		Name:    "gitlab",
		Entries: []string{"gitlab.com", "gitlab.com:22", "*.gitlab.com", "*.gitlab-static.net"},
		Source:  "docs.gitlab.com, GitLab.com settings",
		Note: "anybody's repositories, snippets and issues: anyone with a token can write there; pages that people host (gitlab.io) " +
			"are not covered",
	},
	{
		Name:    "go",
		Entries: []string{"golang.org", "*.golang.org", "go.dev", "*.go.dev"},
		Source:  "go.dev/ref/mod, Module proxies and the checksum database; go.dev/dl",
		Note: "through the module proxy; where it sends a client to storage.googleapis.com, which is one name for everybody's buckets, " +
			"that is not covered",
	},
	{
		Name:    "gradle",
		Entries: []string{"gradle.org", "*.gradle.org"},
		Source:  "docs.gradle.org, Gradle Wrapper; plugins.gradle.org",
		Note:    "distributions may be sent on to GitHub: add the preset github. Libraries come from maven's",
	},
	{
		Name:    "haskell",
		Entries: []string{"haskell.org", "*.haskell.org"},
		Source:  "www.haskell.org/ghcup",
	},
	{
		Name: "hex",
		Entries: []string{"hex.pm", "*.hex.pm", "hexdocs.pm", "*.hexdocs.pm", "elixir-lang.org", "*.elixir-lang.org", "erlang.org",
			"*.erlang.org"},
		Source: "hex.pm/docs, Mirrors",
	},
	{
		Name:    "huggingface",
		Entries: []string{"huggingface.co", "*.huggingface.co", "hf.co", "*.hf.co"},
		Source:  "huggingface.co/docs/hub, Network and firewall",
		Note: "models and datasets are anybody's: anyone with a token can upload there; programs that people host (hf.space) are not " +
			"covered",
	},
	{
		Name:    "julia",
		Entries: []string{"julialang.org", "*.julialang.org"},
		Source:  "docs.julialang.org, Pkg",
	},
	{
		Name:    "kubernetes",
		Entries: []string{"k8s.io", "*.k8s.io", "kubernetes.io", "*.kubernetes.io"},
		Source:  "kubernetes.io/docs, Installing kubeadm",
		Note:    "layers of images are stored at clouds' shared domains and not covered",
	},
	{
		Name:    "maven",
		Entries: []string{"*.maven.org", "maven.apache.org", "*.maven.apache.org"},
		Source:  "maven.apache.org/repository; central.sonatype.org",
	},
	{
		Name:    "nix",
		Entries: []string{"nixos.org", "*.nixos.org"},
		Source:  "nixos.org/manual, Installation and binary caches",
	},
	{
		Name:    "npm",
		Entries: []string{"*.npmjs.org", "npmjs.com", "*.npmjs.com", "nodejs.org", "*.nodejs.org", "*.yarnpkg.com", "pnpm.io", "*.pnpm.io"},
		Source:  "docs.npmjs.com; the runtime's own downloads are at nodejs.org",
		Note:    "anyone with a token can publish there",
	},
	{
		Name:    "nuget",
		Entries: []string{"nuget.org", "*.nuget.org", "dot.net", "*.dot.net", "dotnet.microsoft.com", "*.dotnet.microsoft.com"},
		Source:  "learn.microsoft.com, NuGet package sources and .NET install scripts",
		Note:    "anyone with a token can publish there",
	},
	{
		Name:    "packagist",
		Entries: []string{"packagist.org", "*.packagist.org", "getcomposer.org", "*.getcomposer.org"},
		Source:  "getcomposer.org/doc",
		Note:    "archives of packages come from where they are developed: mostly the preset github",
	},
	{
		Name:    "playwright",
		Entries: []string{"playwright.dev", "*.playwright.dev", "*.prss.microsoft.com"},
		Source:  "playwright.dev/docs, Browsers (install behind a firewall)",
		Note:    "Chrome for Testing is stored at storage.googleapis.com, which is one name for everybody's buckets, and not covered",
	},
	{
		Name:    "pypi",
		Entries: []string{"pypi.org", "*.pypi.org", "*.pythonhosted.org"},
		Source:  "docs.pypi.org: the index is the main name, files are under the wildcard",
		Note:    "anyone with a token can publish there",
	},
	{
		Name:    "rubygems",
		Entries: []string{"rubygems.org", "*.rubygems.org", "ruby-lang.org", "*.ruby-lang.org"},
		Source:  "guides.rubygems.org; www.ruby-lang.org/en/downloads",
		Note:    "anyone with a token can publish there",
	},
	{
		Name:    "rust",
		Entries: []string{"crates.io", "*.crates.io", "rust-lang.org", "*.rust-lang.org", "docs.rs"},
		Source:  "doc.rust-lang.org/cargo, Registries; rust-lang.github.io/rustup",
		Note:    "anyone with a token can publish there",
	},
	{
		Name:    "sentry",
		Entries: []string{"sentry.io", "*.sentry.io"},
		Source:  "docs.sentry.io, Security and firewalls",
		Note: "every organisation's ingestion is below this domain, so anyone with a project can be sent data: prefer your own, such " +
			"as o123.ingest.sentry.io",
	},
	{
		Name:    "swift",
		Entries: []string{"swift.org", "*.swift.org"},
		Source:  "www.swift.org/install",
		Note:    "packages come from where they are developed: mostly the preset github",
	},
	{
		Name:    "terraform",
		Entries: []string{"hashicorp.com", "*.hashicorp.com", "terraform.io", "*.terraform.io"},
		Source:  "developer.hashicorp.com, Terraform network requirements",
		Note:    "covers HCP Terraform too, where anyone with an account can write; many providers' archives come from the preset github",
	},
	{
		Name:    "ubuntu",
		Entries: []string{"ubuntu.com", "*.ubuntu.com", "*.launchpadcontent.net"},
		Source:  "ubuntu.com/server/docs, Package management; launchpad.net for personal archives",
		Note:    "personal archives are anybody's",
	},
	{
		// Server downloads, updates, marketplace, and what the editor loads
		// inside a container. The domain itself also holds the organisations
		// of Azure DevOps by their old names.
		Name: "vscode",
		Entries: []string{
			"code.visualstudio.com", "*.code.visualstudio.com", "marketplace.visualstudio.com", "*.vsassets.io",
			"vscode.dev", "*.vscode.dev", "*.vscode-cdn.net", "*.vscode-unpkg.net",
		},
		Source: "code.visualstudio.com/docs, Network connections in Visual Studio Code",
		Note:   "extensions are anybody's; tunnels and settings sync (vscode.dev) are reachable with an account",
	},
}

// Presets returns all presets, sorted by name.
func Presets() []PresetInfo {
	out := slices.Clone(presets)
	for i := range out {
		out[i].Entries = slices.Clone(out[i].Entries)
	}
	return out
}

// PresetNames returns the names of all presets, sorted.
func PresetNames() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.Name
	}
	return names
}

// Preset returns the entries of the named preset, in the allowlist's own
// grammar; ok is false when there is none of that name.
func Preset(name string) (entries []string, ok bool) {
	i := slices.IndexFunc(presets, func(p PresetInfo) bool { return p.Name == name })
	if i < 0 {
		return nil, false
	}
	return slices.Clone(presets[i].Entries), true
}
