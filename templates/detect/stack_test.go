package detect_test

import (
	"fmt"
	"strings"
	"testing"
)

// source is text of so many bytes.
func source(bytes int) string { return strings.Repeat("x", bytes) }

// TestLanguages judges projects in the layout of well-known ones: which language
// decides, in which version, and which tools are added.
func TestLanguages(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string // template, the options of its language, then the tools
	}{
		{"weight decides",
			map[string]string{"pyproject.toml": "", "a.py": source(10), "Cargo.toml": "", "b.rs": source(5000), "crates/c.rs": source(5000)},
			"claude-rust [] [python uv]"},
		{"rails", map[string]string{"Gemfile": "source \"https://rubygems.org\"\nruby \"3.3.6\"\n", "app/a.rb": source(9000),
			"package.json": "{}", "app/b.js": source(2000)},
			"claude-ruby [baseImage=ruby:3.3.6-bookworm] [node]"},
		{"laravel", map[string]string{"composer.json": `{"require": {"laravel/framework": "^12.0", "php": "^8.2"}}`, "package.json": "{}",
			"app/a.php": source(900), "b.js": source(400)},
			"claude-php [baseImage=php:8.4-cli-bookworm] [node]"},
		{"older php", map[string]string{"composer.json": `{"require": {"php": "~8.1.0"}}`}, "claude-php [baseImage=php:8.1-cli-bookworm] []"},
		{"petclinic",
			map[string]string{"pom.xml": "<project>\n<java.version>17</java.version>", "build.gradle": "", "gradlew": "", "src/A.java": source(10)},
			"claude-java [baseImage=maven:3.9-eclipse-temurin-17] []"},
		{"gradle", map[string]string{"build.gradle.kts": "kotlin { jvmToolchain(21) }", "gradlew": "", "a.kt": source(10)},
			"claude-java [baseImage=gradle:8-jdk21] []"},
		{"dotnet", map[string]string{"App.sln": "", "src/App/App.csproj": "<TargetFramework>net8.0</TargetFramework>", "src/App/P.cs": source(9)},
			"claude-dotnet [baseImage=mcr.microsoft.com/dotnet/sdk:8.0] []"},
		{"dotnet, several targets",
			map[string]string{"a/A.csproj": "<TargetFramework>net5.0</TargetFramework>", "b/B.fsproj": "<TargetFramework>net5.0</TargetFramework>",
				"c/C.csproj": "<TargetFrameworks>netstandard2.0;net8.0;net10.0;net9.0</TargetFrameworks>",
				"d/D.csproj": "<TargetFramework>net48</TargetFramework>"},
			"claude-dotnet [baseImage=mcr.microsoft.com/dotnet/sdk:10.0] []"},
		{"docs of another language",
			map[string]string{"package.json": "{}", "lib/a.ts": source(10), "docs/pyproject.toml": "", "docs/x.py": source(90000)},
			"claude-node [] []"},
		{"generated file",
			map[string]string{"go.mod": "", "a.go": source(200_000), "b.go": source(200_000), "package.json": "{}", "bundle.js": source(1_000_000)},
			"claude-go [] [node]"},
		{"formatter below", map[string]string{"go.mod": "", "a.go": source(20_000), "site/package.json": "{}", "site/a.js": source(30)},
			"claude-go [] []"},
		{"scripts alone", map[string]string{"add.py": source(100), "test_add.py": source(100), "build.sh": source(900)}, "claude-python [] []"},
		{"scripts beside a project", map[string]string{"go.mod": "", "a.go": source(900), "tool.py": source(5000)}, "claude-go [] []"},
		{"bun", map[string]string{"package.json": `{"packageManager": "bun@1.2.3"}`, "bun.lock": ""}, "claude-node [] [bun=oven/bun:1.2.3]"},
		{"monorepo",
			map[string]string{"frontend/package.json": "{}", "frontend/a.ts": source(900),
				"backend/pyproject.toml": "[project]\nrequires-python = \">=3.11,<3.13\"\n", "backend/a.py": source(990)},
			"claude-python [baseImage=python:3.12-slim-bookworm] [node]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := look(t, project(t, tt.files))
			options, tools := []string{}, []string{}
			for _, l := range r.Languages {
				if l.Template == r.Template.Value && l.Option != "" {
					options = append(options, l.Option)
				} else if l.Template != r.Template.Value {
					tools = append(tools, l.Tools...)
				}
			}
			if got := fmt.Sprint(r.Template.Value, " ", options, " ", tools); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestVersions takes each kind of file that states a version.
func TestVersions(t *testing.T) {
	for _, tt := range []struct{ language, marker, file, text, want string }{
		{"Node", "package.json", ".nvmrc", "v20.11.1\n", "20.11.1 .nvmrc:1"},
		{"Node", "package.json", ".nvmrc", "# ours\nlts/iron\n", "20 .nvmrc:2"},
		{"Node", "package.json", ".nvmrc", "lts/*\n", ""},
		{"Node", "package.json", ".node-version", "18", "18 .node-version:1"},
		{"Node", "package.json", "package.json", "{\n\"engines\": {\"npm\": \">=9\", \"node\": \">= 18.0.0\"}}", "22 package.json:2"},
		{"Node", "package.json", "package.json", `{"engines": {"node": "18.x || 20.x"}}`, "20 package.json:1"},
		{"Node", "package.json", "package.json", `{"engines": {"node": "^18.18.0 || >=23"}}`, "24 package.json:1"},
		{"Node", "package.json", "package.json", `{"engines": {"node": "16 - 20"}}`, "20 package.json:1"},
		{"Node", "package.json", "package.json", `{"volta": {"node": "22.3.0"}}`, "22.3.0 package.json:1"},
		{"Node", "package.json", "package.json", `{"engines": {"vscode": "^1.0"}}`, ""},
		{"Node", "package.json", ".tool-versions", "ruby 3.3.0\nnodejs 20.1.0\n", "20.1.0 .tool-versions:2"},
		{"Python", "setup.py", ".python-version", "3.14.7", "3.14 .python-version:1"},
		{"Python", "setup.py", ".python-version", "pypy3.10-7.3\n", ""},
		{"Python", "pyproject.toml", "pyproject.toml", "[project]\nrequires-python = \">=3.9\"", "3.13 pyproject.toml:2"},
		{"Python", "pyproject.toml", "pyproject.toml", "requires-python = \">=3.8, !=3.9.1, <3.12\"", "3.11 pyproject.toml:1"},
		{"Python", "pyproject.toml", "pyproject.toml", "requires-python = \"==3.12.*\"", "3.12 pyproject.toml:1"},
		{"Python", "pyproject.toml", "pyproject.toml", "requires-python = \"~=3.10.2\"", "3.10 pyproject.toml:1"},
		{"Python", "pyproject.toml", "pyproject.toml", "[tool.poetry.dependencies]\npython = \"^3.9\"", "3.13 pyproject.toml:2"},
		{"Python", "pyproject.toml", "pyproject.toml", "[tool.mypy]\npython_version = \"3.9\"", ""},
		{"Python", "Pipfile", "Pipfile", "python_version = \"3.11\"", "3.11 Pipfile:1"},
		{"Go", "go.mod", "go.mod", "module x\n\ngo 1.24.0\n\ntoolchain go1.25.3\n", "1.25 go.mod:5"},
		{"Go", "go.mod", "go.mod", "module x\ngo 1.16\n", ""},
		{"Rust", "Cargo.toml", "rust-toolchain.toml", "[toolchain]\nchannel = \"1.81.0\"\n", "1.81.0 rust-toolchain.toml:2"},
		{"Rust", "Cargo.toml", "rust-toolchain", "1.80\n", "1.80 rust-toolchain:1"},
		{"Rust", "Cargo.toml", "rust-toolchain.toml", "channel = \"nightly-2026-01-01\"\n", ""},
		{"Ruby", "Gemfile", ".ruby-version", "ruby-3.3.6\n", "3.3.6 .ruby-version:1"},
		{"Ruby", "Gemfile", "Gemfile", "ruby '~> 3.3.0'\n", "3.3 Gemfile:1"},
		{"PHP", "composer.json", "composer.json", `{"require": {"php": ">=8.1"}, "config": {"platform": {"php": "8.2.4"}}}`,
			"8.2 composer.json:1"},
		{"Java", "pom.xml", "pom.xml", "<maven.compiler.source>1.8</maven.compiler.source>", "8 pom.xml:1"},
		{"Java", "pom.xml", "pom.xml", "<release>19</release>", "21 pom.xml:1"},
		{"Java", "build.gradle", "build.gradle", "sourceCompatibility = '17'", "17 build.gradle:1"},
		{"Java", "build.gradle", ".sdkmanrc", "java=21.0.2-tem", "21 .sdkmanrc:1"},
		{".NET", "global.json", "global.json", `{"sdk": {"rollForward": "latest", "version": "8.0.100"}}`, "8.0 global.json:1"},
		{"Node", "package.json", ".nvmrc", "v20\nRUN id", "20 .nvmrc:1"},
		{"Node", "package.json", ".nvmrc", "22@evil.example/x", ""},
		{"Rust", "Cargo.toml", "rust-toolchain", "1.81 AS x", ""},
	} {
		files := map[string]string{tt.marker: "", tt.file: tt.text}
		for _, l := range look(t, project(t, files)).Languages {
			if got := strings.TrimSpace(l.Version.Value + " " + l.Version.Where()); l.Name == tt.language && got != tt.want {
				t.Errorf("%s: %q: %q, want %q", tt.file, tt.text, got, tt.want)
			}
		}
	}
}

// TestDeepProjectIsSeenWhole: a usual project is below the bounds.
func TestDeepProjectIsSeenWhole(t *testing.T) {
	files := map[string]string{"package.json": "{}"}
	for i := range 600 {
		files[fmt.Sprintf("packages/p%d/src/deep/down/a.ts", i)] = "x"
	}
	if r := look(t, project(t, files)); len(r.Notes) > 0 || r.Template.Value != "claude-node" {
		t.Errorf("%v %v", r.Template, flat(r.Notes))
	}
}
