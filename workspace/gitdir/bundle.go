package gitdir

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// openBundle opens a bundle (gitformat-bundle(5)) at its pack. It must hold just
// the branches that are expected.
func openBundle(file string, branches []Commits) (*os.File, io.Reader, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	pack, err := afterHeader(f, branches)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return f, pack, nil
}

func afterHeader(r io.Reader, branches []Commits) (io.Reader, error) {
	in := bufio.NewReader(r)
	first, err := in.ReadString('\n')
	if err != nil || first != "# v2 git bundle\n" && first != "# v3 git bundle\n" {
		return nil, fmt.Errorf("it is no bundle")
	}
	refs := map[string]string{}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("it ends too early")
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			break
		}
		if hash, ref, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "@") {
			refs[ref] = hash
		}
	}
	for _, b := range branches {
		if refs["refs/heads/"+b.Branch] != b.Head {
			return nil, fmt.Errorf("it does not hold %s at %s", b.Branch, b.Head)
		}
	}
	if len(refs) != len(branches) {
		return nil, fmt.Errorf("it holds more than the branches of the run")
	}
	return in, nil
}
