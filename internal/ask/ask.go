package ask

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ErrEnded reports that the input ended before the answer.
var ErrEnded = errors.New("the input ended before the answer")

// Option is a line of a list.
type Option struct{ Value, Label string }

// Terminal asks questions one after the other. One Terminal asks all of them,
// because it may have read more than a line. After an error it must not be used.
type Terminal struct {
	in  *bufio.Reader
	out io.Writer
}

// New returns a Terminal that writes questions to out and reads answers from in.
func New(in io.Reader, out io.Writer) *Terminal { return &Terminal{bufio.NewReader(in), out} }

// One asks for one option and returns its value. proposed is the value that an
// empty line takes; without one an empty line is no answer.
func (t *Terminal) One(ctx context.Context, title string, options []Option, proposed string) (string, error) {
	fmt.Fprintf(t.out, "%s\n", title)
	number := slices.IndexFunc(options, func(o Option) bool { return o.Value == proposed }) + 1
	for i, o := range options {
		fmt.Fprintf(t.out, "  %2d  %s\n", i+1, o.Label)
	}
	prompt := fmt.Sprintf("%s: a number from 1 to %d: ", title, len(options))
	if number > 0 {
		prompt = fmt.Sprintf("%s: a number from 1 to %d, or Enter for %s: ", title, len(options), proposed)
	}
	for {
		list, err := t.numbers(ctx, prompt, len(options))
		switch {
		case err != nil:
			return "", err
		case len(list) == 0 && number > 0:
			return proposed, nil
		case len(list) == 1:
			return options[list[0]].Value, nil
		}
		fmt.Fprintln(t.out, "one number is needed")
	}
}

// Some asks which of the options hold, and returns their values in the order of
// the list. Those in chosen hold at first; a line of numbers turns each of these
// on or off, and an empty line ends the question. A line with a word that is no
// number of the list changes nothing.
func (t *Terminal) Some(ctx context.Context, title string, options []Option, chosen []string) ([]string, error) {
	on := make([]bool, len(options))
	for i, o := range options {
		on[i] = slices.Contains(chosen, o.Value)
	}
	for {
		fmt.Fprintf(t.out, "%s\n", title)
		for i, o := range options {
			fmt.Fprintf(t.out, "  [%s] %2d  %s\n", map[bool]string{true: "x", false: " "}[on[i]], i+1, o.Label)
		}
		changes, err := t.numbers(ctx, fmt.Sprintf("%s: numbers turn on or off, Enter goes on: ", title), len(options))
		if err != nil {
			return nil, err
		}
		for _, i := range changes {
			on[i] = !on[i]
		}
		if len(changes) == 0 {
			break
		}
	}
	var out []string
	for i, o := range options {
		if on[i] {
			out = append(out, o.Value)
		}
	}
	return out, nil
}

// Confirm asks a question to be answered with y or n; an empty line is proposed.
func (t *Terminal) Confirm(ctx context.Context, question string, proposed bool) (bool, error) {
	choice := map[bool]string{true: "Y/n", false: "y/N"}[proposed]
	for {
		line, err := t.line(ctx, fmt.Sprintf("%s [%s] ", question, choice))
		if err != nil {
			return false, err
		}
		switch strings.ToLower(line) {
		case "":
			return proposed, nil
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		fmt.Fprintf(t.out, "%q is neither y nor n\n", line)
	}
}

// Key asks for one of the options, whose values are single letters; "?" explains them.
// An empty line is no answer.
func (t *Terminal) Key(ctx context.Context, question string, options []Option) (string, error) {
	var keys []string
	for _, o := range options {
		keys = append(keys, o.Value)
	}
	for {
		line, err := t.line(ctx, fmt.Sprintf("%s [%s,?] ", question, strings.Join(keys, ",")))
		if err != nil {
			return "", err
		}
		if slices.Contains(keys, strings.ToLower(line)) {
			return strings.ToLower(line), nil
		}
		for _, o := range options {
			fmt.Fprintf(t.out, "  %s  %s\n", o.Value, o.Label)
		}
	}
}

// numbers asks until a line holds nothing but numbers from 1 to n, separated by
// spaces or commas, and returns them as indexes.
func (t *Terminal) numbers(ctx context.Context, prompt string, n int) ([]int, error) {
again:
	line, err := t.line(ctx, prompt)
	if err != nil {
		return nil, err
	}
	var list []int
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' }) {
		i, err := strconv.Atoi(word)
		if err != nil || i < 1 || i > n {
			fmt.Fprintf(t.out, "%q is not a number from 1 to %d\n", word, n)
			goto again
		}
		list = append(list, i-1)
	}
	return list, nil
}

// line writes the prompt and reads a line without the spaces around it. It
// returns when ctx is done, too: reading a terminal cannot be given up.
func (t *Terminal) line(ctx context.Context, prompt string) (string, error) {
	if _, err := io.WriteString(t.out, prompt); err != nil {
		return "", err
	}
	var line string
	read := make(chan error, 1)
	go func() {
		var err error
		line, err = t.in.ReadString('\n')
		read <- err
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case err := <-read:
		if errors.Is(err, io.EOF) {
			err = ErrEnded
		}
		return strings.TrimSpace(line), err
	}
}
