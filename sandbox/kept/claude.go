package kept

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/agent/conversation"
	"github.com/org/claude-sandbox/internal/atomicfile"
)

// Bounds of what is kept of Claude's own folder, in bytes.
const (
	maxText  = 4 << 20   // of a file that is no conversation
	maxAll   = 128 << 20 // of all conversations and texts
	maxTaken = 4 << 30   // of the archive that is read
)

// texts are the files of Claude's own folder, besides conversations, that hold words and
// start nothing: prompts, notes that it takes for itself, lists of what is to be done,
// plans, and the lines of its shell (measured with 2.1.329).
var texts = sync.OnceValue(func() *regexp.Regexp { // not made at each start of the program: so many repetitions take time
	return regexp.MustCompile(`^(history\.jsonl|shell_history|todos/[A-Za-z0-9_-]{1,100}\.json|plans/[A-Za-z0-9_-]{1,100}\.md|` +
		`projects/[A-Za-z0-9-]{1,200}/memory/[A-Za-z0-9_-]{1,100}\.md)$`)
})

// ShellHistory is where a shell's lines are kept, in Claude's own folder.
const ShellHistory = "shell_history"

// conversations are Claude's files of messages.
var conversations = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^projects/[A-Za-z0-9-]{1,200}/[0-9a-f-]{36}\.jsonl$`)
})

// Taking is how Take reads a folder.
type Taking struct {
	WorkDir string // where the agent worked
	// Clean takes secrets of the run out of a text.
	Clean func(string) string
}

// Take keeps what of Claude's own folder, whose archive in is as engine.OpenTar reads it, a later run gets: the
// messages of conversations in WorkDir, texts, and preferences. Conversations of other
// folders stay as they were kept. It returns sentences about what is left out. With an
// error all stays as it was.
func (s *Store) Take(in io.Reader, how Taking) (notes []string, err error) {
	taken := map[string][]byte{}
	settings := map[string][]byte{}
	source := &io.LimitedReader{R: in, N: maxTaken}
	archive := tar.NewReader(source)
	all, large := 0, 0
	for {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading Claude's folder: %w", err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if (name == "settings.json" || name == stateFile) && h.Size <= maxText {
			if settings[name], err = io.ReadAll(archive); err != nil {
				return nil, fmt.Errorf("reading Claude's folder: %w", err)
			}
			continue
		}
		text, err := keptText(archive, name, h.Size, how.WorkDir)
		switch {
		case errors.Is(err, errNotKept):
			large++
		case err != nil:
			return nil, fmt.Errorf("reading Claude's folder: %w", err)
		case text == nil:
		case all+len(text) > maxAll || len(taken) > maxEntries:
			large++
		default:
			all += len(text)
			taken[name] = []byte(how.Clean(string(text)))
		}
	}
	if source.N == 0 {
		return nil, fmt.Errorf("reading Claude's folder: %w: %d MiB", ErrTooLarge, maxTaken>>20)
	}
	if large > 0 {
		notes = append(notes, fmt.Sprintf("%d of Claude's files are too large, or no text of Claude's, and are not kept", large))
	}
	if err := s.carryOver(taken, how.WorkDir); err != nil {
		return notes, err
	}
	if err := errors.Join(s.savePreferences(settings), s.saveServers(settings[stateFile], how)); err != nil {
		return notes, err
	}
	return notes, atomicfile.Write(filepath.Join(s.dir, claudeFile), 0o600, func(w io.Writer) error { return Pack(w, "kept", taken, 0, 0) })
}

// errNotKept reports a text that is too large, or a conversation that cannot be read.
var errNotKept = errors.New("it is not kept")

// keptText reads a later run's part of a file in Claude's own folder; nil = it has none.
func keptText(in io.Reader, name string, size int64, workDir string) ([]byte, error) {
	id := strings.TrimSuffix(path.Base(name), ".jsonl")
	switch {
	case conversation.IsID(id) && name == conversation.Path(workDir, id):
		var messages bytes.Buffer
		n, err := conversation.Keep(&messages, in, workDir, id)
		if err != nil {
			return nil, errNotKept
		}
		if n == 0 {
			return nil, nil
		}
		return messages.Bytes(), nil
	case !texts().MatchString(name):
		return nil, nil
	case size > maxText:
		return nil, errNotKept
	}
	return io.ReadAll(in)
}

// carryOver adds the kept conversations of other folders than workDir.
func (s *Store) carryOver(taken map[string][]byte, workDir string) error {
	mine := path.Dir(conversation.Path(workDir, "x"))
	return s.each(func(name string, text []byte) {
		if conversations().MatchString(name) && path.Dir(name) != mine {
			taken[name] = text
		}
	})
}

// each calls do with each kept file of Claude's. A store without any has none.
func (s *Store) each(do func(name string, text []byte)) error {
	file, err := os.Open(filepath.Join(s.dir, claudeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	archive := tar.NewReader(file)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading what is kept: %w", err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		if h.Typeflag != tar.TypeReg || !texts().MatchString(name) && !conversations().MatchString(name) {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(archive, maxAll))
		if err != nil {
			return fmt.Errorf("reading what is kept: %w", err)
		}
		do(name, text)
	}
}

// Fill writes an archive of the folder to with Claude's kept files, as a user's.
func (s *Store) Fill(w io.Writer, to string, uid, gid int) error {
	files := map[string][]byte{}
	if err := s.each(func(name string, text []byte) { files[name] = text }); err != nil {
		return err
	}
	return Pack(w, to, files, uid, gid)
}

// Pack writes an archive of the folder to with files by their paths in it, as a user's. They
// are as old as the archive: some moments after its start Claude Code removes conversations,
// plans and others that are a month old by their time, and so all that have none (2.1.329).
func Pack(w io.Writer, to string, files map[string][]byte, uid, gid int) error {
	out, now := tar.NewWriter(w), time.Now()
	made := map[string]bool{}
	var folder func(dir string) error
	folder = func(dir string) error {
		if made[dir] {
			return nil
		}
		made[dir] = true
		if dir != to {
			if err := folder(path.Dir(dir)); err != nil {
				return err
			}
		}
		return out.WriteHeader(&tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o700, ModTime: now, Uid: uid, Gid: gid})
	}
	err := folder(to)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at := path.Join(to, name)
		err = errors.Join(err, folder(path.Dir(at)),
			out.WriteHeader(&tar.Header{Name: at, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(files[name])), ModTime: now,
				Uid: uid, Gid: gid}))
		if err != nil {
			return err
		}
		if _, err = out.Write(files[name]); err != nil {
			return err
		}
	}
	return errors.Join(err, out.Close())
}

// stateFile is Claude's file of what it has asked and shown, and of its projects.
const stateFile = ".claude.json"

// preferences are the members of Claude's settings files that a profile keeps for all its
// projects, with the values that each may have. They say how Claude looks, and nothing
// of them can carry a text from one project to another.
var preferences = map[string]map[string][]any{
	"settings.json": {
		"theme": themes, "editorMode": {"normal", "vim"}, "verbose": switches, "spinnerTipsEnabled": switches,
		"alwaysThinkingEnabled": switches, "prefersReducedMotion": switches, "effortLevel": {"low", "medium", "high"},
	},
	stateFile: {
		"theme": themes, "editorMode": {"normal", "vim"}, "verbose": switches, "autoCompactEnabled": switches,
		"preferredNotifChannel": {"auto", "iterm2", "terminal_bell", "notifications_disabled"}, "diffTool": {"auto", "terminal"},
	},
}

var (
	switches = []any{true, false}
	themes   = []any{"dark", "light", "dark-daltonized", "light-daltonized", "dark-ansi", "light-ansi", "auto"}
)

// savePreferences keeps what of the settings files is a preference.
func (s *Store) savePreferences(files map[string][]byte) error {
	all := s.shared()
	for name, text := range files {
		var members map[string]any
		if json.Unmarshal(text, &members) != nil {
			continue // what Claude itself could not read has none
		}
		all[name] = map[string]any{}
		for member, allowed := range preferences[name] {
			if value, ok := members[member]; ok && isOneOf(allowed, value) {
				all[name][member] = value
			}
		}
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = atomicfile.WriteBytes(filepath.Join(s.profile, preferencesFile), 0o600, append(text, '\n'))
	}
	return err
}

func isOneOf(allowed []any, value any) bool {
	switch value.(type) {
	case bool, string:
		return slices.Contains(allowed, value)
	}
	return false
}

// turnedOff is Claude's list of the MCP servers that a person has turned off in a project.
// The lists of those that were turned on, or allowed, are not kept: they start programs.
const turnedOff = "disabledMcpServers"

// Bounds of what is kept of it: names of servers, and how many.
var (
	serverName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	maxServers = 100
)

// saveServers keeps which MCP servers are turned off where the agent worked and above.
func (s *Store) saveServers(state []byte, how Taking) error {
	var members struct {
		Projects map[string]map[string]any `json:"projects"`
	}
	if json.Unmarshal(state, &members) != nil {
		return nil // what Claude itself could not read says nothing
	}
	all := map[string][]string{}
	for folder, project := range members.Projects {
		if folder == how.WorkDir || strings.HasPrefix(how.WorkDir, folder+"/") {
			all[folder] = serverNames(project[turnedOff])
		}
	}
	text, err := json.Marshal(all)
	if err == nil {
		text = []byte(how.Clean(string(text)))
		err = atomicfile.WriteBytes(filepath.Join(s.dir, serversFile), 0o600, append(text, '\n'))
	}
	return err
}

// serverNames are the names of a list that may be names of servers.
func serverNames(list any) []string {
	names := []string{}
	all, _ := list.([]any)
	for _, one := range all[:min(len(all), maxServers)] {
		if name, ok := one.(string); ok && serverName.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

// Preferences are the profile's and the project's, by the names of Claude's settings files.
func (s *Store) Preferences() map[string]map[string]any {
	all, projects := s.shared(), map[string]any{}
	var read map[string]any
	if text, err := os.ReadFile(filepath.Join(s.dir, serversFile)); err == nil {
		_ = json.Unmarshal(text, &read) // a broken file is as none
	}
	for folder, list := range read {
		if names := serverNames(list); len(names) > 0 && path.IsAbs(folder) {
			projects[folder] = map[string]any{turnedOff: names}
		}
	}
	if len(projects) > 0 {
		if all[stateFile] == nil {
			all[stateFile] = map[string]any{}
		}
		all[stateFile]["projects"] = projects
	}
	return all
}

// shared are the preferences that the profile keeps for all its projects.
func (s *Store) shared() map[string]map[string]any {
	read, all := map[string]map[string]any{}, map[string]map[string]any{}
	if text, err := os.ReadFile(filepath.Join(s.profile, preferencesFile)); err == nil {
		_ = json.Unmarshal(text, &read) // a broken file is as none
	}
	for name, members := range read {
		for member, value := range members {
			if isOneOf(preferences[name][member], value) {
				if all[name] == nil {
					all[name] = map[string]any{}
				}
				all[name][member] = value
			}
		}
	}
	return all
}

// WithPreferences adds preferences to a settings file of Claude's, whose own members win.
func WithPreferences(text []byte, members map[string]any) []byte {
	if members == nil {
		return text
	}
	var own map[string]any
	if len(text) > 0 && json.Unmarshal(text, &own) != nil {
		return text
	}
	out, err := json.Marshal(over(members, own))
	if err != nil {
		return text
	}
	return out
}

// over returns the members of both objects, and of both below; top's win.
func over(base, top map[string]any) map[string]any {
	all := maps.Clone(base)
	for name, value := range top {
		below, isObject := base[name].(map[string]any)
		if object, ok := value.(map[string]any); ok && isObject {
			value = over(below, object)
		}
		all[name] = value
	}
	return all
}
