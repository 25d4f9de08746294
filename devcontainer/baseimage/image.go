package baseimage

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// Family says whose packages an image has.
type Family string

// The families.
const (
	Debian Family = "Debian" // and Ubuntu: apt, dash as /bin/sh
	Alpine Family = "Alpine" // apk, BusyBox
	RedHat Family = "Red Hat"
)

// Image is what is known of an image.
type Image struct {
	Family  Family
	Ubuntu  bool   // of the family Debian
	Release string // "12", "24.04"; "" when the tag does not say it
	User    string // besides those of its distribution; "" = none
	Number  string // of User and of its group; "" = not known
	// Session is the user of a dev container's sessions, unless it names another; "" = the image says none.
	Session string
	lacks   []string // besides the package managers of other families
	byTag   bool     // nothing is known but its family
	users   bool     // all of its users are known, though it is no official image
	pep668  bool     // of Alpine: its pip installs nothing into the system, since 3.19
	name    string   // of an official image; "" = it is none
}

// Lacks reports whether the image certainly has no program of that name.
func (i Image) Lacks(program string) bool {
	return slices.Contains(strangers[i.Family], program) || slices.Contains(i.lacks, program)
}

// MissingBut returns the programs that the image lacks, without some.
func (i Image) MissingBut(some []string) []string { return without(i.lacks, some) }

// LacksAny reports whether there is a program that the image certainly lacks.
func (i Image) LacksAny() bool { return len(strangers[i.Family])+len(i.lacks) > 0 }

// IsManager reports whether a program installs packages of some family, which no step brings to another.
func IsManager(program string) bool { return slices.Contains(managers, program) }

// Official reports whether the image is one of Docker's official ones, which set no variable for the home folder.
func (i Image) Official() bool { return i.name != "" }

// ForDevContainers reports whether the image is one of Microsoft's with one user besides the system's.
func (i Image) ForDevContainers() bool { return i.Session != "" }

// UsersKnown reports whether all users of the image are known.
func (i Image) UsersKnown() bool { return i.Official() || i.ForDevContainers() || i.users }

// Asked reports whether the packages of the image or of its distribution were read, so that what it lacks is certain.
func (i Image) Asked() bool {
	return !i.byTag && (i.Family == Debian && !i.Ubuntu || i.Family == Alpine)
}

// HasUser reports whether an official image may have a user; sure says that the answer false is certain.
func (i Image) HasUser(name string) (has, sure bool) {
	switch {
	case name == "root" || name == i.User && name != "":
		return true, true
	case i.name == "scratch":
		return false, true
	case (i.Family == "" || i.Session != "") && name == "ubuntu": // some tags are made from Ubuntu, and older ones kept the user
		return true, false
	}
	return slices.Contains(standardUsers, name), i.Family == Debian || i.Family == Alpine
}

// LacksSudo reports whether an official image has no sudo; sure says that this is certain.
func (i Image) LacksSudo() (lacks, sure bool) {
	return i.Official() && i.Family != RedHat && i.name != "scratch", i.Family != ""
}

// EndsAlone reports whether the command of an image is a shell or an interpreter, which ends at once without a terminal.
// Some tags of php are servers.
func EndsAlone(image string) bool {
	of, _ := Of(image)
	name, tag := split(image)
	if strings.Contains(image, "$") || isWindows(tag) || of.name == "scratch" {
		return false
	}
	server := strings.Contains(tag, "apache") || strings.Contains(tag, "fpm")
	_, made := madeFor[microsoft(name)]
	if slices.Contains(shells, name) || strings.HasPrefix(name, "cimg/") {
		return true
	}
	return of.Official() && !server || made && microsoft(name) != "php"
}

// shells are images of which nothing else is known than that their command is a shell, an interpreter or a program that only says how
// it is used, which an ENTRYPOINT may run.
var shells = strings.Fields("ros osrf/ros nvidia/cuda continuumio/miniconda3 continuumio/anaconda3 condaforge/miniforge3 " +
	"condaforge/mambaforge kalilinux/kali-rolling archlinux archlinux/archlinux swift elixir erlang haskell julia r-base perl pypy clojure " +
	"amazoncorretto sapmachine ibmjava groovy composer mono dart oven/bun denoland/deno rocker/r-ver rocker/r-base opensuse/leap " +
	"opensuse/tumbleweed nixos/nix mcr.microsoft.com/dotnet/sdk mcr.microsoft.com/dotnet/runtime mcr.microsoft.com/dotnet/aspnet " +
	"mcr.microsoft.com/azure-cli mcr.microsoft.com/powershell mcr.microsoft.com/playwright mcr.microsoft.com/playwright/python " +
	"tensorflow/tensorflow pytorch/pytorch texlive/texlive google/cloud-sdk rockylinux/rockylinux hashicorp/terraform amazon/aws-cli " +
	"ghcr.io/cirruslabs/flutter espressif/idf gcr.io/google.com/cloudsdktool/google-cloud-cli mambaorg/micromamba")

// StartsAs returns the user of an image that is not root, as which steps run below its FROM; "" when that is not known.
func StartsAs(image string) string {
	name, _ := split(image)
	if user := startsAs[name]; user != "" || strings.Contains(image, "$") {
		return user
	}
	return startsAs[name[:strings.LastIndex(name, "/")+1]]
}

// startsAs are such users, by the image or by the folder of all images that have it.
var startsAs = map[string]string{"quay.io/jupyter/": "jovyan", "jupyter/": "jovyan",
	"jenkins/jenkins": "jenkins", "jenkins/agent": "jenkins", "jenkins/inbound-agent": "jenkins",
	"cimg/": "circleci", "ghcr.io/rails/devcontainer/images/": "vscode", "apache/airflow": "airflow", "mambaorg/micromamba": "mambauser",
	"homebrew/brew": "linuxbrew", "codercom/code-server": "coder", "ghcr.io/puppeteer/puppeteer": "pptruser", "grafana/grafana": "grafana",
	"selenium/standalone-chrome": "seluser", "selenium/standalone-firefox": "seluser", "nodered/node-red": "node-red"}

// standardUsers exist in Debian (its base-passwd) or in Alpine (its alpine-baselayout).
var standardUsers = strings.Fields("root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc nobody _apt adm " +
	"shutdown halt operator ftp guest sshd cron ntp squid xfs at gnats")

var (
	managers  = strings.Fields("apt-get apt apk yum dnf microdnf zypper pacman")
	strangers = map[Family][]string{
		Debian: strings.Fields("apk yum dnf microdnf zypper pacman"),
		Alpine: strings.Fields("apt-get apt yum dnf microdnf zypper pacman"),
		RedHat: strings.Fields("apt-get apt apk pacman"),
	}
)

// The programs that people call in steps and hooks and that the barest image of a family lacks.
var (
	onDebian = strings.Fields("curl wget git unzip zip jq make cmake gcc g++ python python3 pip pip3 node npm npx yarn pnpm zsh vim " +
		"nano gpg docker docker-compose poetry uv pipenv locale-gen pipx corepack " +
		"rsync lsb_release add-apt-repository ruby gem bundle php composer go cargo rustc rustup java javac mvn gradle psql mysql tree " +
		"htop ping ifconfig xz bzip2 " + ofTheirOwn)
	onAlpine = strings.Fields("curl git zip jq make cmake gcc g++ python python3 pip pip3 node npm npx yarn pnpm bash zsh nano gpg " +
		"docker docker-compose poetry uv pipenv locale-gen pipx corepack " +
		"rsync lsb_release " +
		"add-apt-repository ruby gem bundle php composer go cargo rustc rustup java javac mvn gradle psql mysql useradd usermod groupadd " +
		"tree htop " + ofTheirOwn)
)

// ofTheirOwn are programs that no distribution's image has, and packages of few names bring.
const ofTheirOwn = "terraform kubectl helm aws az gcloud gh just bun deno conda mamba pre-commit git-lfs dotnet"

// language are official images that are made for a language: what they have besides Debian or Alpine, and what
// their Debian variant is built on, which has more unless the tag says slim.
var language = map[string]struct {
	has  string // all variants
	base string // of the variant without "slim": "full" or "scm" of buildpack-deps, or "" for slim as well
	more string // only the variants of Debian
	user string
}{
	"node":   {has: "node npm npx yarn corepack", base: "full", user: "node"},
	"python": {has: "python python3 pip pip3", base: "full"},
	"golang": {has: "go git", base: "scm", more: "gcc g++ make xz bzip2"},
	"rust":   {has: "cargo rustc rustup gcc", base: "full"},
	"ruby":   {has: "ruby gem bundle", base: "full"},
	"php":    {has: "php curl", more: "gcc g++ make xz bzip2"},
	"gcc":    {has: "gcc g++", base: "full"},
}

// varied are official images whose distribution the tag does not surely say: only that they are official is known, and the
// programs that none of their variants has.
var varied = map[string]string{"eclipse-temurin": "mvn gradle", "openjdk": "mvn gradle", "maven": "gradle", "gradle": "mvn", "scratch": ""}

// ofBase are the programs that the variants of buildpack-deps bring. Mercurial brings a Python.
var ofBase = map[string]string{"": "", "scm": "curl wget git gpg python python3",
	"full": "curl wget git gpg python python3 unzip make gcc g++ mysql xz bzip2"}

var (
	debianTag = lazyregexp.New(`^(1\d|buster|bullseye|bookworm|trixie|forky|(old)?stable|testing|unstable|sid|latest)?([.-].*)?$`)
	ubuntuTag = lazyregexp.New(`^((1[89]|2\d)\.\d\d|bionic|focal|jammy|noble|plucky|questing|resolute|latest|rolling|devel)?(-.*)?$`)
	// minimal matches the images of Red Hat and its relatives that have microdnf alone.
	minimal     = lazyregexp.New(`^(registry\.(access\.)?redhat\.(com|io)/|redhat/|almalinux|rockylinux).*(\d|ubi)-minimal`)
	number      = lazyregexp.New(`^\d+(\.\d\d)?`)
	alpineMinor = lazyregexp.New(`^\d+`)
	// withUser are the tags of Ubuntu that have the user ubuntu: since 23.04.
	withUser = lazyregexp.New(`^(2[4-9]\.\d\d|noble|plucky|questing|resolute|latest|rolling|devel)?(-.*)?$`)
)

// microsoft returns the last part of the name of an image that is made for dev containers, or "".
func microsoft(name string) string {
	rest, ok := strings.CutPrefix(name, "mcr.microsoft.com/")
	last, made := strings.CutPrefix(strings.TrimPrefix(rest, "vscode/"), "devcontainers/")
	if !ok || !made || strings.Trim(last, "abcdefghijklmnopqrstuvwxyz-") != "" {
		return ""
	}
	return last
}

// isWindows reports whether a tag is one of Windows.
func isWindows(tag string) bool {
	tag = strings.ToLower(tag)
	return strings.Contains(tag, "windows") || strings.Contains(tag, "nanoserver") || strings.Contains(tag, "servercore")
}

// codename returns the first code name of a release in a tag, or "".
func codename(tag string) (first string) {
	at := len(tag)
	for name := range releases {
		if i := strings.Index(tag, name); i >= 0 && i < at {
			at, first = i, name
		}
	}
	return first
}

var releases = map[string]string{"buster": "10", "bullseye": "11", "bookworm": "12", "trixie": "13", "bionic": "18.04", "focal": "20.04",
	"jammy": "22.04", "noble": "24.04"}

// Of returns what is known of an image; ok is false when nothing is.
func Of(image string) (known Image, ok bool) {
	last := lastAsked.Load()
	if last == nil || last.image != image {
		last = &asked{image: image}
		last.known, last.ok = find(image)
		lastAsked.Store(last)
	}
	return last.known, last.ok
}

// asked is the answer for one image. Most questions are about the image of the one before.
type asked struct {
	image string
	known Image
	ok    bool
}

var lastAsked atomic.Pointer[asked]

func find(image string) (known Image, ok bool) {
	name, tag := split(image)
	switch {
	case strings.Contains(image, "$") || isWindows(tag) || tag == "" && strings.Contains(image, "@"):
		return Image{}, false // by a digest alone it may be any variant
	case onUbuntu24.MatchString(name + ":" + tag):
		known = Image{byTag: true, users: true, Family: Debian, User: "ubuntu", Number: "1000", Release: "24.04", Ubuntu: true}
		if strings.Contains(tag, "-base") || strings.Contains(tag, "-runtime") {
			known.lacks = []string{"nvcc"}
		}
		return known, true
	case onOlderUbuntu.MatchString(name + ":" + tag):
		return Image{byTag: true, users: true, Family: Debian, Ubuntu: true}, true
	case startsAs[name[:strings.LastIndex(name, "/")+1]] == "jovyan":
		return Image{byTag: true, users: true, Family: Debian, Ubuntu: true, User: "jovyan", Number: "1000"}, true
	case name == "nvidia/cuda" && (strings.Contains(tag, "-base") || strings.Contains(tag, "-runtime")):
		return Image{lacks: []string{"nvcc"}}, true
	case minimal.MatchString(image):
		return Image{Family: RedHat, lacks: []string{"dnf", "yum"}}, true
	case Misnamed(name) != "":
		return Image{}, false
	case microsoft(name) != "":
		return forDevContainers(microsoft(name), tag, strings.Contains(name, "/vscode/"))
	case strings.Contains(name, "/"):
		return ofFamily(name, tag)
	}
	known.name = name
	known.Release, known.Ubuntu = release(name, tag)
	switch name {
	case "debian":
		known.Family, known.lacks = Debian, onDebian
		return known, debianTag.MatchString(tag)
	case "ubuntu":
		known.Family, known.lacks = Debian, onDebian
		if withUser.MatchString(tag) {
			known.User, known.Number = "ubuntu", "1000"
		}
		return known, ubuntuTag.MatchString(tag)
	case "alpine":
		known.Family, known.lacks = Alpine, onAlpine
		minor, err := strconv.Atoi(alpineMinor.FindString(strings.TrimPrefix(tag, "3.")))
		newest := slices.Contains([]string{"", "latest", "3", "edge"}, tag)
		known.pep668 = newest || strings.HasPrefix(tag, "3.") && err == nil && minor >= 19
		return known, true
	case "buildpack-deps":
		known.Family = Debian
		return known, true
	case "fedora", "rockylinux", "almalinux", "oraclelinux", "amazonlinux", "centos":
		known.Family = RedHat
		return known, true
	}
	if lacks, ok := varied[name]; ok {
		known = Image{name: name, lacks: strings.Fields(lacks)}
		if strings.Contains(tag, "jre") {
			known.lacks = append(known.lacks, "javac")
		}
		return known, true
	}
	return forLanguage(known, name, tag)
}

// onUbuntu24 matches images that are built on Ubuntu 24.04 and keep its user (osrf/docker_images#795, nvidia/cuda's Dockerfiles,
// swift-server/swift-devcontainer-template#28; November 2026).
var onUbuntu24 = lazyregexp.New(`^(osrf/)?ros:(jazzy|kilted|rolling)\b|^nvidia/cuda:.*ubuntu24\.04|^swift:.*noble\b`)

// onOlderUbuntu matches the same on releases that have no such user.
var onOlderUbuntu = lazyregexp.New(`^(osrf/)?ros:(foxy|galactic|humble|iron|noetic)\b|^swift:.*(focal|jammy)\b`)

var (
	alpineWord = lazyregexp.New(`(^|[-._])alpine(\d|[-.]|$)`)
	debianWord = lazyregexp.New(`(^|[-._])(debian|ubuntu|buster|bullseye|bookworm|trixie|bionic|focal|jammy|noble)(\d|[-.]|$)`)
	redHatWord = lazyregexp.New(`(^|[-._])(ubi\d+|fedora|centos|rockylinux|almalinux)(\d|[-.]|$)`)
	redHatName = lazyregexp.New(`^registry\.(access\.)?redhat\.(com|io)/ubi\d|^redhat/ubi\d|^quay\.io/(fedora|centos)/`)
)

// ofFamily is what the tag says of an image of which nothing else is known: whose packages it has.
func ofFamily(name, tag string) (known Image, ok bool) {
	known.byTag = true
	switch {
	case alpineWord.MatchString(tag):
		known.Family = Alpine
	case debianWord.MatchString(tag):
		known.Family = Debian
	case redHatWord.MatchString(tag), redHatName.MatchString(name):
		known.Family = RedHat
	default:
		return Image{}, false
	}
	return known, true
}

// The variants of an image for a language.
const (
	alpine = iota
	slim
	full
)

// lackedBy are the programs that the variants of the images for languages lack.
var lackedBy = sync.OnceValue(func() map[string][3][]string {
	out := map[string][3][]string{}
	for name, of := range language {
		out[name] = [3][]string{
			alpine: without(onAlpine, strings.Fields(of.has)),
			slim:   without(onDebian, strings.Fields(of.has+" "+of.more)),
			full:   without(onDebian, strings.Fields(of.has+" "+of.more+" "+ofBase[of.base])),
		}
	}
	return out
})

func forLanguage(known Image, name, tag string) (Image, bool) {
	of, ok := language[name]
	if !ok {
		return ofFamily(name, tag)
	}
	known.User = of.user
	if of.user != "" {
		known.Number = "1000"
	}
	variant := full
	switch {
	case strings.Contains(tag, "alpine"):
		variant, known.Family, known.Release, known.Ubuntu = alpine, Alpine, "", false
	case strings.Contains(tag, "slim"):
		variant, known.Family = slim, Debian
	default:
		known.Family = Debian
	}
	known.lacks = lackedBy()[name][variant]
	if major, _ := strconv.Atoi(alpineMinor.FindString(tag)); name == "node" && major >= 25 {
		known.lacks = append(known.lacks[:len(known.lacks):len(known.lacks)], "corepack") // since 25 it is a package of npm's
	}
	return known, true
}

// withoutDocker are those of Microsoft's images that have no client of an engine.
var withoutDocker = strings.Fields("base cpp dotnet go java javascript-node typescript-node python rust ruby php anaconda miniconda jekyll")

// madeFor are Microsoft's images whose Dockerfiles and Features were read (devcontainers/images, 2026-07-01): the programs of
// notInBase that each has.
var madeFor = map[string]string{"base": "", "cpp": "", "dotnet": "dotnet", "go": "go", "java": "java javac",
	"javascript-node": "node npm npx pnpm", "typescript-node": "node npm npx pnpm", "php": "php composer",
	"python": "pip pip3 pipenv", "ruby": "ruby gem bundle", "rust": "cargo rustc rustup"}

// notInBase are the programs of languages and services that the image they are made from lacks. It has gcc and make, which built its git.
const notInBase = "node npm npx pnpm pip pip3 poetry uv pipenv cargo rustc rustup go java javac mvn gradle php composer ruby gem bundle " +
	"psql mysql " + ofTheirOwn

var lackedByDevImages = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for name, has := range madeFor {
		out[name] = append(without(strings.Fields(notInBase), strings.Fields(has)), "docker", "docker-compose")
	}
	return out
})

// otherNames are names that people give Microsoft's images for dev containers, and those that the images have.
var otherNames = map[string]string{"node": "javascript-node", "nodejs": "javascript-node", "javascript": "javascript-node",
	"typescript": "typescript-node", "ubuntu": "base:ubuntu", "debian": "base:debian", "alpine": "base:alpine", "c++": "cpp", "gcc": "cpp",
	"golang": "go", "csharp": "dotnet", "dotnetcore": "dotnet", "python3": "python", "conda": "miniconda", "codespaces": "universal",
	"codespaces-linux": "universal", "base-ubuntu": "base:ubuntu", "base-debian": "base:debian", "base-alpine": "base:alpine"}

// Misnamed returns the name of the image for dev containers that was probably meant by one that Microsoft does not publish, or "".
func Misnamed(image string) string {
	const registry = "mcr.microsoft.com/devcontainers/"
	image, _, _ = strings.Cut(image, "@")
	full, tag, _ := strings.Cut(image, ":")
	if tag != "" {
		tag = ":" + tag
	}
	if name, ok := strings.CutPrefix(full, "mcr.microsoft.com/devcontainer/"); ok {
		return registry + cmp.Or(otherNames[name], name+tag)
	}
	name, ok := strings.CutPrefix(full, registry)
	switch near := diag.Suggest(name, published); {
	case !ok || slices.Contains(published, name):
		return ""
	case otherNames[name] != "":
		return registry + otherNames[name]
	case near != "":
		return registry + near + tag
	}
	return ""
}

// published are the images that Microsoft publishes for dev containers (devcontainers/images, November 2026), with older ones.
var published = strings.Fields("anaconda base cpp dotnet go java java-8 javascript-node javascript-node-mongo javascript-node-postgres " +
	"jekyll miniconda php python ruby rust typescript-node typescript-node-mongo typescript-node-postgres universal")

// forDevContainers are Microsoft's images. Their Alpine is one variant of base. The repository that was read does not make
// the older ones.
func forDevContainers(name, tag string, older bool) (known Image, ok bool) {
	known.Family, known.User, known.Number = Debian, "vscode", "1000"
	switch name {
	case "javascript-node", "typescript-node":
		known.User = "node"
	case "universal":
		known.User = "codespace"
	case "javascript-node-mongo", "javascript-node-postgres", "typescript-node-mongo", "typescript-node-postgres":
		known.User = "node"
	}
	if strings.Contains(tag, "alpine") {
		known.Family = Alpine
	}
	known.Session = known.User
	if slices.Contains(withoutDocker, name) {
		known.lacks = []string{"docker", "docker-compose"}
	}
	if lacks := lackedByDevImages()[name]; lacks != nil && known.Family == Debian && !older {
		known.lacks = lacks
	}
	known.Release, known.Ubuntu = release(name, tag)
	if m := ofDistribution.FindStringSubmatch(tag); m != nil && name == "base" {
		known.Release, known.Ubuntu = m[2], m[1] == "ubuntu"
	}
	return known, true
}

// ofDistribution matches tags of base that say a release by its number.
var ofDistribution = lazyregexp.New(`(ubuntu|debian)-?(\d+(?:\.\d\d)?)$`)

// release returns the release that a tag says: by its number in the distribution's own image, by a code name in others.
func release(name, tag string) (release string, ubuntu bool) {
	of := releases[codename(tag)]
	if of == "" && (name == "debian" || name == "ubuntu") {
		of = number.FindString(tag)
	}
	if number, ok := strings.CutPrefix(tag, "ubuntu-"); ok && of == "" && name == "base" && len(number) == len("24.04") {
		of = number
	}
	if name == "debian" {
		of, _, _ = strings.Cut(of, ".")
	}
	return of, name == "ubuntu" || strings.Contains(of, ".")
}

func without(all, some []string) (out []string) {
	for _, name := range all {
		if !slices.Contains(some, name) {
			out = append(out, name)
		}
	}
	return out
}

// split returns the short name of an image and its tag, "" for none.
func split(image string) (name, tag string) {
	image, _, _ = strings.Cut(image, "@")
	image = strings.TrimPrefix(strings.TrimPrefix(image, "docker.io/"), "library/")
	if at := strings.LastIndex(path.Base(image), ":"); at >= 0 {
		at += len(image) - len(path.Base(image))
		return image[:at], image[at+1:]
	}
	return image, ""
}
