package conf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// envPrefix starts the names of environment variables.
const envPrefix = "DORISGO_"

// Source is where values come from. Each part may be empty.
type Source struct {
	// File is the path of a file of `key = value` lines. FileOptional says that
	// it need not exist.
	File         string
	FileOptional bool
	// Env is the environment as os.Environ gives it.
	Env []string
	// Sets are "key=value" texts of flags.
	Sets []string
	// Shared says that Sets are meant for several roles: keys that this role
	// does not have are left to the caller (see Keys.Has).
	Shared bool
}

// Load reads all of src over the present values. warnings are texts for the
// log, such as unknown keys of the file, which Doris ignores too. The error
// joins all that is wrong.
func (k *Keys) Load(src Source) (warnings []string, err error) {
	var errs []error
	env := environment(src.Env)
	if src.File != "" {
		text, err := os.ReadFile(src.File)
		switch {
		case err == nil:
			var fileErrs []error
			warnings, fileErrs = k.loadFile(src.File, string(text), env)
			errs = append(errs, fileErrs...)
		case src.FileOptional && errors.Is(err, fs.ErrNotExist):
		default:
			errs = append(errs, fmt.Errorf("cannot read the configuration of the %s: %w", k.role, err))
		}
	}
	for _, f := range k.fields {
		name := envPrefix + strings.ToUpper(f.Key)
		if text, ok := env[name]; ok {
			if err := f.set(text); err != nil {
				errs = append(errs, fmt.Errorf("environment variable %s: %w", name, err))
			}
		}
	}
	for _, s := range src.Sets {
		if err := k.loadSet(s, src.Shared); err != nil {
			errs = append(errs, err)
		}
	}
	return warnings, errors.Join(errs...)
}

func environment(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, s := range list {
		if name, text, ok := strings.Cut(s, "="); ok {
			env[name] = text
		}
	}
	return env
}

func (k *Keys) loadSet(s string, shared bool) error {
	key, text, ok := strings.Cut(s, "=")
	key = strings.TrimSpace(key)
	if !ok {
		return fmt.Errorf("--set %s: not of the form key=value", s)
	}
	f := k.byKey[key]
	switch {
	case f != nil:
		if err := f.set(text); err != nil {
			return fmt.Errorf("--set %s: %w", s, err)
		}
	case !shared:
		return fmt.Errorf("--set %s: %w", s, k.unknown(key))
	}
	return nil
}

func (k *Keys) loadFile(path, text string, env map[string]string) (warnings []string, errs []error) {
	seen := make(map[string]int)
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		warn := func(format string, args ...any) {
			warnings = append(warnings, fmt.Sprintf("%s:%d: ", path, n)+fmt.Sprintf(format, args...))
		}
		key, val, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if !ok {
			errs = append(errs, fmt.Errorf("%s:%d: %q is not of the form key = value", path, n, line))
			continue
		}
		f := k.byKey[key]
		if f == nil {
			warn("key %q is not known and ignored", key)
			continue
		}
		if before := seen[key]; before > 0 {
			warn("key %q was set in line %d already; the last one counts", key, before)
		}
		seen[key] = n
		val, missing := expand(strings.TrimSpace(val), env)
		for _, m := range missing {
			warn("environment variable %q is not set", m)
		}
		if err := f.set(val); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", path, n, err))
		}
	}
	return warnings, errs
}

// expand replaces ${NAME} by the environment's value. A dollar sign without
// braces is itself.
func expand(s string, env map[string]string) (out string, missing []string) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			b.WriteString(s)
			return b.String(), missing
		}
		b.WriteString(before)
		text, set := env[name]
		if !set {
			missing = append(missing, name)
		}
		b.WriteString(text)
		s = after
	}
}
