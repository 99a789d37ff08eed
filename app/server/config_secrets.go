package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"stampede/app/shop"
)

// maxSecret limits the size of a secret file, in bytes. A root store has a few hundred KB; /dev/zero is endless.
const maxSecret = 1 << 20

// worldAccess is the set of mode bits with which every user of the machine can read or write a file.
const worldAccess os.FileMode = 0o006

// pemBlock matches a PEM block without headers, also if its line breaks are blanks.
var pemBlock = regexp.MustCompile(`(-----BEGIN [A-Z0-9 ]+-----)([A-Za-z0-9+/=\s]*)(-----END [A-Z0-9 ]+-----)`)

// normalPEM restores the line breaks of keys and certificates that were written in one line, with blanks or with \n.
func normalPEM(text string) string {
	text = strings.NewReplacer(shop.ByteOrderMark, "", `\r\n`, "\n", `\n`, "\n", "\r\n", "\n").Replace(text)
	return strings.TrimSpace(pemBlock.ReplaceAllStringFunc(text, func(block string) string {
		parts := pemBlock.FindStringSubmatch(block)
		return parts[1] + "\n" + strings.Join(strings.Fields(parts[2]), "\n") + "\n" + parts[3]
	}))
}

// readSecretFiles replaces NAME_FILE in vars by NAME with the content of the file. It returns warnings about files that
// other users can access.
func readSecretFiles(vars map[string]string, known map[string]Variable, p *problems) (warnings []Problem) {
	for name, v := range known {
		path, ok := vars[name+"_FILE"]
		if !v.Secret || !ok {
			continue
		}
		delete(vars, name+"_FILE")
		if vars[name] != "" {
			p.add(name+"_FILE", "is set together with "+prefix+name+": set one of them")
			continue
		}
		value, mode, err := readSecret(path)
		if err != nil {
			p.add(name+"_FILE", err.Error())
			continue
		}
		vars[name] = value
		if !v.public && mode&worldAccess != 0 {
			warnings = append(warnings, Problem{prefix + name + "_FILE", fmt.Sprintf(
				"names a file that all users of this machine can read or write, %s has the mode %04o: run chmod 0400, and "+
					"chown to the user of the program", path, mode)})
		}
	}
	return warnings
}

// readSecret reads a file and removes the line breaks at its end, which editors and echo add. Its errors continue the
// sentence after the variable's name and never contain the content.
func readSecret(path string) (value string, mode os.FileMode, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", 0, fmt.Errorf("cannot be read: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, statErr := file.Stat()
	content, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err = errors.Join(statErr, err); err != nil {
		return "", 0, fmt.Errorf("cannot be read: %w", err)
	}
	value = strings.TrimRight(strings.TrimPrefix(string(content), shop.ByteOrderMark), "\r\n")
	switch {
	case len(content) > maxSecret:
		return "", 0, fmt.Errorf("names %s, which is longer than 1 MiB: check the path", path)
	case value == "":
		return "", 0, fmt.Errorf("names an empty file: %s", path)
	case strings.ContainsRune(value, 0):
		return "", 0, fmt.Errorf("names %s, which is not text: check the path", path)
	}
	return value, info.Mode().Perm(), nil
}
