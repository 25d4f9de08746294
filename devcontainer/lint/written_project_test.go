package lint_test

import "testing"

// ofHatch and ofPoetry are projects of Python that want their readme and their sources.
const (
	ofHatch = "-- .devcontainer/pyproject.toml --\n[project]\nname = \"my-app\"\nreadme = \"README.md\"\n[build-system]\n" +
		"build-backend = \"hatchling.build\"\n-- .devcontainer/README.md --\nx\n-- .devcontainer/src/my_app/__init__.py --\n"
	ofPoetry = "-- .devcontainer/pyproject.toml --\n[tool.poetry]\nname = \"app\"\nreadme = \"README.md\"\n[build-system]\n" +
		"build-backend = \"poetry.core.masonry.api\"\n-- .devcontainer/README.md --\nx\n-- .devcontainer/poetry.lock --\nx\n"
	node22 = "FROM node:22\nWORKDIR /app\n"
	lock   = "\n-- .devcontainer/package-lock.json --\n{}\n"

	ofHusky = `{"scripts": {"prepare": "husky"}, "devDependencies": {"husky": "9"}}` + "\n-- .devcontainer/package-lock.json --\n" +
		`{"lockfileVersion": 3, "packages": {"": {"devDependencies": {"husky": "9"}}, "node_modules/husky": {"version": "9.1.7", "dev": true}}}`
)

// writtenProject are steps that need files of the project which no COPY brings.
var writtenProject = []pair{
	{"readme of a project", `warning SBX753 pip`, "FROM python:3.12\nWORKDIR /a\nCOPY pyproject.toml ./\nRUN pip install -e .\n" + ofHatch,
		"FROM python:3.12\nWORKDIR /a\nCOPY pyproject.toml README.md ./\nCOPY src ./src\nRUN pip install -e .\n" + ofHatch},
	{"sources of a project", `warning SBX753 pip`,
		"FROM python:3.12\nWORKDIR /a\nCOPY pyproject.toml README.md ./\nRUN pip install .\n" + ofHatch,
		"FROM python:3.12\nCOPY . /a/\nWORKDIR /a\nRUN pip install .\n" + ofHatch},
	{"project that comes later", `error SBX753 pip`, "FROM python:3.12\nWORKDIR /usr/src/app\nRUN " +
		"apt-get update && apt-get install -y git\nRUN pip install -e '.[dev]'\nCOPY . .\n" + ofHatch,
		"FROM python:3.12\nWORKDIR /usr/src/app\nCOPY . .\nRUN pip install -e '.[dev]'\n" + ofHatch},
	{"list that installs the project", `error SBX753 r.txt`,
		"FROM python:3.12\nWORKDIR /a\nCOPY r.txt .\nRUN pip install -r r.txt\n-- .devcontainer/r.txt --\n-e .\n" + ofHatch,
		"FROM python:3.12\nWORKDIR /a\nCOPY . .\nRUN pip install -r r.txt\n-- .devcontainer/r.txt --\n-e .\n" + ofHatch},
	{"project of Poetry", `warning SBX753 poetry`,
		"FROM python:3.12\nRUN pip install poetry\nWORKDIR /a\nCOPY pyproject.toml poetry.lock ./\nRUN poetry install\n" + ofPoetry,
		"FROM python:3.12\nRUN pip install poetry\nWORKDIR /a\nCOPY pyproject.toml poetry.lock ./\nRUN poetry install --no-root\n" + ofPoetry},
	{"lock of uv", `warning SBX753 uv`,
		"FROM python:3.12\nCOPY --from=ghcr.io/astral-sh/uv:0.5.4 /uv /bin/uv\nWORKDIR /a\nCOPY pyproject.toml ./\n" +
			"RUN uv sync --frozen --no-install-project\n" + ofHatch + "-- .devcontainer/uv.lock --\nversion = 1\n",
		"FROM python:3.12\nCOPY --from=ghcr.io/astral-sh/uv:0.5.4 /uv /bin/uv\nWORKDIR /a\nCOPY pyproject.toml uv.lock ./\n" +
			"RUN uv sync --frozen --no-install-project\n" + ofHatch + "-- .devcontainer/uv.lock --\nversion = 1\n"},
	{"husky without devDependencies", `error SBX753 npm`, node22 + "COPY package*.json ./\nRUN npm ci --omit=dev\n" +
		"-- .devcontainer/package.json --\n" + ofHusky,
		node22 + "COPY package*.json ./\nRUN npm ci --omit=dev --ignore-scripts\n-- .devcontainer/package.json --\n" + ofHusky},
	{"script of an installation", `error SBX753 npm`, node22 + "COPY package*.json ./\nRUN npm ci\n-- .devcontainer/package.json --\n" +
		`{"scripts": {"postinstall": "node scripts/setup.js"}}` + lock + "-- .devcontainer/scripts/setup.js --\n",
		node22 + "COPY package*.json ./\nCOPY scripts scripts\nRUN npm ci\n-- .devcontainer/package.json --\n" +
			`{"scripts": {"postinstall": "node scripts/setup.js"}}` + lock + "-- .devcontainer/scripts/setup.js --\n"},
	{"schema of Prisma", `warning SBX753 npm`, node22 + "COPY package*.json ./\nRUN npm install\n-- .devcontainer/package.json --\n" +
		`{"scripts": {"postinstall": "prisma generate"}, "dependencies": {"prisma": "6"}}` + lock,
		node22 + "COPY package*.json ./\nCOPY prisma ./prisma/\nRUN npm install\n-- .devcontainer/package.json --\n" +
			`{"scripts": {"postinstall": "prisma generate"}, "dependencies": {"prisma": "6"}}` + lock +
			"-- .devcontainer/prisma/schema.prisma --\n"},
	{"devDependencies in production", `warning SBX753 npx`,
		"FROM node:22\nENV NODE_ENV=production\nWORKDIR /app\nCOPY . .\nRUN npm ci\nRUN npx --no-install tsc\n" +
			"-- .devcontainer/package.json --\n" +
			`{"devDependencies": {"typescript": "5"}}` + lock,
		node22 + "COPY . .\nRUN npm ci\nRUN npx --no-install tsc\n-- .devcontainer/package.json --\n" +
			`{"devDependencies": {"typescript": "5"}}` + lock},
	{"release of yarn", `error SBX753 yarn`, node22 + "COPY package.json .yarnrc.yml ./\nRUN yarn install\n" +
		"-- .devcontainer/package.json --\n{}\n" +
		"-- .devcontainer/.yarnrc.yml --\nyarnPath: .yarn/releases/yarn-4.5.0.cjs\n-- .devcontainer/.yarn/releases/yarn-4.5.0.cjs --\n",
		node22 + "COPY package.json .yarnrc.yml ./\nCOPY .yarn .yarn\nRUN yarn install\n-- .devcontainer/package.json --\n{}\n" +
			"-- .devcontainer/.yarnrc.yml --\nyarnPath: .yarn/releases/yarn-4.5.0.cjs\n-- .devcontainer/.yarn/releases/yarn-4.5.0.cjs --\n"},
	{"workspace of npm", `warning SBX753 npm`, node22 + "COPY package*.json ./\nRUN npm ci\n-- .devcontainer/package.json --\n" +
		`{"workspaces": ["packages/*"]}` + lock + "-- .devcontainer/packages/web/package.json --\n{}\n",
		node22 + "COPY package*.json ./\nCOPY packages/web/package.json packages/web/\nRUN npm ci\n-- .devcontainer/package.json --\n" +
			`{"workspaces": ["packages/*"]}` + lock + "-- .devcontainer/packages/web/package.json --\n{}\n"},
	{"script that is called as a command", `error SBX753 npm`, node22 + "COPY . .\nRUN npm install && npm build\n" +
		"-- .devcontainer/package.json --\n" + `{"scripts": {"build": "true"}}` + "\n", node22 + "COPY . .\nRUN npm install && npm run build\n" +
		"-- .devcontainer/package.json --\n" + `{"scripts": {"build": "true"}}` + "\n"},
	{"script that is not there", `error SBX753 setup:dev`, node22 + "COPY . .\nRUN npm install && npm run setup:dev\n" +
		"-- .devcontainer/package.json --\n" + `{"scripts": {"build": "true"}}` + "\n", node22 + "COPY . .\nRUN npm install && npm run build\n" +
		"-- .devcontainer/package.json --\n" + `{"scripts": {"build": "true"}}` + "\n"},
	{"pnpm with a version", `SBX749`, "", "FROM node:22\nRUN npm install -g pnpm@9\nRUN pnpm config list\n"},
	{"wrapper of Maven", `warning SBX753 ./mvnw`,
		"FROM eclipse-temurin:21-jdk\nWORKDIR /w\nCOPY --chmod=755 mvnw pom.xml ./\nRUN ./mvnw -v\n" +
			"-- .devcontainer/mvnw --\n#!/bin/sh\n-- .devcontainer/pom.xml --\n<a/>\n" +
			"-- .devcontainer/.mvn/wrapper/maven-wrapper.properties --\na=b\n",
		"FROM eclipse-temurin:21-jdk\nWORKDIR /w\nCOPY --chmod=755 mvnw pom.xml ./\nCOPY .mvn .mvn\nRUN ./mvnw -v\n-- .devcontainer/mvnw --\n" +
			"#!/bin/sh\n-- .devcontainer/pom.xml --\n<a/>\n-- .devcontainer/.mvn/wrapper/maven-wrapper.properties --\na=b\n"},
	{"project of .NET", `warning SBX753 dotnet`,
		"FROM mcr.microsoft.com/dotnet/sdk:8.0\nWORKDIR /s\nRUN dotnet restore\nCOPY . .\n-- .devcontainer/a.csproj --\n<P/>\n",
		"FROM mcr.microsoft.com/dotnet/sdk:8.0\nWORKDIR /s\nCOPY *.csproj .\nRUN dotnet restore\n-- .devcontainer/a.csproj --\n<P/>\n"},
	{"environment of conda", `warning SBX753 environment.yml`,
		"FROM continuumio/miniconda3:24.9.2-0\nWORKDIR /app\nRUN conda env create -f environment.yml\nCOPY . .\n" +
			"-- .devcontainer/environment.yml --\nn: x\n",
		"FROM continuumio/miniconda3:24.9.2-0\nWORKDIR /app\nCOPY environment.yml .\nRUN conda env create -f environment.yml\n" +
			"-- .devcontainer/environment.yml --\nn: x\n"},
	{"mode of a file that comes later", `error SBX753 entry.sh`,
		"FROM debian:12\nWORKDIR /app\n" + apt + "git curl\nRUN chmod +x entry.sh\nCOPY . .\n-- .devcontainer/entry.sh --\n#!/bin/sh\n",
		"FROM debian:12\nWORKDIR /app\nCOPY . .\nRUN chmod +x entry.sh\n-- .devcontainer/entry.sh --\n#!/bin/sh\n"},
	{"file that a step fetches", `SBX753`, "", "FROM debian:12\nWORKDIR /app\n" + apt + "curl\nRUN curl -fsSLO https://example.com/x.tgz && " +
		"tar xf x.tgz && cp bin/x.conf /etc/\nRUN curl -o run.sh https://example.com/r && sh run.sh\n"},
}

func TestWrittenProject(t *testing.T) { testPairs(t, writtenProject) }
