package lint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// A claim is an error of the linter about a written mistake; the twin is the same project without it, or nil.
type claim struct {
	name         string
	finding      diag.Finding
	wrong, right devcontainer.Memory
}

// claims are the errors about all written mistakes, as their tests want them found.
func claims(t *testing.T) (all []claim) {
	t.Helper()
	add := func(name, rules, place, wrong, right string) {
		c := claim{name: name, wrong: written{files: wrong}.tree()}
		for _, f := range judge(t, c.wrong) {
			at := strings.Split(c.wrong[f.File], "\n")[f.Line-1]
			at = at[min(f.Column-1, len(at)):]
			if f.Severity == diag.SeverityError && strings.Contains("|"+rules+"|", "|"+f.Rule+"|") && strings.HasPrefix(at, place) {
				if c.finding = f; right != "" {
					c.right = written{files: right}.tree()
				}
				all = append(all, c)
				return
			}
		}
	}
	for _, w := range slices.Concat(writtenMistakes, writtenElsewhere, writtenUnseen, writtenReal, writtenBlind) {
		rules, place, _ := strings.Cut(w.want, " ")
		add(w.name, rules, place, w.files, "")
	}
	for _, p := range slices.Concat(writtenPairs, writtenFresh, writtenDocker, writtenCompose, writtenJSON, writtenProject, writtenSteps,
		writtenFacts, writtenStarts, writtenWords, writtenJudged, writtenSilent, writtenMeasured) {
		if severity, want, _ := strings.Cut(p.want, " "); severity == "error" && p.wrong != "" {
			rules, place, _ := strings.Cut(want, " ")
			add(p.name, rules, place, p.wrong, p.right)
		}
	}
	return all
}

// outcome is what the CLI, or BuildKit's own reading of a Dockerfile, made of a project.
type outcome struct {
	started bool   // and a program runs in the folder that is opened
	stage   string // what failed, in the CLI's words
	text    string // what it printed, without the commands that it repeats
}

// said is the first line that a pattern finds.
func (o outcome) said(pattern *regexp.Regexp) (string, bool) {
	at := pattern.FindStringIndex(o.text)
	if at == nil {
		return "", false
	}
	from := strings.LastIndex(o.text[:at[0]], "\n") + 1
	to, _, _ := strings.Cut(o.text[from:], "\n")
	return strings.TrimSpace(to), true
}

// last are the lines that say most.
func (o outcome) last() string {
	lines := strings.Split(strings.TrimSpace(o.text), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], "\n        ")
}

// starter starts projects with the official CLI.
type starter struct {
	root    string
	docker  string
	ports   sync.Mutex // held by a project that publishes ports of this machine
	log     string     // a folder for what each project said, "" for none
	volumes string     // names of those that were there before, a line each
}

var (
	// echoed are lines in which a program repeats what it was asked to do.
	echoed = regexp.MustCompile(`Start: Run|^(\[[^]]*\] )?Step \d+/|Command failed: docker (run|build|pull)|^\s+at |` +
		`Running the \w+Command|control manifest|@devcontainers/cli`)
	// composeUp is the command of Compose that the CLI names, and whose output it keeps to itself.
	composeUp = regexp.MustCompile(`Command failed: (docker compose .* up -d.*)`)
	// newerFrontend finds what the engine's own builder does not read in each of its versions.
	newerFrontend = regexp.MustCompile(`(?m)^RUN --mount|^(COPY|ADD) .*--(chmod|link|parents|exclude)|<<-?"?'?EOF`)
	publishes     = regexp.MustCompile(`ports:|appPort|"-p|--publish|container_name|--name`)
	// unreachable is said of images and Features that no registry here has.
	unreachable = regexp.MustCompile(`[Nn]o such image: ([^\n]+)|registry-1\.docker\.io|ENOTFOUND ([\w.]+)|lookup ([\w.]+) on|` +
		`pull access denied|No matching distribution found|Could not resolve host|Could not find a valid gem`)
)

const startTimeout = 4 * time.Minute

// up starts a project, and runs a program in it where that succeeds.
func (s *starter) up(t *testing.T, name string, files devcontainer.Memory, class class) (o outcome) {
	dir, temporary := filepath.Join(s.root, name), filepath.Join(s.root, name+"-tmp")
	for file, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(file))
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") || strings.HasSuffix(file, ".sh") {
			mode = 0o755
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(slices.Sorted(maps.Values(files)), "\n")
	if newerFrontend.MatchString(all) {
		for file, text := range files {
			if strings.HasSuffix(file, "Dockerfile") {
				return frontend(t, text)
			}
		}
	}
	if publishes.MatchString(all) {
		s.ports.Lock()
		defer s.ports.Unlock()
	}
	defer func() {
		s.clean(name, dir, o.text)
		if s.log != "" {
			text := fmt.Sprintf("started: %v\nstage: %s\n%s", o.started, o.stage, o.text)
			file := class.rule + "-" + strings.NewReplacer("/", "-", " ", "_").Replace(t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]+" "+name)
			if err := os.WriteFile(filepath.Join(s.log, file), []byte(text), 0o644); err != nil {
				t.Error(err)
			}
		}
	}()
	timeout := startTimeout
	if class.waits {
		timeout /= 4
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	run := func(program string, args ...string) (stdout, stderr string) {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+temporary, "DOCKER_BUILDKIT=0", "PLACE=/place",
			"DOCKER_CONFIG="+filepath.Join(testenv.ToolsDir(), "docker"))
		var both [2]bytes.Buffer
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &both[0], &both[1], time.Second
		if err := cmd.Run(); err != nil {
			both[1].WriteString("\n" + err.Error() + "\n")
		}
		return both[0].String(), both[1].String()
	}
	cli := testenv.Program(t, "devcontainer")
	stdout, stderr := run(cli, "up", "--workspace-folder", dir)
	var answer struct{ Outcome, Message, Description, ContainerID string }
	_ = json.Unmarshal([]byte(stdout), &answer)
	o.started, o.stage = answer.Outcome == "success", answer.Description
	if o.started && class.ends {
		// Whether it has ended shows when it has; most are over at once.
		wait, done := context.WithTimeout(ctx, 20*time.Second)
		out, err := exec.CommandContext(wait, s.docker, "wait", answer.ContainerID).CombinedOutput()
		done()
		if err == nil {
			o.started, o.stage, stderr = false, "the container ended", stderr+"\nis not running: exit code "+string(out)
		}
	} else if o.started {
		stdout, more := run(cli, "exec", "--workspace-folder", dir, "sh", "-c", "echo it runs")
		if !strings.Contains(stdout, "it runs") {
			o.started, o.stage, stderr = false, "devcontainer exec", stderr+"\n"+stdout+more
		}
	}
	if found := composeUp.FindStringSubmatch(stderr); found != nil {
		_, more := run("sh", "-c", strings.Replace(found[1], " up -d", " down", 1)+"; "+found[1])
		stderr += "\n" + more
	}
	for _, line := range strings.Split(stderr+"\n"+answer.Message, "\n") {
		if !echoed.MatchString(line) && strings.TrimSpace(line) != "" {
			o.text += line + "\n"
		}
	}
	if ctx.Err() != nil {
		o.stage, o.text = "time is up", o.text+"time is up\n"
	}
	return o
}

// frontend is what the newest BuildKit says while it reads a Dockerfile.
func frontend(t *testing.T, text string) outcome {
	cmd := exec.CommandContext(t.Context(), testenv.Program(t, "dockerfile2llb"))
	question, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = bytes.NewReader(question)
	out, err := cmd.Output()
	var refusal string
	if err := errors.Join(err, json.Unmarshal(out, &refusal)); err != nil {
		t.Fatal(err)
	}
	return outcome{started: refusal == "", stage: "BuildKit reads the Dockerfile", text: refusal}
}

// builderSteps are containers and images of steps, which a build that fails leaves behind.
var builderSteps = regexp.MustCompile(`(?m)---> (Running in )?([0-9a-f]{12})$`)

// clean removes what a project left on the engine, of which it printed text.
func (s *starter) clean(name, dir, text string) {
	run := func(args ...string) []string {
		out, _ := exec.Command(s.docker, args...).Output()
		return strings.Fields(string(out))
	}
	ids := run("ps", "-aq", "--no-trunc", "--filter", "label=devcontainer.local_folder="+dir)
	ids = append(ids, run("ps", "-aq", "--no-trunc", "--filter", "label=com.docker.compose.project="+name+"_devcontainer")...)
	ids = append(ids, run("ps", "-aq", "--no-trunc", "--filter", "label=com.docker.compose.project="+name)...)
	for _, id := range ids {
		volumes := run("inspect", "--format", `{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}} {{end}}{{end}}`, id)
		run("rm", "-f", "-v", id)
		for _, v := range volumes {
			if !strings.Contains("\n"+s.volumes, "\n"+v+"\n") {
				run("volume", "rm", v)
			}
		}
	}
	steps := builderSteps.FindAllStringSubmatch(text, -1)
	for _, step := range slices.Backward(steps) {
		if step[1] != "" {
			run("rm", "-f", step[2])
		} else if slices.Equal(run("image", "inspect", "--format", "{{len .RepoTags}}", step[2]), []string{"0"}) {
			run("rmi", step[2]) // which the engine refuses while another image needs it
		}
	}
	for _, id := range run("network", "ls", "-q", "--filter", "label=com.docker.compose.project="+name+"_devcontainer") {
		run("network", "rm", id)
	}
	for _, pattern := range []string{"vsc-" + name + "-*", name + "_devcontainer*", name + "-*"} {
		if images := run("image", "ls", "-q", "--filter", "reference="+pattern); len(images) > 0 {
			run(append([]string{"rmi", "-f"}, images...)...)
		}
	}
}

// TestErrorsKeepFromStarting asks the official CLI and the engine about each error of each written
// mistake: the project does not start, and says why in the words that the rule's class expects, and its
// twin gets further. It takes minutes: SBX_LINT_STARTS=1, or make lint-starts.
func TestErrorsKeepFromStarting(t *testing.T) {
	if os.Getenv("SBX_LINT_STARTS") == "" {
		t.Skip("takes minutes; SBX_LINT_STARTS=1 runs it")
	}
	testenv.Root(t)
	s := &starter{root: t.TempDir(), log: os.Getenv("SBX_LINT_STARTS_LOG"), docker: testenv.Program(t, "docker")}
	out, err := exec.Command(s.docker, "volume", "ls", "-q").Output()
	if err != nil {
		t.Fatal(err)
	}
	s.volumes = string(out)
	standIns(t, s.docker)

	only := regexp.MustCompile(os.Getenv("SBX_LINT_STARTS_ONLY"))
	var lock sync.Mutex
	counts := map[string]int{}
	note := func(what string) { lock.Lock(); counts[what]++; lock.Unlock() }
	t.Run("claims", func(t *testing.T) {
		for i, c := range claims(t) {
			class := classes[c.finding.Rule]
			class.rule = c.finding.Rule
			if source := bySource[c.name]; source != "" {
				t.Logf("by source: %s %s: %s", c.finding.Rule, c.name, source)
				note("by the source of the program")
				continue
			}
			if class.says == "" {
				note("not about starting; " + class.kind)
				continue
			}
			if !only.MatchString(c.finding.Rule + " " + c.name) {
				continue
			}
			t.Run(c.finding.Rule+" "+c.name, func(t *testing.T) {
				t.Parallel()
				note(s.try(t, fmt.Sprintf("sbx-starts-%d", i), c, class))
			})
		}
	})
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%4d %s", counts[what], what)
	}
}

var (
	eachTime = regexp.MustCompile(`\[[-0-9T:.Z]+\] |[0-9a-f]{64}`)
	eachName = regexp.MustCompile(`sbx-starts-\d+(-twin)?`)
)

// ofAnyProject is a line without what differs from one project to the next.
func ofAnyProject(line string) string {
	return eachName.ReplaceAllString(eachTime.ReplaceAllString(line, ""), "project")
}

// try starts a mistake and its twin, and returns what came of it in a few words.
func (s *starter) try(t *testing.T, name string, c claim, class class) string {
	says := regexp.MustCompile(class.says)
	o := s.up(t, name, c.wrong, class)
	line, said := o.said(says)
	missing, away := o.said(unreachable)
	if strings.Contains(o.text, "Could not resolve host") {
		said = false // whatever comes after a download that failed
	}
	switch {
	case o.started:
		t.Errorf("it starts, and the linter says: %s\n        %s", c.finding.Message, o.last())
		return "refuted"
	case !said && away:
		t.Logf("not tried: %s", missing)
		return "not tried, for want of an image, a Feature or a package: " + unreachable.FindString(missing)
	case !said:
		t.Errorf("it fails elsewhere, %s, and the linter says: %s\n        %s", o.stage, c.finding.Message, o.last())
		return "fails elsewhere"
	}
	t.Logf("confirmed, %s: %s: %s", o.stage, c.finding.Message, line)
	if c.right == nil || unknownTwins[c.name] != "" {
		return "confirmed"
	}
	twin := s.up(t, name+"-twin", c.right, class)
	again, said := twin.said(says)
	_, away = twin.said(unreachable)
	switch {
	case twin.started:
		return "confirmed, and the twin starts"
	case away:
		return "confirmed, and the twin wants what is not here"
	case said && ofAnyProject(again) == ofAnyProject(line):
		t.Errorf("the twin fails as well, %s: %s", twin.stage, again)
		return "confirmed, and the twin fails as well"
	}
	t.Logf("the twin gets further, %s: %s", twin.stage, twin.last())
	return "confirmed, and the twin gets further"
}
