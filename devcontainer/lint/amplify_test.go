//go:build linux

package lint_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/org"
)

// Bounds of what one project of at most a few files may take.
const (
	mostMemory = 3 << 30 // bytes of address space, of which Go reserves some
	mostCPU    = 20      // seconds, on a machine that is slow
)

// hostileFeature is the file of a case about a collection of Features, which has no configuration.
const hostileFeature = "src/a/devcontainer-feature.json"

// inChild names the case that the test program runs when it starts itself.
const inChild = "SBX_AMPLIFICATION"

// hostile is a small project that asks for much more than its size.
type hostile struct {
	name  string
	files func() devcontainer.Memory
	rule  string // that says so; "" when working it out takes no more than it should
}

func repeated(n int, format func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(format(i))
	}
	return b.String()
}

func builtFrom(dockerfile string) func() devcontainer.Memory { return builtFor("dev", dockerfile) }

func builtFor(user, dockerfile string) func() devcontainer.Memory {
	return func() devcontainer.Memory {
		return devcontainer.Memory{configName: `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "` + user + `"}`,
			".devcontainer/Dockerfile": dockerfile}
	}
}

// copying is a Dockerfile with files next to it.
func copying(dockerfile string, more ...string) func() devcontainer.Memory {
	return func() devcontainer.Memory {
		out := builtFrom(dockerfile)()
		for i := 0; i+1 < len(more); i += 2 {
			out[".devcontainer/"+more[i]] = more[i+1]
		}
		return out
	}
}

// repeatedFiles are the names and texts of empty files.
func repeatedFiles(n int, name func(i int) string) (out []string) {
	for i := range n {
		out = append(out, name(i), "")
	}
	return out
}

func composedOf(text string, more ...string) func() devcontainer.Memory {
	return func() devcontainer.Memory {
		out := devcontainer.Memory{configName: `{"dockerComposeFile": "c.yaml", "service": "a", "workspaceFolder": "/w"}`,
			".devcontainer/c.yaml": text}
		for i := 0; i+1 < len(more); i += 2 {
			out[".devcontainer/"+more[i]] = more[i+1]
		}
		return out
	}
}

func configured(text string) func() devcontainer.Memory {
	return func() devcontainer.Memory { return devcontainer.Memory{configName: text} }
}

func hostiles() []hostile {
	big := strings.Repeat("x", 500_000)
	line := big[:60_000] // BuildKit reads no longer lines
	return []hostile{
		{"ENV doubles itself",
			builtFrom("FROM a:1\nENV A0=xxxxxxxxxx\n" +
				repeated(39, func(i int) string { return fmt.Sprintf("ENV A%d=${A%d}${A%d}\n", i+1, i, i) })), "SBX109"},
		{"ARG doubles itself",
			builtFrom("ARG A0=xxxxxxxxxx\n" + repeated(39, func(i int) string { return fmt.Sprintf("ARG A%d=${A%d}${A%d}\n", i+1, i, i) }) +
				"FROM a:1\n"), "SBX109"},
		{"ARG of a stage doubles itself",
			builtFrom("FROM a:1\nARG A0=xxxxxxxxxx\n" +
				repeated(39, func(i int) string { return fmt.Sprintf("ARG A%d=${A%d}${A%d}\n", i+1, i, i) })), "SBX109"},
		{"ENV replaces each letter",
			builtFrom("FROM a:1\nENV A0=xxxxxxxxxx\n" +
				repeated(12, func(i int) string { return fmt.Sprintf("ENV A%d=${A%d//x/${A%d}}\n", i+1, i, i) })), "SBX109"},
		{"a pattern that searches long",
			builtFrom("FROM a:1\nENV A=" + strings.Repeat("a", 30000) + "\nENV B=${A//*a*a*a*a*a*b/c}\nENV C=${A##*a*a*a*a*b}\n"), "SBX109"},
		{"a large value many times", builtFrom("FROM a:1\nENV A=" + line + "\nENV B=" + strings.Repeat("$A", 30_000) + "\n"), "SBX109"},
		{"a large value in many variables",
			builtFrom("FROM a:1\nENV A=" + line + "\n" + repeated(15_000, func(i int) string { return fmt.Sprintf("ENV B%d=$A\n", i) })), "SBX109"},
		{"scripts in a deep folder", copying("FROM debian:12\nCOPY . /q\nWORKDIR " + strings.Repeat("/a", 2000) + "\n" +
			repeated(30_000, func(i int) string { return fmt.Sprintf("RUN ./x%d\n", i) })), ""},
		{"a large value in commands",
			builtFrom("FROM a:1\nENV A=" + line + "\n" + repeated(20_000, func(int) string { return "RUN echo $A $A\n" })), "SBX109"},
		{"a large value in COPY --from",
			builtFrom("FROM a:1\nENV A=" + line + "\n" + repeated(20_000, func(int) string { return "COPY --from=$A$A x y\n" })), "SBX109"},
		{"a large value in COPY",
			builtFrom("FROM a:1\nENV A=" + line + "\n" + repeated(20_000, func(int) string { return "COPY $A.sh$A.sh /\n" }) +
				"ENTRYPOINT [\"/sbx-init\"]\n"), "SBX109"},
		{"20,000 stages", builtFrom(repeated(20_000, func(i int) string { return fmt.Sprintf("FROM a:1 AS s%d\n", i) })), "SBX109"},
		{"a chain of 20,000 stages",
			builtFrom("FROM a:1 AS s0\n" +
				repeated(20_000, func(i int) string { return fmt.Sprintf("FROM s%d AS s%d\nENTRYPOINT [\"/sbx-init\"]\n", i, i+1) })), "SBX109"},
		{"many stages on a long one",
			builtFrom("FROM debian:13 AS s0\n" +
				repeated(10_000, func(i int) string { return fmt.Sprintf("RUN useradd u%d && pip install x\n", i) }) +
				repeated(900, func(i int) string { return fmt.Sprintf("FROM s0 AS l%d\nRUN a\n", i) }) + "FROM a:1\n" +
				repeated(900, func(i int) string { return fmt.Sprintf("COPY --from=l%d a /\n", i) })), "SBX109"},
		{"owners that no step makes",
			builtFrom("FROM debian:13\n" +
				repeated(15_000, func(i int) string { return fmt.Sprintf("RUN echo v%d\nCOPY --chown=u%d a /b\n", i, i) })), "SBX703"},
		{"owners that late steps make",
			builtFrom("FROM debian:13\n" + repeated(15_000, func(i int) string { return fmt.Sprintf("RUN useradd u%d\n", 14_999-i) }) +
				repeated(15_000, func(i int) string { return fmt.Sprintf("COPY --chown=u%d a /b\n", i) })), ""},
		{"names near many others",
			builtFrom("FROM a:1\n" + repeated(15_000, func(i int) string { return fmt.Sprintf("ENV ABCD%d=x\nLABEL x=$ABED%d\n", i, i) })),
			"SBX740"},
		{"one ENV of many variables",
			builtFrom("FROM a:1\nENV" + repeated(20_000, func(i int) string { return fmt.Sprintf(" A%d=$A%d \\\n", i, i+1) }) + " B=c\n"), ""},
		{"one ENV of many long names",
			builtFrom("FROM a:1\nENV" + repeated(45_000, func(i int) string { return fmt.Sprintf(" VARIABLE_%d=x \\\n", i) }) +
				" B=c\n"), ""},
		{"modes of many scripts", func() devcontainer.Memory {
			out := builtFrom("FROM debian:13\n" + repeated(10_000, func(i int) string { return fmt.Sprintf("COPY a%d.sh /\n", i) }) +
				repeated(10_000, func(i int) string { return fmt.Sprintf("RUN chmod +x /b%d.sh && python /a%d.py\n", i, i) }))()
			out[".devcontainer/a1.sh"] = ""
			return out
		}, "SBX729"},
		{"variables times stages",
			builtFrom("FROM a:1 AS s0\n" + repeated(1_000, func(i int) string { return fmt.Sprintf("ENV A%d=\n", i) }) +
				repeated(900, func(i int) string { return fmt.Sprintf("FROM s%d AS s%d\n", i, i+1) })), "SBX109"},
		{"variables times instructions",
			builtFrom("FROM a:1\n" + repeated(20_000, func(i int) string { return fmt.Sprintf("ENV A%d=\nRUN a\n", i) })), ""},
		{"sudo sudo sudo", builtFrom("FROM a:1\nRUN <<E\n" + strings.Repeat(strings.Repeat("sudo ", 10_000)+"\\\n", 15) + "x\nE\n"), "SBX109"},
		{"nested substitutions",
			builtFrom("FROM a:1\nRUN <<E\n" + strings.Repeat(strings.Repeat("$(", 10_000)+"\n", 20) + "x" +
				strings.Repeat(strings.Repeat(")", 10_000)+"\n", 20) + "E\n"), "SBX109"},
		{"nested groups",
			builtFrom("FROM a:1\nRUN <<E\n" + strings.Repeat(strings.Repeat("(", 10_000)+"\n", 30) + "x" +
				strings.Repeat(strings.Repeat(")", 10_000)+"\n", 30) + "E\n"), "SBX109"},
		{"nested ifs", builtFrom("FROM a:1\nRUN <<E\n" + strings.Repeat("if \n", 150_000) + "x" + strings.Repeat("; then y; fi\n", 10) + "E\n"),
			"SBX109"},
		{"a chain of commands", builtFrom("FROM a:1\nRUN <<E\n" + strings.Repeat("a &&\n", 150_000) + "x\nE\n"), "SBX109"},
		{"copies of copies", builtFrom("FROM a:1 AS s0\n" + repeated(60, func(i int) string {
			return fmt.Sprintf("FROM a:1 AS s%d\nCOPY --from=s%d /sbx-init /sbx-init\nCOPY --from=s%d /sbx-init* /\n"+
				"COPY --from=s%d /sbx-init /sbx-init\n", i+1, i, i, i)
		}) + "ENTRYPOINT [\"/sbx-init\"]\n"), ""},
		{"nested defaults", builtFrom("FROM a:1\nRUN <<E\necho " + strings.Repeat("${A:-", 9_000) + "x" + strings.Repeat("}", 9_000) + "\nE\n"),
			"SBX109"},
		{"here-documents for many commands",
			builtFrom("FROM a:1\nRUN <<E\n{\n" + strings.Repeat("a\n", 3_000) + "} <<'X' <<'Y'\n" + strings.Repeat(line+"\n", 5) + "X\n" +
				strings.Repeat(line+"\n", 5) + "Y\nE\n"), "SBX109"},
		{"substitutions for many commands",
			builtFrom("FROM a:1\nRUN <<E\n{\n" + strings.Repeat("a\n", 100_000) + "} < <(\n" + strings.Repeat("b\n", 100_000) + ")\nE\n"), "SBX109"},
		{"pipes of groups", builtFrom("FROM a:1\nRUN <<E\n" + strings.Repeat("{ a;a;a;a;a;a;a;a; } |\n", 20_000) + "sh\nE\n"), "SBX109"},
		{"an array of many words",
			builtFrom("FROM a:1\nRUN [" + strings.Repeat(strings.Repeat(`"\u0061\u0062",`, 3_000)+"\\\n", 20) + `"x"]` + "\n"), "SBX109"},
		{"many ignoring comments", builtFrom("FROM a:1\n" + strings.Repeat("# sbx-ignore SBX701: x\n", 40_000)), "SBX109"},
		{"many unknown instructions", builtFrom("FROM debian:13\n" + strings.Repeat("RUNN a\n", 140_000)), "SBX715"},
		{"curl to shell many times", builtFrom("FROM a:1\n" + strings.Repeat("RUN curl http://a.b/c | sh\n", 30_000)), ""},

		{"a list of packages in many copies", copying("FROM debian:12\n"+strings.Repeat("COPY r.txt /\n", 20_000)+"RUN pip install -r r.txt\n",
			"r.txt", strings.Repeat("a==1\n", 200_000)), ""},
		{"a list of packages for many commands", copying("FROM a:1\nWORKDIR /app\nCOPY . /app/\n"+
			strings.Repeat("RUN pip install -r r.txt\n", 40_000), "r.txt", strings.Repeat("-e .\n", 200_000), "setup.py", ""), ""},
		{"workspaces of workspaces", copying("FROM node:20\nWORKDIR /app\nCOPY . ./\n"+strings.Repeat("RUN npm ci\n", 60_000),
			"package.json", `{"workspaces": [`+strings.Repeat(`"d/*",`, 100_000)+`"d/*"]}`, "package-lock.json", "{}", "d/a", "", "d/b", ""), ""},
		{"a script many times", copying("FROM debian:13\n"+strings.Repeat("COPY --chmod=755 a.sh /\nRUN /a.sh\n", 20_000),
			"a.sh", "#!/bin/sh\n"+strings.Repeat(big, 2)), ""},
		{"patterns of many copies", copying("FROM debian:13\n"+strings.Repeat("COPY d/"+strings.Repeat("*x", 200)+" /x/\n", 2_000)+
			"RUN python a.py\n", repeatedFiles(4_000, func(i int) string { return fmt.Sprintf("d/f%d.txt", i) })...), ""},
		{"files that steps make and others take", copying("FROM debian:13\nWORKDIR /app\nCOPY a.txt /app/\n"+
			repeated(25_000, func(i int) string { return fmt.Sprintf("RUN touch /m%d\n", i) })+strings.Repeat("RUN chmod +x a.txt\n", 20_000),
			"a.txt", ""), ""},
		{"a .dockerignore of long patterns", copying("FROM debian:13\nCOPY "+strings.Repeat(line[:60]+" ", 500)+"/x\n"+
			strings.Repeat("COPY "+line[:60]+".y /x\n", 5_000), ".dockerignore", strings.Repeat(strings.Repeat("*x", 450)+"y\n", 999)), ""},
		{"folders below folders", builtFrom("FROM debian:13\n" + strings.Repeat("WORKDIR a\n", 90_000)), ""},
		{"many arguments in one step", builtFrom(repeated(25_000, func(i int) string { return fmt.Sprintf("ARG A%d\n", i) }) +
			"FROM debian:13\nRUN <<E\n" + repeated(50_000, func(i int) string { return fmt.Sprintf("echo $A%d\n", i) }) + "E\n"), ""},
		{"many commands that are judged by all in front of them", builtFrom("FROM debian:13\n" +
			repeated(40_000, func(i int) string { return fmt.Sprintf("RUN chown u%d /a\n", i) })), ""},
		{"a program's refusals many times", builtFrom("FROM golang:1.22\n" + strings.Repeat("RUN go get x y\n", 60_000)), ""},
		{"installers many times", builtFrom("FROM debian:13\n" + strings.Repeat("RUN curl https://sh.rustup.rs | sh\nRUN ln a b\n", 20_000)), ""},
		{"a user with a long name", builtFor(big[:60_000], "FROM debian:13\n"+
			repeated(20_000, func(i int) string { return fmt.Sprintf("RUN pip install --user p%d\n", i) })), ""},
		{"places that another user writes", builtFrom("FROM debian:13\n" +
			repeated(12_000, func(i int) string { return fmt.Sprintf("RUN chown x /q%d\n", i) }) + "RUN chown dev /opt\nUSER dev\n" +
			repeated(12_000, func(i int) string { return fmt.Sprintf("RUN touch /opt/a/a/a/f%d\n", i) })), ""},
		{"volumes where another user writes", builtFrom("FROM debian:13\n" + strings.Repeat("VOLUME /v\n", 30_000) + "USER dev\n" +
			repeated(30_000, func(i int) string { return fmt.Sprintf("RUN touch /q/f%d\n", i) })), ""},
		{"sudo without a password many times", builtFrom("FROM debian:13\nUSER dev\n" + strings.Repeat("RUN sudo ls\n", 60_000)), ""},
		{"installations below many mounts", func() devcontainer.Memory {
			out := builtFrom("FROM debian:13\nWORKDIR /w\n" + strings.Repeat("RUN npm ci && ls\n", 40_000))()
			out[configName] = `{"build": {"dockerfile": "Dockerfile"}, "workspaceMount": "type=bind,source=/a,target=/w", "workspaceFolder": "/w",
				"mounts": [` + strings.Repeat(`"type=volume,source=x,target=/w/vendor",`, 16_000) +
				`"type=volume,source=x,target=/w/node_modules"]}`
			return out
		}, ""},
		{"many hooks and many steps", func() devcontainer.Memory {
			out := builtFrom("FROM debian:13\n" + strings.Repeat("RUN a\n", 100_000))()
			out[configName] = `{"build": {"dockerfile": "Dockerfile"}, "postCreateCommand": {` +
				repeated(40_000, func(i int) string { return fmt.Sprintf(`"a%d": "b",`, i) }) + `"x": "y"}}`
			return out
		}, ""},
		{"many hooks and many variables", configured(`{"image": "python:3.12", "appPort": 1, "containerEnv": {` +
			repeated(20_000, func(i int) string { return fmt.Sprintf(`"A%d": "x",`, i) }) + `"B": "x"}, "postStartCommand": {` +
			repeated(12_000, func(i int) string { return fmt.Sprintf(`"a%d": "flask run",`, i) }) + `"x": "y"}}`), ""},
		{"many servers and many variables", composedOf("services:\n  a:\n    image: a:1\n    ports: ['1:1']\n    command: sh -c \"" +
			strings.Repeat("flask run --host 0; ", 3_500) + "\"\n    environment:\n" +
			repeated(45_000, func(i int) string { return fmt.Sprintf("      A%d: x\n", i) })), ""},
		{"hooks with a user of a long name", configured(`{"image": "debian:13", "remoteUser": "` + big[:300_000] + `", "postCreateCommand": {` +
			repeated(14_000, func(i int) string { return fmt.Sprintf(`"a%d": "echo x > /etc/a",`, i) }) + `"x": "y"}}`), ""},
		{"values below long names", configured(`{"image": "a:1", "customizations": ` + strings.Repeat(`{"`+big[:2_500]+`":`, 190) + "[" +
			strings.Repeat("1,", 200_000) + "1]" + strings.Repeat("}", 190) + "}"), ""},
		{"names below a long one", configured(`{"image": "a:1", "` + big + `": {` +
			repeated(40_000, func(i int) string { return fmt.Sprintf(`"a%d": 1,`, i) }) + `"b": 1}}`), ""},
		{"a large package.json for many hooks", func() devcontainer.Memory {
			out := configured(`{"image": "node:20", "postCreateCommand": {` +
				repeated(18_000, func(i int) string { return fmt.Sprintf(`"a%d": "pnpm install --frozen-lockfile",`, i) }) + `"x": "y"}}`)()
			out["package.json"] = `{"name": "` + strings.Repeat(big, 2) + `"}`
			return out
		}, ""},
		{"versions in many folders", func() devcontainer.Memory {
			out := configured(`{"image": "golang:1.20", "onCreateCommand": "bash s.sh", "postCreateCommand": {` +
				repeated(26_000, func(i int) string { return fmt.Sprintf(`"a%d": "cd d%d && go build",`, i, i) }) + `"x": "y"}}`)()
			out["s.sh"] = strings.Repeat("echo x\n", 3_900)
			return out
		}, ""},
		{"external networks and many other files", func() devcontainer.Memory {
			out := composedOf("services: {a: {image: 'a:1'}}\nnetworks:\n" +
				repeated(50, func(i int) string { return fmt.Sprintf("  n%d: {external: true}\n", i) }))()
			other := "\nnetworks:\n" + big
			for i := range 8_000 {
				out[fmt.Sprintf(".devcontainer/x%d.compose.yml", i)] = other
			}
			return out
		}, ""},
		{"a Feature in many scenarios", func() devcontainer.Memory {
			return devcontainer.Memory{"src/a/install.sh": strings.Repeat("x\n", 500_000), "test/a/scenarios.json": "{" +
				repeated(12_000, func(i int) string { return fmt.Sprintf(`"s%d": {"image": "a:1", "features": {"a": {}}},`, i) }) + `"t": {}}`,
				hostileFeature: `{"id": "a", "version": "1.0.0", "name": "a", "options": {` +
					repeated(10_000, func(i int) string { return fmt.Sprintf(`"p%d": {"type": "string", "default": ""},`, i) }) +
					`"q": {"type": "string", "default": ""}}}`}
		}, ""},
		{"many options of a scenario", func() devcontainer.Memory {
			return devcontainer.Memory{"src/a/install.sh": strings.Repeat(big, 2), "test/a/s.sh": "",
				hostileFeature: `{"id": "a", "version": "1.0.0", "name": "a", "options": {` +
					repeated(10_000, func(i int) string { return fmt.Sprintf(`"p%d": {"type": "string", "default": ""},`, i) }) +
					`"q": {"type": "string", "default": ""}}}`,
				"test/a/scenarios.json": `{"s": {"image": "a:1", "features": {"a": {` +
					repeated(60_000, func(i int) string { return fmt.Sprintf(`"o%d": "x",`, i) }) + `"q": ""}}}}`}
		}, ""},
		{".env many times", composedOf("services:\n  a:\n    image: a:1\n    command: ["+strings.Repeat(`"$A",`, 100_000)+`"x"]`+"\n", ".env",
			"A="+big+"\n"), "SBX109"},
		{"an alias many times",
			composedOf("x-a: &a \"$$" + big + "\"\nservices:\n  a:\n    image: a:1\n    command: [" + strings.Repeat("*a,", 90_000) + "x]\n"),
			"SBX109"},
		{"one line of many values", composedOf("services: {a: {image: 'a:1', command: [" + strings.Repeat("x,", 95_000) + "x]}}\n"), ""},
		{"one line of many names",
			composedOf("services: {a: {image: 'a:1', environment: {" + repeated(48_000, func(i int) string { return fmt.Sprintf("A%d: x,", i) }) +
				"B: y}}}\n"), ""},
		{"extends adds up",
			composedOf("services:\n  a: {image: 'a:1'}\n  s0: {image: 'a:1', environment: {B: x}}\n" + repeated(15_000, func(i int) string {
				return fmt.Sprintf("  s%d: {extends: s%d, environment: {A%d: x}}\n", i+1, i, i)
			})), "SBX109"},
		{"extends makes long lists",
			composedOf("services:\n  a: {image: 'a:1'}\n  s0: {image: 'a:1', volumes: ['b:/b']}\n" + repeated(15_000, func(i int) string {
				return fmt.Sprintf("  s%d: {extends: s%d, volumes: ['v%d:/v%d']}\n", i+1, i, i, i)
			})), "SBX109"},
		{"volumes_from of volumes_from",
			composedOf("services:\n  a: {image: 'a:1', volumes_from: [l0n0, l0n1, l0n2, l0n3, l0n4]}\n"+repeated(11, func(l int) string {
				return repeated(5, func(n int) string {
					return fmt.Sprintf("  l%dn%d: {image: 'a:1', volumes: ['x%d%d:/x%d%d'], volumes_from: [l%dn0, l%dn1, l%dn2, l%dn3, l%dn4]}\n", l, n, l,
						n, l, n, l+1, l+1, l+1, l+1, l+1)
				})
			}), "sandbox.jsonc", "{}"), "SBX109"},
		{"many services",
			composedOf("services:\n  a: {image: 'a:1'}\n" +
				repeated(25_000, func(i int) string { return fmt.Sprintf("  s%d: {image: 'a:1'}\n", i) })), ""},
		{"many services that depend",
			composedOf("services:\n  a: {image: 'a:1'}\n" +
				repeated(15_000, func(i int) string { return fmt.Sprintf("  s%d: {image: 'a:1', network_mode: 'service:a'}\n", i) })), ""},
		{"a large file included many times",
			composedOf("include: ["+strings.Repeat("b.yaml,", 60)+"b.yaml]\nservices: {a: {image: 'a:1'}}\n", "b.yaml",
				"x-a: ["+strings.Repeat("x,", 95_000)+"x]\n"), "SBX109"},
		{"include of each other",
			composedOf("include: [b.yaml, b.yaml]\nservices: {a: {image: 'a:1'}}\n", "b.yaml", "include: [c.yaml, c.yaml]\n"), "SBX316"},
		{"merge keys",
			composedOf("x0: &x0 {" + repeated(100, func(i int) string { return fmt.Sprintf("k%d: v,", i) }) + "}\n" +
				repeated(30, func(i int) string { return fmt.Sprintf("x%d: &x%d {a: *x%d, b: *x%d}\n", i+1, i+1, i, i) }) +
				"services: {a: {image: 'a:1'}}\n"), "SBX316"},
		{"env_file for many services",
			composedOf("services:\n  a: {image: 'a:1'}\n"+
				repeated(12_000, func(i int) string { return fmt.Sprintf("  s%d: {image: 'a:1', env_file: big.env}\n", i) }), "big.env",
				strings.Repeat("A=b\n", 200_000)), ""},
		{"env_file for many databases",
			composedOf("services:\n  a: {image: 'a:1'}\n"+
				repeated(2_000, func(i int) string { return fmt.Sprintf("  s%d: {image: 'postgres:16', env_file: big.env}\n", i) }), "big.env",
				strings.Repeat("A=b\n", 200_000)), ""},
		{"defaults in defaults",
			composedOf("services:\n  a:\n    image: a:1\n    command: \"" + strings.Repeat("${A:-", 99) + strings.Repeat("x", 900_000) +
				strings.Repeat("}", 99) + "\"\n"), "SBX109"},

		{"many hooks and many mounts", func() devcontainer.Memory {
			out := configured(`{"image": "a:1", "mounts": [` +
				repeated(8_000, func(i int) string { return fmt.Sprintf(`"source=a%d,target=/b%[1]d,type=volume",`, i) }) +
				`"source=a,target=/a,type=volume"], "postCreateCommand": {` +
				repeated(14_000, func(i int) string { return fmt.Sprintf(`"a%d": "bash /.devcontainer/x.sh",`, i) }) + `"x": "y"}}`)()
			out[".devcontainer/x.sh"] = ""
			return out
		}, "SBX318"},
		{"many connections", composedOf("services:\n  a:\n    image: a:1\n    environment:\n" +
			repeated(12_000, func(i int) string { return fmt.Sprintf("      DB%d_HOST: \"Server=db%[1]d;Port=1\"\n", i) }) +
			"  db1: {image: 'postgres:16', ports: [" + strings.Repeat("'1:2',", 5_000) + "'1:2']}\n" +
			repeated(6_000, func(i int) string {
				return fmt.Sprintf("  x%d: {image: 'x:16', networks: [n], depends_on: [db1]}\n", i)
			})), ""},
		{"many ports of databases", func() devcontainer.Memory {
			out := composedOf("services:\n  a: {image: 'a:1'}\n" +
				repeated(20_000, func(i int) string { return fmt.Sprintf("  db%d: {image: 'redis:7'}\n", i) }))()
			out[configName] = strings.Replace(out[configName], "{", `{"forwardPorts": [`+strings.Repeat("1,", 100_000)+`1], `, 1)
			return out
		}, ""},
		{"many brokers", composedOf("services:\n  a: {image: 'a:1'}\n" + repeated(8_000, func(i int) string {
			return fmt.Sprintf("  k%d: {image: 'bitnami/kafka:3', environment: {KAFKA_ADVERTISED_LISTENERS: 'PLAINTEXT://localhost:9092'}}\n", i)
		})), ""},
		{"many health checks", composedOf("services:\n  a: {image: 'a:1'}\n" + repeated(14_000, func(i int) string {
			return fmt.Sprintf("  k%d: {image: 'postgres:17', healthcheck: {test: 'curl a'}}\n", i)
		})), "SBX333"},
		{"many dollar signs in .env", composedOf("services: {a: {image: 'a:1'}}\n", ".env",
			repeated(50_000, func(i int) string { return fmt.Sprintf("SECRET%d=x$abc\n", i) })), "SBX334"},
		{"many services of many that run", func() devcontainer.Memory {
			out := composedOf("services:\n  a: {image: 'a:1'}\n" +
				repeated(25_000, func(i int) string { return fmt.Sprintf("  k%d: {image: 'a:1'}\n", i) }))()
			out[configName] = strings.Replace(out[configName], "{", `{"runServices": [`+
				repeated(40_000, func(i int) string { return fmt.Sprintf("\"k%d\",", 99_999-i) })+`"a"], `, 1)
			return out
		}, ""},
		{"scripts of hooks many times", func() devcontainer.Memory {
			out := configured(`{"image": "node:20", "postCreateCommand": {` +
				repeated(10_000, func(i int) string {
					return fmt.Sprintf(`"a%d": "bash s.sh", "b%[1]d": "npm run x", "c%[1]d": "make x",`, i)
				}) +
				`"x": "y"}}`)()
			out["s.sh"] = "#!/bin/bash\n" + strings.Repeat("npm ci\n", 3_900)
			out["package.json"] = `{"scripts": {` + repeated(30_000, func(i int) string { return fmt.Sprintf(`"s%d": "a",`, i) }) + `"t": "b"}}`
			out["Makefile"] = repeated(40_000, func(i int) string { return fmt.Sprintf("t%d: u\n\tx\n", i) })
			return out
		}, "SBX318"},
		{"many mounts",
			configured(`{"image": "a:1", "mounts": [` + strings.Repeat(`"type=volume,source=v,target=/a",`, 25_000) +
				`"type=volume,source=v,target=/b"]}`), "SBX312"},
		{"many options", configured(`{"image": "a:1", "runArgs": [` + strings.Repeat(`"-v","/a:/b",`, 60_000) + `"--init"]}`), ""},
		{"many ports",
			configured(`{"image": "a:1", "runArgs": [` + strings.Repeat(`"-p","3000:3000:tcp","-p","1:1",`, 15_000) + `"--init"]}`), ""},
		{"many unknown names",
			configured(`{"image": "a:1"` + repeated(50_000, func(i int) string { return fmt.Sprintf(`, "remoteUse%d": 1`, i) }) + `}`), "SBX201"},
		{"a long unknown name", configured(`{"image": "a:1", "` + big + `": 1, "service` + big[:300_000] + `": 1}`), "SBX201"},
		{"many ignoring comments in JSON",
			configured("{\"image\": \"a:1\",\n" + strings.Repeat("// sbx-ignore SBX402: x\n", 20_000) + "\"forwardPorts\": [" +
				strings.Repeat("1,", 200_000) + "1]}"), "SBX109"},
		{"many variables", configured(`{"image": "a:1", "containerEnv": {"A": "` + strings.Repeat("${localEnv:A}", 70_000) + `"}}`), ""},
		{"many commands",
			configured(`{"image": "a:1", "postCreateCommand": {` +
				repeated(20_000, func(i int) string { return fmt.Sprintf(`"c%d": "sudo a | b",`, i) }) + `"x": "y"}}`), ""},
		{"many files that hooks want", func() devcontainer.Memory {
			out := configured(`{"image": "a:1", "postCreateCommand": {` +
				repeated(8_000, func(i int) string { return fmt.Sprintf(`"c%d": "pip install -r r%d.txt",`, i, i) }) + `"x": "y"}}`)()
			for i := range 8_000 {
				out[fmt.Sprintf("f%d", i)] = ""
			}
			return out
		}, "SBX318"},
		{"commands that ask large files of the project", func() devcontainer.Memory {
			return devcontainer.Memory{"package.json": `{"dependencies": {"` + big + `": "1"}, "engines": {"node": "99"}}`,
				configName: `{"image": "golang:1.24-alpine", "postCreateCommand": "` + strings.Repeat("go build x && poetry install --with a && "+
					"make x && npm ci && just a && composer run x && uv sync --group a && ", 4_000) + `true", "onCreateCommand": {` +
					repeated(4_000, func(i int) string { return fmt.Sprintf(`"c%d": "make x%d && bash s%d.sh",`, i, i, i) }) + `"x": "y"}}`,
				"Makefile": strings.Repeat("a:\n\tb\n", 9_000), "justfile": strings.Repeat("a: b\n", 90_000),
				"composer.json": `{"scripts": {"` + big + `": ""}}`, "go.mod": "module a\n\ngo 1.99\n",
				"pyproject.toml": "[dependency-groups]\n" + strings.Repeat("a1 = []\n", 60_000)}
		}, ""},
		{"a script with many commands", func() devcontainer.Memory {
			return devcontainer.Memory{configName: `{"image": "python:3.12-slim", "postCreateCommand": "bash s.sh", "appPort": 1}`,
				"s.sh": strings.Repeat("cd a\npip install -r r\nflask run\n", 2_000), "r": strings.Repeat("a==1\n", 90_000)}
		}, ""},
		{"many volumes and networks of others", composedOf("services:\n  a:\n    image: a:1\n    volumes:\n" +
			repeated(9_000, func(i int) string { return fmt.Sprintf("      - ./a%d:/a%d\n      - v%d:/b%d\n", i, i, i, i) }) + "volumes:\n" +
			repeated(9_000, func(i int) string { return fmt.Sprintf("  v%d: {external: true}\n", i) })), ""},
		{"an order of many Features",
			configured(`{"image": "a:1", "features": {` +
				repeated(15_000, func(i int) string { return fmt.Sprintf(`"ghcr.io/a/b/f%d:1": {},`, i) }) +
				`"ghcr.io/a/b/c:1": {}}, "overrideFeatureInstallOrder": [` +
				repeated(15_000, func(i int) string { return fmt.Sprintf(`"ghcr.io/a/b/g%d",`, i) }) + `"a"]}`), "SBX325"},
		{"a nested command",
			configured(`{"image": "a:1", "remoteUser": "dev", "securityOpt": ["no-new-privileges"], "postCreateCommand": "` +
				strings.Repeat("$(", 200_000) + strings.Repeat(")", 200_000) + `"}`), "SBX109"},
		{"many Features",
			configured(`{"image": "a:1", "features": {` + repeated(20_000, func(i int) string { return fmt.Sprintf(`"./f%d": {},`, i) }) +
				`"./g": {}}}`), "SBX311"},
		{"a list file many times", func() devcontainer.Memory {
			return devcontainer.Memory{configName: `{"image": "a:1", "remoteUser": "dev"}`,
				".devcontainer/sandbox.jsonc": `{"network": {"allow": [` + strings.Repeat(`"@l",`, 100_000) + `"@l"]}}`,
				".devcontainer/l":             repeated(40_000, func(i int) string { return fmt.Sprintf("h%d.example.com\n", i) })}
		}, "SBX211"},
	}
}

// Whatever a few small files say, they cost no more than a bounded amount of
// memory and work, and what is not worked out is a finding. Each case runs in a
// process of its own that the kernel ends at the bound.
func TestAmplificationIsBounded(t *testing.T) {
	if name := os.Getenv(inChild); name != "" {
		judgeHostile(t, name)
		return
	}
	if testing.Short() {
		t.Skip("some 50 processes that work hard: left out by -short")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hostiles() {
		t.Run(h.name, func(t *testing.T) {
			cmd := exec.Command(program, "-test.run=^TestAmplificationIsBounded$", "-test.v")
			cmd.Env = append(os.Environ(), inChild+"="+h.name, "GOMAXPROCS=1")
			out, err := cmd.CombinedOutput()
			text := string(out)
			if err != nil {
				t.Fatalf("%v (%s): %s", err, cmd.ProcessState.UserTime(), text[:min(len(text), 600)])
			}
			usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			t.Logf("%d MiB, %s", usage.Maxrss>>10, cmd.ProcessState.UserTime())
			if h.rule != "" && !strings.Contains(text, "rules: ") || h.rule != "" && !strings.Contains(text, h.rule) {
				t.Errorf("no %s: %s", h.rule, text[:min(len(text), 600)])
			}
		})
	}
}

// judgeHostile is one case, within the bounds.
func judgeHostile(t *testing.T, name string) {
	all := hostiles()
	i := slices.IndexFunc(all, func(h hostile) bool { return h.name == name })
	files := all[i].files()
	size := 0
	for _, text := range files {
		size += len(text)
	}
	all = nil
	runtime.GC()
	for what, most := range map[int]uint64{syscall.RLIMIT_AS: mostMemory, syscall.RLIMIT_CPU: mostCPU} {
		if err := syscall.Setrlimit(what, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			t.Fatal(err)
		}
	}
	judged := configName
	if files[hostileFeature] != "" {
		judged = hostileFeature
	}
	p, err := devcontainer.Load(files, judged, judged)
	if err != nil {
		t.Fatal(err)
	}
	p.Org, _ = org.Parse("org.jsonc", []byte(allForbidden)) // which has it read twice
	rules := map[string]bool{}
	for _, f := range lint.Check(p) {
		rules[f.Rule] = true
	}
	lint.Fix(p, nil, nil)
	var found []string
	for rule := range rules {
		found = append(found, rule)
	}
	slices.Sort(found)
	fmt.Printf("%d bytes; rules: %s\n", size, strings.Join(found, " "))
}
