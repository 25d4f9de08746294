package changes

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git's own names of blobs
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/hostprogram"
)

// repository is the project's, asked for what only git can know: which blob a
// path had in the index, and what is in a blob.
type repository struct {
	git    string // program
	folder string // where .git is
	prefix string // the project's path below it with a slash, "" for the same folder
}

// findRepository looks for the .git of the project or of a folder above it. It
// returns nil where there is none, or no git on this machine.
func findRepository(dir string) *repository {
	git, err := hostprogram.Find("git")
	if err != nil {
		return nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			rel, err := filepath.Rel(at, dir)
			if err != nil {
				return nil
			}
			r := &repository{git: git, folder: at}
			if rel != "." {
				r.prefix = filepath.ToSlash(rel) + "/"
			}
			return r
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// command runs git so that no configuration of anybody's makes it run a program,
// fetch something or read an object in the place of another. The two commands
// that are used here read neither attributes nor the files of the work tree.
func (r *repository) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.git, append([]string{
		"--no-pager", "--literal-pathspecs", "-c", "safe.directory=*", "-c", "core.fsmonitor=false",
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.attributesFile=" + os.DevNull, "-c", "protocol.allow=never",
	}, args...)...)
	cmd.Dir = r.folder
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=",
		"GIT_DIR=" + filepath.Join(r.folder, ".git"), "GIT_WORK_TREE=" + r.folder,
	}
	if root := os.Getenv("SystemRoot"); root != "" { // programs on Windows do not start without it
		cmd.Env = append(cmd.Env, "SystemRoot="+root)
	}
	return cmd
}

// tracked is a file in git's index.
type tracked struct {
	blob         string // its object's name, in hex
	mtime, ctime int64  // nanoseconds, of the file when git last looked at it
	ino, size    uint64 // the lower 32 bits
}

// indexed is git's index at a moment.
type indexed struct {
	files   map[string]tracked // by path below the project
	written int64              // nanoseconds since 1970, or earlier; 0 where it cannot be told
}

// readIndex reads the index while something else goes on. Without a repository,
// or when git fails, it is empty.
func (r *repository) readIndex(ctx context.Context) <-chan indexed {
	read := make(chan indexed, 1)
	go func() {
		var index indexed
		if r != nil {
			// Before the list, so that a list of later does not vouch for more.
			index.written = r.indexTime(ctx)
			if files, err := r.index(ctx); err == nil {
				index.files = files
			}
		}
		read <- index
	}()
	return read
}

// index lists the files of the index below the project, by their paths there.
func (r *repository) index(ctx context.Context) (map[string]tracked, error) {
	args := []string{"ls-files", "--stage", "--debug", "-z"}
	if r.prefix != "" {
		args = append(args, "--", r.prefix)
	}
	cmd := r.command(ctx, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	files, err := parseIndex(bufio.NewReaderSize(out, 1<<16), r.prefix)
	if err != nil {
		_ = cmd.Process.Kill()
	}
	return files, errors.Join(err, cmd.Wait())
}

// parseIndex reads "MODE BLOB STAGE\tPATH\0" and the lines of --debug that follow
// each.
func parseIndex(in *bufio.Reader, prefix string) (map[string]tracked, error) {
	files := map[string]tracked{}
	for {
		head, err := in.ReadString(0)
		if err == io.EOF && head == "" {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading git's index: %w", err)
		}
		meta, name, ok := strings.Cut(strings.TrimSuffix(head, "\x00"), "\t")
		fields := strings.Fields(meta)
		var f tracked
		var lines [5]string
		for i := range lines {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return nil, fmt.Errorf("reading git's index: %w", err)
			}
			if i != 3 { // user and group: no text is made of it
				lines[i] = string(line)
			}
		}
		if ok && len(fields) == 3 {
			f.blob = fields[1]
			err = errors.Join(parseTime(lines[0], &f.ctime), parseTime(lines[1], &f.mtime),
				parsePair(lines[2], 1, 10, &f.ino), parsePair(lines[4], 0, 10, &f.size))
		}
		if !ok || len(fields) != 3 || err != nil {
			return nil, errors.Join(errors.New("git's list of its index has another form than expected"), err)
		}
		mode, stage := fields[0], fields[2]
		if rel, in := strings.CutPrefix(name, prefix); in && stage == "0" && strings.HasPrefix(mode, "100") {
			files[rel] = f
		}
	}
}

// parseTime reads "  ctime: SECONDS:NANOSECONDS".
func parseTime(line string, to *int64) error {
	_, value, _ := strings.Cut(line, ":")
	s, ns, _ := strings.Cut(strings.TrimSpace(value), ":")
	seconds, err := strconv.ParseInt(s, 10, 64)
	nanos, err2 := strconv.ParseInt(ns, 10, 64)
	*to = seconds*1e9 + nanos
	return errors.Join(err, err2)
}

// parsePair reads the value at a place of "  NAME: VALUE\tNAME: VALUE".
func parsePair(line string, at, base int, to *uint64) (err error) {
	pair := strings.TrimSpace(line)
	for range at {
		_, pair, _ = strings.Cut(pair, "\t")
	}
	pair, _, _ = strings.Cut(pair, "\t")
	_, value, found := strings.Cut(pair, ":")
	if !found {
		return fmt.Errorf("no value in %q", line)
	}
	*to, err = strconv.ParseUint(strings.TrimSpace(value), base, 64)
	return err
}

// clean reports whether a file is as git had it in the index when the index was
// written at the given time. A file that is as young as the index may have
// changed since. The flags by which git passes a file over do not count.
func (f tracked) clean(n *node, indexTime int64) bool {
	sameTimes := f.mtime == n.mtime && f.ctime == n.ctime
	sameInode := f.ino == 0 || uint32(f.ino) == uint32(n.id.ino)
	return n.what == File && sameTimes && sameInode && uint32(f.size) == uint32(n.size) && n.mtime < indexTime
}

// indexTime is when the index was written; 0 where it cannot be told, which
// makes no file clean.
func (r *repository) indexTime(ctx context.Context) int64 {
	out, err := r.command(ctx, "rev-parse", "--git-path", "index").Output()
	if err != nil {
		return 0
	}
	name := strings.TrimSuffix(string(out), "\n")
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.folder, name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// blobs reads blobs up to maxFile bytes each and gives them to take, which
// returns false for enough. One whose content is not what its name says is left
// out: the objects may have been written by an agent.
func (r *repository) blobs(ctx context.Context, names []string, take func(name string, content []byte) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := r.command(ctx, "cat-file", "--batch", "--buffer")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = readBlobs(bufio.NewReaderSize(out, 1<<16), take)
	cancel() // it may have more to say
	_ = cmd.Wait()
	return err
}

// readBlobs reads "NAME blob SIZE\nCONTENT\n" and "NAME missing\n".
func readBlobs(in *bufio.Reader, take func(name string, content []byte) bool) error {
	for {
		head, err := in.ReadString('\n')
		if err == io.EOF && head == "" {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading blobs: %w", err)
		}
		fields := strings.Fields(head)
		if len(fields) != 3 {
			continue // missing
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil || size < 0 {
			return fmt.Errorf("reading blobs: %q", head)
		}
		if size > maxFile || fields[1] != "blob" {
			if _, err := io.CopyN(io.Discard, in, size+1); err != nil {
				return fmt.Errorf("reading blobs: %w", err)
			}
			continue
		}
		content := make([]byte, size+1)
		if _, err := io.ReadFull(in, content); err != nil {
			return fmt.Errorf("reading blobs: %w", err)
		}
		if content = content[:size]; blobName(content, len(fields[0])) == fields[0] && !take(fields[0], content) {
			return nil
		}
	}
}

// blobName is the name of a blob by SHA-1, or by SHA-256 where names have 64
// digits (gitformat-object).
func blobName(content []byte, digits int) string {
	var h hash.Hash
	if h = sha1.New(); digits == hex.EncodedLen(sha256.Size) { //nolint:gosec // see above
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// asCheckedOut gives the content that a clean file of a size had, of which git
// has the blob: git may have changed line ends, a filter may have made anything
// else of it.
func asCheckedOut(blob []byte, size int64) (content []byte, ok bool) {
	if int64(len(blob)) == size {
		return blob, true
	}
	if crlf := bytes.ReplaceAll(blob, []byte("\n"), []byte("\r\n")); int64(len(crlf)) == size {
		return crlf, true
	}
	return nil, false
}
