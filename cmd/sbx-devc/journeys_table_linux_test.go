package main

// journey is a user's way from a clone to the agent's commit on a branch, in a small
// project of one kind. Scripts are for sh.
type journey struct {
	name string
	uids []int // who walks it; nil = 1000
	// clone makes the project in its folder, which is empty; see cloned for the start
	// that all have.
	clone string
	from  string // the subfolder or the worktree that the user works in; "" = the project
	init  string // arguments of init
	flags string // of run: what it takes in addition to init
	// network is a script that puts what run reaches by --engine-network into the engine's
	// network $NETWORK, from a folder with the files of serve; "" = nothing.
	network string
	serve   map[string][]byte
	before  string   // what the user types between init and run; "" = nothing
	after   string   // on the host, when all is over; "" = nothing
	says    []string // lines of run's report
	work    string   // the agent's: install, test; what it leaves is committed after it
	again   string   // the agent's second run, in a sandbox without a network: caches; "" = none
	check   string   // on the host in the repository, with the agent's branch merged
}

// yarn is the one that package.json names, from Corepack, which the images of Node up to
// 24 have. The registry is npm's, because yarnpkg.com is only another name of it.
const yarn = `registry=$(npm config get registry); registry=${registry%/}; export COREPACK_NPM_REGISTRY=$registry
	yarn() { npx --prefer-offline -y corepack@0.34.0 yarn "$@"; }
	`

var journeys = []journey{
	{
		name: "node", uids: []int{1000, 1001, 0},
		clone: `mkdir .husky && echo 'exit 1' >.husky/pre-commit
			echo 'node_modules' >.gitignore
			cat >package.json <<'X'
{"name": "app", "private": true, "scripts": {"prepare": "husky install", "test": "node --test"},
 "dependencies": {"is-number": "7.0.0"}, "devDependencies": {"husky": "8.0.3"}}
X
			echo 'require("node:test")("adds", () => { if (!require("is-number")(require("./f")())) throw "no" })' >f.test.js
			echo 'module.exports = () => NaN' >f.js`,
		work:  `npm install --no-audit --no-fund && echo 'module.exports = () => 1' >f.js && npm test`,
		again: `rm -rf node_modules && npm ci --offline --no-audit --no-fund && npm test && echo '// again' >>f.js`,
		check: `test ! -e .git/hooks/pre-commit && test -z "$(git config core.hooksPath)" && test -z "$(ls -A .husky/_ 2>/dev/null)" &&
			test -f package-lock.json`,
	},
	{
		name: "node, husky 5 to 9 and lefthook",
		clone: `mkdir .husky && echo 'exit 1' >.husky/pre-commit; echo _ >.husky/.gitignore; echo 'node_modules' >.gitignore; echo '{"name": ` +
			`"app", "private": true}' >package.json
			echo 'pre-commit: {commands: {x: {run: "false"}}}' >lefthook.yml
			printf '#!/bin/sh\necho ran >>.git/ran\n' >.git/hooks/post-commit && chmod +x .git/hooks/post-commit`,
		work: `for v in 5.2.0 6.0.0 7.0.4 8.0.3 9.1.7; do
				case $v in 9*) prepare=husky ;; *) prepare='husky install' ;; esac
				echo '{"name": "app", "private": true, "scripts": {"prepare": "'$prepare'"}, "devDependencies": {"husky": "'$v'"}}' >package.json
				rm -rf node_modules package-lock.json; npm install --no-audit --no-fund || { echo "husky $v fails"; exit 1; }
			done; npm install --no-audit --no-fund --save-dev lefthook@1.13.6 && npx lefthook install; echo done >done`,
		check: `test "$(ls .git/hooks | grep -v sample)" = post-commit && test -z "$(git config core.hooksPath)" && test -e done
			n=$(wc -l <.git/ran); git commit -q --allow-empty -m mine; test $(wc -l <.git/ran) = $((n+1))`,
	},
	{
		name: "node, husky 9 that the user has installed", // its hooks are the host's
		clone: `echo node_modules >.gitignore; mkdir .husky && echo 'echo ran >>.git/ran' >.husky/pre-commit
			echo '{"name": "app", "private": true, "scripts": {"prepare": "husky"}, "devDependencies": {"husky": "9.1.7"}}' >package.json
			npm install --no-audit --no-fund && test "$(git config core.hooksPath)" = .husky/_ && cat .husky/_/* .husky/_/.gitignore ` +
			`.husky/pre-commit >.git/before`,
		work: `rm -rf node_modules; npm install --no-audit --no-fund; echo 'echo evil >.git/evil' >.husky/_/h; echo done >done
			cp .husky/_/h .husky/_/pre-commit; git config core.hooksPath .evil; mkdir .evil; ` +
			`cp .husky/_/h .evil/pre-commit; chmod +x .evil/pre-commit
			git config core.hooksPath /dev/null`,
		check: `test -e done && cat .husky/_/* .husky/_/.gitignore .husky/pre-commit | cmp - .git/before && test "$(git ` +
			`config core.hooksPath)" = .husky/_
			n=$(wc -l <.git/ran); git commit -q --allow-empty -m mine; test $(wc -l <.git/ran) = $((n+1)) && test ! -e .git/evil`,
	},
	{
		name: "node, pnpm",
		clone: `echo node_modules >.gitignore
			echo '{"name": "app", "private": true, "packageManager": "pnpm@10.20.0", "dependencies": {"is-number": "7.0.0"}}' >package.json`,
		work: `for v in 9.15.9 10.20.0 11.28.11; do
				rm -rf node_modules pnpm-lock.yaml
				npm_config_manage_package_manager_versions=false npx -y pnpm@$v install --pm-on-fail=ignore || npx -y pnpm@$v install || exit 1
				test -d node_modules/is-number && npx -y pnpm@$v store path | grep "^$HOME/.cache/" || exit 1
			done; test ! -e .pnpm-store`,
		again: `rm -rf node_modules && npx --offline -y pnpm@10.20.0 install --offline --frozen-lockfile && test -d ` +
			`node_modules/is-number && echo done >done`,
		check: `test ! -e .pnpm-store && test -e pnpm-lock.yaml`,
	},
	{
		name: "node, yarn 1", // with its checksum, as 'corepack use' writes it
		clone: `yarn=yarn@1.22.22+sha512.a6b2f7906b721bba3d67d4aff083df04dad64c399707841b7acf00f6b133b7ac24255f2652fa22ae3534329dc6180534e98d` +
			`17432037ff6fd140556e2bb3137e
			echo node_modules >.gitignore
			cat >package.json <<X
{"name": "app", "private": true, "packageManager": "$yarn", "scripts": {"test": "node -e \"require('is-number')(1) || process.exit(1)\""},
 "dependencies": {"is-number": "7.0.0"}}
X`,
		work: yarn +
			`export npm_config_registry=$registry; yarn install && test "$(yarn --version)" = 1.22.22 && yarn cache dir | grep "^$HOME/.cache/" &&
			test -d "$COREPACK_HOME"/v1/yarn/1.22.22 && yarn test`,
		again: yarn +
			`export npm_config_registry=$registry; rm -rf node_modules && yarn install --offline --frozen-lockfile && yarn test && echo done >done`,
		check: `test -z "$(ls -A .yarn* 2>/dev/null)" && test -e yarn.lock`,
	},
	{
		name: "node, yarn 4",
		clone: `printf '%s\n' node_modules .yarn '.pnp.*' >.gitignore
			cat >package.json <<'X'
{"name": "app", "private": true, "packageManager": "yarn@4.9.2", "scripts": {"test": ` +
			`"node -e \"require('is-number')(1) || process.exit(1)\""},
 "dependencies": {"is-number": "7.0.0"}}
X`,
		work: yarn + `export YARN_NPM_REGISTRY_SERVER=$registry; for linker in pnp node-modules; do
				yarn config set nodeLinker $linker && yarn install && test "$(yarn --version)" = 4.9.2 && yarn test || exit 1
			done; yarn config get cacheFolder | grep "^$HOME/.cache/" && test -d node_modules/is-number && test ! -e .yarn/cache`,
		again: yarn +
			`export YARN_NPM_REGISTRY_SERVER=$registry; rm -rf node_modules .yarn && yarn install --immutable && yarn test && echo done >done`,
		check: `test -e yarn.lock && test ! -e .yarn/cache`,
	},
	{
		name:  "node, browsers",
		clone: `echo node_modules >.gitignore; echo '{"name": "app", "private": true}' >package.json`,
		work: `npm install --no-audit --no-fund puppeteer@24.10.0 playwright@1.53.0
			! timeout 60 npx puppeteer browsers install chrome; ! timeout 60 npx playwright install chromium`,
		says:  []string{"sbx-devc allow storage.googleapis.com", "sbx-devc allow cdn.playwright.dev"},
		check: `test -e package-lock.json`,
	},
	{
		name: "go",
		clone: `printf 'module example.org/app\n\ngo 1.21\n' >go.mod
			printf 'package app\n\nimport "testing"\n\nfunc TestF(t *testing.T) {\n\tif F() != "hello" {\n\t\tt.Fatal(F())\n\t}\n}\n' >f_test.go
			printf 'package app\n\nfunc F() string { return "" }\n' >f.go`,
		work: `printf 'package app\n\nimport "golang.org/x/text/language"\n\nvar _ = language.English\n\nfunc F() string { ` +
			`return "hello" }\n' >f.go &&
			go get golang.org/x/text@v0.14.0 && go mod tidy && go vet ./... && go test ./...`,
		again: `GOFLAGS=-mod=mod GOPROXY=off go test ./... && echo '// again' >>f.go`,
		check: `grep -q golang.org/x/text go.mod && test -f go.sum`,
	},
	{
		name: "python, pip",
		clone: `printf '[project]\nname = "app"\nversion = "1"\ndependencies = ["hello"]\n' >pyproject.toml; echo .venv >.gitignore; ` +
			`echo __pycache__ >>.gitignore
			printf 'import unittest\nfrom f import f\n\nclass T(unittest.TestCase):\n    def test(self):\n        ` +
			`self.assertEqual(f(), "hello")\n' >test_f.py
			echo 'f = None' >f.py`,
		serve: wheel(), network: serveStatic + ` pypi.test`, flags: "--engine-network NETWORK --allow pypi.test --private pypi.test",
		work: `python3 -m venv .venv && .venv/bin/pip install --disable-pip-version-check --index-url http://pypi.test/simple/ ` +
			`--trusted-host pypi.test hello==1.0 &&
			printf 'import hello\n\ndef f():\n    return hello.word()\n' >f.py && .venv/bin/python -m unittest`,
		check: `grep -q hello.word f.py`,
	},
	{
		name: "python, uv",
		clone: `printf '[project]\nname = "app"\nversion = "1"\nrequires-python = ">=3.9"\ndependencies = ["hello"]\n\n' >pyproject.toml
			printf '[[tool.uv.index]]\nurl = "http://pypi.test/simple/"\ndefault = true\n' >>pyproject.toml; ` +
			`printf '%s\n' .venv __pycache__ >.gitignore
			printf 'import unittest\nfrom f import f\n\nclass T(unittest.TestCase):\n    def test(self):\n        ` +
			`self.assertEqual(f(), "hello")\n' >test_f.py
			echo 'f = None' >f.py`,
		serve: wheel(), network: serveStatic + ` pypi.test`, flags: "--engine-network NETWORK --allow pypi.test --private pypi.test",
		work: `printf 'import hello\n\ndef f():\n    return hello.word()\n' >f.py && uv sync && uv run python -m unittest &&
			uv cache dir | grep "^$HOME/.cache/" && uvx --from hello python -c 'import hello'`,
		again: `rm -rf .venv && uv sync --offline --frozen && uv run --offline python -m unittest && echo '# again' >>f.py`,
		check: `test -f uv.lock && grep -q hello.word f.py`,
	},
	{
		name: "a linked worktree", from: "../feature", uids: []int{1000, 1001, 0},
		clone: `echo one >a; git add a; git commit -q -m one; git worktree add -q -b feature ../feature`,
		work:  `test "$(git rev-parse --abbrev-ref HEAD)" = feature && echo two >a && git log --format=%s | grep -q one`,
		again: `test "$(cat a)" = two && echo three >a`,
		check: `test "$(cat a)" = two && test "$(git rev-parse --abbrev-ref HEAD)" = feature && git worktree list | grep -q feature`,
	},
	{
		name: "submodules", uids: []int{1000, 1001, 0},
		clone: `git init -q -b main ../lib && (cd ../lib && git config user.name A && git config user.email a@example.org && echo lib >l && ` +
			`git add l && git commit -q -m lib)
			git -c protocol.file.allow=always submodule --quiet add ../lib lib`,
		work:  `test "$(cat lib/l)" = lib && git -C lib log --format=%s | grep -q lib && git submodule status && echo two >a`,
		check: `test "$(cat a)" = two && git submodule status | grep -q '^ '`,
	},
	{
		name: "a monorepo's subfolder", from: "packages/web", init: "../..",
		clone: `mkdir -p packages/web packages/api && echo '{"name": "root", "private": true, "workspaces": ["packages/*"]}' >package.json; ` +
			`echo node_modules >.gitignore
			echo '{"name": "web", "version": "1.0.0", "dependencies": {"api": "1.0.0", "is-number": "7.0.0"}}' >packages/web/package.json
			echo '{"name": "api", "version": "1.0.0", "main": "i.js"}' >packages/api/package.json; echo 'module.exports = 1' >packages/api/i.js`,
		work: `test "$PWD" = /workspace/packages/web && npm install --no-audit --no-fund && node -e 'if ` +
			`(!require("is-number")(require("api"))) process.exit(1)' && echo done >done`,
		check: `test -e packages/web/done`,
	},
	{
		// The service is on the network that Compose made: nobody names that.
		name: "a Compose service by name and port",
		clone: `echo '{"name": "app", "private": true}' >package.json
			cat >compose.yaml <<'X'
version: "3"
services:
  web: {build: ., ports: ["3000:3000"]}
  db:
    image: node:22-bookworm-slim
    expose: ["5432"]
    command: [node, -e, "require('net').createServer(s => s.end('rows')).listen(5432)"]
X`,
		init: "--allow db:5432", before: "docker-compose up -d db", after: "docker-compose down",
		says: []string{"for db"},
		work: `node -e 'require("net").connect(5432, "db").on("data", d => require("fs").writeFileSync("rows", ` +
			`d)).on("error", e => { throw e })' &&
			! timeout 5 bash -c 'exec 3<>/dev/tcp/db/5433'`,
		check: `test "$(cat rows)" = rows`,
	},
	{
		name: "rust",
		clone: `mkdir src .cargo; printf '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nhello = "1"\n' ` +
			`>Cargo.toml; echo target >.gitignore
			printf '[source.crates-io]\nreplace-with = "test"\n\n[source.test]\nregistry = "sparse+http://crates.test/index/"\n' ` +
			`>.cargo/config.toml; echo >src/lib.rs`,
		serve: crate(), network: serveStatic + ` crates.test`, flags: "--engine-network NETWORK --allow crates.test --private crates.test",
		work:  `printf '#[test]\nfn says() {\n    assert_eq!(hello::WORD, "hello");\n}\n' >src/lib.rs && cargo test`,
		again: `rm -rf target && cargo test --offline && echo '// again' >>src/lib.rs`,
		check: `test -f Cargo.lock`,
	},
	{
		name:  "ruby",
		clone: `printf 'source "http://rubygems.test"\ngem "hello", "1.0.0"\n' >Gemfile; echo 'exit 1' >test.rb`,
		serve: gem(), network: serveStatic + ` rubygems.test`, flags: "--engine-network NETWORK --allow rubygems.test --private rubygems.test",
		work:  `bundle install && echo 'require "hello"; exit HELLO == "hello"' >test.rb && bundle exec ruby test.rb`,
		again: `bundle install --local && bundle exec ruby test.rb && echo '# again' >>test.rb`,
		check: `test -f Gemfile.lock`,
	},
	{
		name: "java",
		clone: `mkdir -p .mvn src/main/java src/test/java; echo target >.gitignore; echo '-s .mvn/settings.xml' >.mvn/maven.config
			echo '<settings><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf><url>http://maven.test/</url></mirror></mirrors>` +
			`</settings>' >.mvn/settings.xml
			plugin() { echo "<plugin><artifactId>maven-$1-plugin</artifactId><version>$2</version></plugin>"; }
			cat >pom.xml <<X
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
 <groupId>org.example</groupId><artifactId>app</artifactId><version>1</version>
 <properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties>
 <dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope>` +
			`</dependency></dependencies>
 <build><plugins>$(plugin resources 3.3.0)$(plugin compiler 3.10.1)$(plugin surefire 2.22.3)</plugins></build>
</project>
X
			echo 'public class ATest { @org.junit.Test public void says() { org.junit.Assert.assertEquals("hello", new A().word()); } ` +
			`}' >src/test/java/ATest.java
			echo 'public class A { String word() { return null; } }' >src/main/java/A.java`,
		network: `printf 'FROM debian:bookworm-slim\nRUN mkdir -p /usr/share/man/man1 && apt-get update && apt-get install -y ` +
			`--no-install-recommends python3 junit4 \
			libmaven-compiler-plugin-java libmaven-resources-plugin-java libsurefire-java\n' >Dockerfile; docker build -q -t $NETWORK .
			docker run -d --network $NETWORK --network-alias maven.test -w /usr/share/maven-repo $NETWORK python3 -m http.server 80`,
		flags: "--engine-network NETWORK --allow maven.test --private maven.test",
		work:  `echo 'public class A { String word() { return "hello"; } }' >src/main/java/A.java && mvn -B $MAVEN_ARGS test`,
		again: `rm -rf target && mvn -B -o $MAVEN_ARGS test && echo '// again' >>src/main/java/A.java`,
		check: `grep -q hello src/main/java/A.java`,
	},
	{
		name: "java, Gradle",
		clone: `mkdir -p src/main/java src/test/java; printf 'build\n.gradle\n' >.gitignore; echo "rootProject.name = 'app'" >settings.gradle
			printf '%s\n' "apply plugin: 'java'" 'sourceCompatibility = 17' "repositories { maven { url 'http://maven.test/' } }" \
				"dependencies { testCompile 'junit:junit:4.x' }" >build.gradle
			echo 'public class ATest { @org.junit.Test public void says() { org.junit.Assert.assertEquals("hello", new A().word()); } ` +
			`}' >src/test/java/ATest.java
			echo 'public class A { String word() { return null; } }' >src/main/java/A.java`,
		network: `printf 'FROM debian:bookworm-slim\nRUN mkdir -p /usr/share/man/man1 && apt-get update && apt-get install -y ` +
			`--no-install-recommends python3 junit4\n' \
			>Dockerfile; docker build -q -t $NETWORK .
			docker run -d --network $NETWORK --network-alias maven.test -w /usr/share/maven-repo $NETWORK python3 -m http.server 80`,
		flags: "--engine-network NETWORK --allow maven.test --private maven.test",
		work: `echo 'public class A { String word() { return "hello"; } }' >src/main/java/A.java && gradle --no-daemon test &&
			find "$HOME/.cache/gradle" -name 'junit-4.x.jar' | grep -q .`,
		again: `rm -rf build .gradle && gradle --no-daemon --offline test && echo '// again' >>src/main/java/A.java`,
		check: `grep -q hello src/main/java/A.java && grep -q '"gradle"' .devcontainer/sandbox.jsonc`,
	},
	{
		name: "php",
		clone: `echo vendor >.gitignore; echo '<?php exit(1);' >test.php
			cat >composer.json <<'X'
{"name": "org/app", "require": {"acme/hello": "1.0.0"}, "config": {"secure-http": false},
 "repositories": [{"type": "composer", "url": "http://packagist.test"}, {"packagist.org": false}]}
X`,
		serve: composerPackage(), network: serveStatic + ` packagist.test`,
		flags: "--engine-network NETWORK --allow packagist.test --private packagist.test",
		work:  `composer install && echo '<?php require "vendor/autoload.php"; exit(hello() === "hello" ? 0 : 1);' >test.php && php test.php`,
		again: `rm -rf vendor && COMPOSER_DISABLE_NETWORK=1 composer install && php test.php && echo '// again' >>test.php`,
		check: `test -f composer.lock`,
	},
	{
		name: "dotnet",
		clone: `echo '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFramework>net8.0</TargetFramework>` +
			`</PropertyGroup></Project>' >app.csproj
			printf '%s\n' '*.exe' packages >.gitignore; echo 'class A { static int Main() { return 1; } }' >A.cs`,
		serve: nupkg(), network: serveStatic + ` nuget.test`, flags: "--engine-network NETWORK --allow nuget.test --private nuget.test",
		work: `nuget install hello -Version 1.0.0 -Source http://nuget.test/api/v2/ -OutputDirectory packages -NonInteractive &&
			sed -i 's/return 1/return Hello.Word == "hello" ? 0 : ` +
			`2/' A.cs && mcs -out:a.exe A.cs packages/hello.1.0.0/content/Hello.cs && mono a.exe`,
		check: `grep -q Hello.Word A.cs && grep -q dotnet/sdk:8.0 .devcontainer/Dockerfile && grep -q '"nuget"' .devcontainer/sandbox.jsonc`,
	},
	{
		name: "two languages, Go and Node",
		clone: `printf 'module example.org/app\n\ngo 1.21\n' >go.mod; mkdir web; echo node_modules >.gitignore
			printf 'package app\n\nfunc F() string { return "" }\n' >f.go
			printf 'package app\n\nimport "testing"\n\nfunc TestF(t *testing.T) {\n\tif F() != "hello" {\n\t\tt.Fatal(F())\n\t}\n}\n' >f_test.go
			echo '{"name": "web", "private": true, "engines": {"node": ">=22"}, "dependencies": {"is-number": "7.0.0"}}' >web/package.json
			echo 'if (!require("is-number")(require("./f"))) throw "no"' >web/test.js; echo 'module.exports = NaN' >web/f.js`,
		work: `printf 'package app\n\nfunc F() string { return "hello" }\n' >f.go && go test ./... &&
			cd web && npm install --no-audit --no-fund && echo 'module.exports = 1' >f.js && node test.js && cd ..`,
		check: `test -f web/package-lock.json && grep -q hello f.go`,
	},
	{
		name: "150,000 files",
		clone: `echo '{"name": "app", "private": true}' >package.json
			i=0; while [ $i -lt 150 ]; do mkdir d$i; (cd d$i; seq 1000 | split -l 1 -a 4 - f); i=$((i+1)); done`,
		work:  `git status --short && echo two >d7/faaaa`,
		check: `test "$(cat d7/faaaa)" = two`,
	},
}
