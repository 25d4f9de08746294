package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// imageLacks reports what an image does not have and a Dockerfile takes for granted: the tag itself, a shell, a folder, the
// data of a language or of a time zone.
func imageLacks(v *rule.View) (out []rule.Finding) {
	for _, s := range neededStages(v) {
		if s.Parent == nil && s.Known {
			if why, hint := baseimage.NoSuchTag(s.Image); why != "" {
				start, end := s.From.Find(s.Image)
				f := v.AtDockerfile(start, end, why, hint)
				if strings.HasPrefix(s.Image, "nvidia/") { // of the official images a repository lists the tags
					f.Severity = diag.SeverityWarning
				}
				out = append(out, f)
			}
		}
		image, _ := baseimage.Of(s.Base().Image)
		if !image.Official() || !s.Base().Known {
			continue
		}
		out = append(out, writtenNowhere(v, s, image)...)
	}
	if v.Build == nil || v.Build.Final == nil {
		return out
	}
	return append(append(out, noShellAtAll(v)...), localesMissing(v)...)
}

// bringsSystem are the last parts of paths by which a COPY brings a shell, or a whole system.
var bringsSystem = []string{"/", "bin", "usr", "sh", "bash", "dash", "busybox", ".", "sbin", "rootfs"}

// noShellAtAll reports a container without /bin/sh, by which the reference CLI starts it and looks at it. Of scratch
// nothing starts: the CLI asks the engine for an image of that name, which the engine never pulls.
func noShellAtAll(v *rule.View) []rule.Finding {
	s := v.Build.Final
	image := s.Base().Image
	distroless := strings.HasPrefix(image, "gcr.io/distroless/") && !strings.Contains(image, "debug")
	if v.Bare || image != "scratch" && !distroless {
		return nil
	}
	from := s.Base().From
	if image == "scratch" {
		const message = "the reference CLI asks the engine for an image scratch, and there is none"
		return []rule.Finding{v.AtDockerfile(from.Start, from.HeadEnd, message,
			"take an image with a shell, or name another stage as build.target")}
	}
	for _, i := range s.History() {
		copied, ok := i.Command.(*instructions.CopyCommand)
		if i.Name == "RUN" || i.Name == "ADD" || ok && slices.ContainsFunc(append(copied.SourcePaths, copied.DestPath), func(name string) bool {
			return slices.Contains(bringsSystem, path.Base(name))
		}) {
			return nil
		}
	}
	return []rule.Finding{v.AtDockerfile(from.Start, from.HeadEnd, fmt.Sprintf("%s has no shell, and a dev container starts with one", image),
		"take an image with a shell, or name another stage as build.target")}
}

// absentFolders are folders that no official image has, with the package or the step that makes them.
var absentFolders = map[string]string{"/etc/sudoers.d": "sudo", "/root/.ssh": ".ssh", "~/.ssh": ".ssh", "/root/.config": ".config",
	"~/.config": ".config", "/root/.docker": ".docker", "~/.docker": ".docker", "/root/.kube": ".kube", "~/.kube": ".kube"}

// writtenNowhere reports files that a step writes into a folder which nothing has made.
func writtenNowhere(v *rule.View, s *dockerfile.Stage, image baseimage.Image) (out []rule.Finding) {
	writes := func(cmd *shell.Command) bool {
		return slices.ContainsFunc(cmd.Files, func(w shell.Word) bool { return absentFolders[path.Dir(w.Text)] != "" })
	}
	if !slices.ContainsFunc(s.Instructions, func(i *dockerfile.Instruction) bool { return slices.ContainsFunc(i.Commands, writes) }) {
		return nil
	}
	made := map[string]bool{}
	for _, i := range s.History() {
		if i.Name != "RUN" {
			for _, by := range absentFolders {
				made[by] = made[by] || i.Name != "FROM" && strings.Contains(i.Source(), by) || i.Name == "ADD" || strings.Contains(i.Source(), "--from")
			}
			continue
		}
		for _, cmd := range i.Commands {
			for _, w := range cmd.Files {
				by := absentFolders[path.Dir(w.Text)]
				if by == "" || made[by] || i.Unread || cmd.OnFailure == shell.Open || image.Family == baseimage.RedHat {
					continue
				}
				made[by] = true
				if i.Stage == s {
					hint := fmt.Sprintf("write mkdir -p %s && in front", path.Dir(w.Text))
					if by == "sudo" {
						hint = "install sudo in front, which brings it"
					}
					f := v.AtWord(w, fmt.Sprintf("there is no folder %s, so the shell cannot write this file", path.Dir(w.Text)), hint)
					if cmd.OnFailure == shell.Unheard || !image.Asked() {
						f.Severity = diag.SeverityWarning
					}
					out = append(out, f)
				}
			}
			anything := cmd.Is(shell.Shells...) || strings.Contains(cmd.Words[0].Text, "/") || i.Unread || cmd.Is("tar", "unzip", "git", "make")
			for _, by := range absentFolders {
				made[by] = made[by] || anything || slices.ContainsFunc(cmd.Args(), func(w shell.Word) bool {
					return strings.Contains(w.Text, by) && (by != "sudo" || !strings.Contains(w.Text, "sudoers") || cmd.Is("mkdir", "install"))
				})
			}
		}
	}
	return out
}

// localeName matches the value of LANG for a language, not for C.
var localeName = lazyregexp.New(`^["']?[a-z]{2}_[A-Z]{2}(\.|["']?$)`)

// localesMissing reports a language and a time zone whose data the image does not have.
func localesMissing(v *rule.View) []rule.Finding {
	image, _ := baseimage.Of(v.BaseImage())
	history := v.Build.Final.History()
	scripts := slices.ContainsFunc(history, func(i *dockerfile.Instruction) bool {
		return slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool {
			return i.Name == "RUN" && (cmd.Is(shell.Shells...) || strings.ContainsAny(cmd.Words[0].Text, "/$"))
		})
	})
	if !image.Official() || v.HasFeatures() || scripts {
		return nil
	}
	for _, i := range history {
		env, ok := i.Command.(*instructions.EnvCommand)
		if !ok {
			continue
		}
		for _, kv := range env.Env {
			start, end := i.Find(kv.Key)
			language := (kv.Key == "LANG" || kv.Key == "LC_ALL") && image.Family == baseimage.Debian && localeName.MatchString(kv.Value)
			zone := kv.Key == "TZ" && image.Family == baseimage.Alpine && strings.Contains(kv.Value, "/")
			switch {
			case language && !mentions(history, i, "locale", "C.UTF-8", "language-pack", "localedef"):
				f := v.AtDockerfile(start, end, fmt.Sprintf("%s has no data of the locale %s, and programs complain or take ASCII", v.BaseImage(),
					strings.Trim(kv.Value, `"'`)), "write C.UTF-8, or install locales and run locale-gen")
				f.Severity = diag.SeverityWarning
				return []rule.Finding{f}
			case zone && !mentions(history, i, "tzdata", "zoneinfo"):
				f := v.AtDockerfile(start, end, fmt.Sprintf("%s has no data of time zones, so the time is UTC", v.BaseImage()),
					"install tzdata")
				f.Severity = diag.SeverityWarning
				return []rule.Finding{f}
			}
		}
	}
	return nil
}

// mentions reports whether a step or another instruction has one of texts.
func mentions(history []*dockerfile.Instruction, but *dockerfile.Instruction, texts ...string) bool {
	return slices.ContainsFunc(history, func(i *dockerfile.Instruction) bool {
		return i != but && (i.Unread || i.Name == "ADD" ||
			slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(i.Source(), text) }))
	})
}
