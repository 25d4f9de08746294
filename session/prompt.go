package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
)

// maxPrompt bounds a prompt, in bytes: a model's context holds no more.
const maxPrompt = 4 << 20

// ErrEmptyPrompt reports a prompt without a word.
var ErrEmptyPrompt = errors.New("the prompt is empty")

// ReadPrompt reads a prompt of at most 4 MiB. It errs on an empty one.
func ReadPrompt(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("reading the prompt: %w", err)
	case len(text) > maxPrompt:
		err := fmt.Errorf("the prompt is larger than %d MiB, and a model's context holds no more", maxPrompt>>20)
		return "", diag.WithHint(err, "put the text into a file of the project, and name that in the prompt")
	case strings.TrimSpace(string(text)) == "":
		return "", ErrEmptyPrompt
	}
	return string(text), nil
}

// ErrNoInput reports that nothing came on standard input, which stays open.
var ErrNoInput = errors.New("nothing came on standard input")

// ReadMore returns prompt with the text of r below it. When nothing has come within
// patience, it returns prompt alone and ErrNoInput.
func ReadMore(r io.Reader, prompt string, patience time.Duration) (string, error) {
	type input struct {
		text string
		err  error
	}
	first, whole := make(chan struct{}), make(chan input, 1)
	go func() {
		text, err := ReadPrompt(&noticed{r, sync.OnceFunc(func() { close(first) })})
		whole <- input{text, err}
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-first:
	case <-late.C:
		return prompt, ErrNoInput
	}
	in := <-whole
	if errors.Is(in.err, ErrEmptyPrompt) {
		return prompt, nil
	}
	return prompt + "\n" + in.text, in.err
}

// noticed tells of the first answer of a reader.
type noticed struct {
	io.Reader
	tell func()
}

func (n *noticed) Read(p []byte) (int, error) {
	count, err := n.Reader.Read(p)
	n.tell()
	return count, err
}

// ReadPromptFile reads a prompt from a file. One of the project's may be a symbolic
// link that the agent has made, and its content goes to the agent: it must not lead
// out of the project.
func ReadPromptFile(file, project string) (string, error) {
	f, err := OpenFile(file, project)
	if err != nil {
		return "", fmt.Errorf("reading the prompt: %w", err)
	}
	defer f.Close()
	return ReadPrompt(f)
}

// OpenFile opens a file that the user names, whose content goes to the agent. One of the
// project's may be a symbolic link that the agent has made: it must not lead out of the
// project.
func OpenFile(file, project string) (*os.File, error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return nil, diag.WithHint(fmt.Errorf("%s is a folder", file), "name a file in it")
	}
	rel, inside := InProject(file, project)
	if !inside {
		return os.Open(file)
	}
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := filekind.OpenIn(root, rel)
	if err == nil {
		return f, nil
	}
	if link, linkErr := root.Lstat(rel); linkErr == nil && link.Mode()&os.ModeSymlink != 0 {
		err = diag.WithHint(fmt.Errorf("%s is a symbolic link in the project: %w", file, err),
			"an agent can make such links to files of yours, whose content would go to it: name the file itself")
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) && diag.HintOf(err) == "" {
		err = &fs.PathError{Op: "open", Path: file, Err: path.Err} // its path is below the project, its call another one
	}
	return nil, err
}
