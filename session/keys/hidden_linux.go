package keys

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The fields of proc(5)'s stat, counted behind the program's name, that say where the
// environment lies which the process was started with: env_start and env_end.
const (
	envStart = 50 - 3
	envEnd   = 51 - 3
)

// conceal overwrites the values in the environment that this process was started with:
// the kernel shows these bytes. It comes before the memory is closed, since it reaches
// them through it.
func conceal(found Keys, _ []string) error {
	for name, value := range found {
		found[name] = strings.Clone(value) // it is one of these bytes itself
	}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= envEnd {
		return fmt.Errorf("/proc/self/stat has %d fields", len(fields))
	}
	start, err := strconv.ParseInt(fields[envStart], 10, 64)
	if err != nil {
		return err
	}
	end, err := strconv.ParseInt(fields[envEnd], 10, 64)
	if err != nil || end <= start {
		return fmt.Errorf("the environment is said to lie at %s to %s", fields[envStart], fields[envEnd])
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	environ := make([]byte, end-start)
	if _, err := memory.ReadAt(environ, start); err != nil {
		return err
	}
	for _, variable := range bytes.Split(environ, []byte{0}) {
		if name, value, ok := bytes.Cut(variable, []byte("=")); ok && found[string(name)] != "" {
			clear(value)
		}
	}
	_, err = memory.WriteAt(environ, start)
	return err
}
