package delivery

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds the wait for the other side, which comes at once.
const patience = time.Minute

// Receive waits for a parcel, writes its files and returns its variables. Its caller
// has no child yet, and starts none when it errs.
func Receive() (env []string, err error) { return receive(Folder, patience) }

func receive(folder string, patience time.Duration) ([]string, error) {
	fail := func(err error) ([]string, error) {
		return nil, fmt.Errorf("receiving the run's variables and secrets: %w", err)
	}
	if err := inMemory(folder); err != nil {
		return fail(err)
	}
	pipe := filepath.Join(folder, pipe)
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		return fail(err)
	}
	type input struct {
		text []byte
		err  error
	}
	came := make(chan input, 1)
	go func() {
		text, err := readPipe(pipe)
		came <- input{text, err}
	}()
	select {
	case in := <-came:
		if err := errors.Join(in.err, os.Remove(pipe)); err != nil {
			return fail(err)
		}
		parcel, err := Decode(in.text)
		if err == nil {
			err = writeFiles(folder, parcel.Files)
		}
		if err != nil {
			return fail(err)
		}
		return parcel.Env, nil
	case <-time.After(patience):
		return fail(fmt.Errorf("nothing came within %s", patience))
	}
}

func readPipe(pipe string) ([]byte, error) {
	f, err := os.Open(pipe) // returns when somebody writes
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

// writeFiles writes secrets for this process's user to read.
func writeFiles(folder string, files map[string][]byte) error {
	for name, data := range files {
		f, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// inMemory refuses a folder that is on a disk.
func inMemory(folder string) error {
	var system unix.Statfs_t
	if err := unix.Statfs(folder, &system); err != nil {
		return &fs.PathError{Op: "statfs", Path: folder, Err: err}
	}
	if system.Type != unix.TMPFS_MAGIC {
		return fmt.Errorf("%s is not in memory", folder)
	}
	return nil
}

// Send passes a parcel on to the first process of this container, which may not wait for
// it yet.
func Send(parcel io.Reader) error { return send(parcel, filepath.Join(Folder, pipe), patience) }

func send(parcel io.Reader, pipe string, patience time.Duration) error {
	fail := func(err error) error { return fmt.Errorf("passing on the run's variables and secrets: %w", err) }
	text, err := io.ReadAll(io.LimitReader(parcel, MaxSize+1))
	if err != nil {
		return fail(err)
	}
	for begin := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		f, err := os.OpenFile(pipe, os.O_WRONLY|unix.O_NONBLOCK, 0) // ENXIO: it has no reader yet
		if (errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENXIO)) && time.Since(begin) < patience {
			continue
		}
		if err != nil {
			return fail(err)
		}
		if info, err := f.Stat(); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
			return fail(errors.Join(err, f.Close(), fmt.Errorf("%s is no pipe", pipe)))
		}
		_, err = f.Write(text)
		if err = errors.Join(err, f.Close()); err != nil {
			return fail(err)
		}
		return nil
	}
}
