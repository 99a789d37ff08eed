package main

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// image is what the last stage of a Dockerfile says about how it is run; written beside its root folder.
type image struct {
	Env     []string
	Ports   []string
	Command []string // entry point and command
	Dir     string
}

// builder follows a Dockerfile step by step, as BuildKit reads it, without a container engine. What it cannot follow it
// refuses. It runs as root in a mount namespace of its own, which ends with it, and removes nothing.
type builder struct {
	context string // folder of the sources
	out     string // gets a root folder for each stage
	ignored *patternmatcher.PatternMatcher
	args    []string // NAME=VALUE, wins over the default of an ARG
	roots   map[string]string
}

// stage is one under way.
type stage struct {
	image
	root  string
	args  []string
	empty bool // of a base that has no shell
}

// buildImage follows the Dockerfile from the sources in the working directory into the empty folder out.
func buildImage(dockerfile, out string, args []string) error {
	text, err := os.Open(dockerfile)
	if err != nil {
		return err
	}
	defer text.Close()
	read, err := parser.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", dockerfile, err)
	}
	stages, before, err := instructions.Parse(read.AST, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", dockerfile, err)
	}
	if len(before) > 0 {
		return fmt.Errorf("%s: an ARG before the first FROM is not followed here", dockerfile)
	}
	b := &builder{out: out, args: args, roots: make(map[string]string)}
	if b.context, err = os.Getwd(); err != nil {
		return err
	}
	if b.ignored, err = readIgnored(dockerfile + ".dockerignore"); err != nil {
		return err
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		return fmt.Errorf("%s has to be an empty folder: %d files, %w", out, len(left), err)
	}
	var last *stage
	for i, s := range stages {
		if last, err = b.stage(i, s); err != nil {
			return fmt.Errorf("%s: %s: %w", dockerfile, s.SourceCode, err)
		}
	}
	if err := list(last); err != nil {
		return err
	}
	said, err := json.Marshal(last.image)
	if err != nil {
		return err
	}
	if err := os.Rename(last.root, filepath.Join(out, "root")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "image.json"), said, 0o600)
}

func readIgnored(name string) (*patternmatcher.PatternMatcher, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	patterns, err := ignorefile.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return patternmatcher.New(patterns)
}

func (b *builder) stage(number int, from instructions.Stage) (*stage, error) {
	s := &stage{root: filepath.Join(b.out, fmt.Sprintf("stage-%d", number))}
	s.Dir = "/"
	if err := os.Mkdir(s.root, 0o755); err != nil {
		return nil, err
	}
	b.roots[from.Name] = s.root
	if err := s.base(from.BaseName); err != nil {
		return nil, err
	}
	for _, command := range from.Commands {
		if err := b.follow(s, command); err != nil {
			return nil, fmt.Errorf("%v: %w", command, err)
		}
	}
	return s, nil
}

// follow does one step.
func (b *builder) follow(s *stage, command instructions.Command) error {
	switch c := command.(type) {
	case *instructions.WorkdirCommand:
		s.Dir = path.Join(s.Dir, c.Path)
		return os.MkdirAll(filepath.Join(s.root, s.Dir), 0o755)
	case *instructions.ArgCommand:
		for _, arg := range c.Args {
			s.args = append(s.args, b.arg(arg)) // for the steps of this stage, not for who runs the image
		}
	case *instructions.EnvCommand:
		for _, pair := range c.Env {
			if strings.Contains(pair.Value, "$") {
				return errors.New("a variable in a value is not followed here")
			}
			s.Env = append(s.Env, pair.Key+"="+pair.Value)
		}
	case *instructions.ExposeCommand:
		s.Ports = append(s.Ports, c.Ports...)
	case *instructions.EntrypointCommand:
		if c.PrependShell {
			return errors.New("needs a shell, and there is none in the image")
		}
		s.Command = c.CmdLine
	case *instructions.CmdCommand:
		if c.PrependShell {
			return errors.New("needs a shell, and there is none in the image")
		}
		s.Command = append(s.Command, c.CmdLine...)
	case *instructions.CopyCommand:
		return b.copy(s, c)
	case *instructions.RunCommand:
		return s.run(c)
	default:
		return errors.New("is not followed here")
	}
	return nil
}

func (b *builder) arg(arg instructions.KeyValuePairOptional) string {
	for _, given := range b.args {
		if strings.HasPrefix(given, arg.Key+"=") {
			return given
		}
	}
	value := ""
	if arg.Value != nil {
		value = *arg.Value
	}
	return arg.Key + "=" + value
}

// base stands in for an image that cannot be pulled: for one with tools, this machine, if it has those of the same
// versions; for one without, an empty folder.
func (s *stage) base(name string) error {
	if strings.HasPrefix(name, "gcr.io/distroless/static-") {
		s.empty = true
		fmt.Printf("FROM %s: an empty folder instead, without its certificates, time zones and users\n", name)
		return nil
	}
	tool, tag, _ := strings.Cut(name, ":")
	wanted, _, _ := strings.Cut(tag, "-")
	show := map[string][]string{"node": {"node", "--version"}, "golang": {"go", "env", "GOVERSION"}}[tool]
	if show == nil {
		return fmt.Errorf("nothing stands in for %s", name)
	}
	out, err := exec.Command(show[0], show[1:]...).Output()
	if err != nil {
		return fmt.Errorf("instead of %s: %v: %w", name, show, err)
	}
	here := strings.TrimLeft(strings.TrimSpace(string(out)), "vgo")
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return err
	}
	if here != wanted && !strings.HasPrefix(here, wanted+".") {
		return fmt.Errorf("%s %s is here, instead of %s", tool, here, name)
	}
	if strings.Contains(tag, "bookworm") && !strings.Contains(string(release), "VERSION_CODENAME=bookworm") {
		return fmt.Errorf("this machine is no Debian 12, instead of %s", name)
	}
	fmt.Printf("FROM %s: this machine's /usr and /etc instead, read-only, with %s %s and its download caches\n", name,
		tool, here)
	return s.borrow()
}

// borrow mounts what a stage with tools needs: programs read-only, and caches, as BuildKit has them.
func (s *stage) borrow() error {
	s.Env = []string{"PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "HOME=/root"}
	for _, name := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "HTTPS_PROXY"} {
		if value := os.Getenv(name); value != "" {
			s.Env = append(s.Env, name+"="+value)
		}
	}
	for _, link := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+link, filepath.Join(s.root, link)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(s.root, "tmp"), 0o777|os.ModeSticky); err != nil {
		return err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	for _, m := range []struct {
		from, to string
		readOnly bool
	}{
		{"/usr", "/usr", true},
		{"/etc", "/etc", true},
		{"/dev", "/dev", false},
		{"/proc", "/proc", false},
		{filepath.Join(home, "go/pkg/mod"), "/root/go/pkg/mod", false},
		{filepath.Join(home, ".cache/go-build"), "/root/.cache/go-build", false},
		{filepath.Join(home, ".npm"), "/root/.npm", false},
	} {
		to := filepath.Join(s.root, m.to)
		if err := errors.Join(os.MkdirAll(m.from, 0o755), os.MkdirAll(to, 0o755)); err != nil {
			return err
		}
		if err := bind(m.from, to, m.readOnly); err != nil {
			return err
		}
	}
	return nil
}

func bind(from, to string, readOnly bool) error {
	if err := syscall.Mount(from, to, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", from, to, err)
	}
	if !readOnly {
		return nil
	}
	if err := syscall.Mount("", to, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("make %s read-only: %w", to, err)
	}
	return nil
}

// run runs a command in the stage's own root.
func (s *stage) run(c *instructions.RunCommand) error {
	if s.empty || len(c.FlagsUsed) > 0 || len(c.Files) > 0 {
		return errors.New("is not followed here")
	}
	line := c.CmdLine
	if c.PrependShell {
		line = append([]string{"/bin/sh", "-c"}, c.CmdLine...)
	}
	fmt.Printf("%v\n", c)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.Dir, slices.Concat(s.Env, s.args), os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: s.root, Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}

// copy copies into the stage, from the sources without what .dockerignore names, or from another stage.
func (b *builder) copy(s *stage, c *instructions.CopyCommand) error {
	if c.Chown != "" || c.Chmod != "" || c.Link || c.Parents || len(c.ExcludePatterns)+len(c.SourceContents) > 0 {
		return errors.New("is not followed here")
	}
	from, ignored := b.context, b.ignored
	if c.From != "" {
		if from, ignored = b.roots[c.From], nil; from == "" {
			return fmt.Errorf("there is no stage %s", c.From)
		}
	}
	to := c.DestPath
	if !path.IsAbs(to) {
		to = path.Join(s.Dir, to)
	}
	folder := len(c.SourcePaths) > 1 || strings.HasSuffix(c.DestPath, "/") || c.DestPath == "."
	for _, source := range c.SourcePaths {
		at := filepath.Join(from, source)
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		target := filepath.Join(s.root, to)
		if !info.IsDir() && folder {
			target = filepath.Join(target, filepath.Base(at))
		}
		if err := copyTree(from, at, target, ignored); err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies at, a file or the content of a folder below from, to the path to.
func copyTree(from, at, to string, ignored *patternmatcher.PatternMatcher) error {
	return filepath.WalkDir(at, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inContext, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if ignored != nil && inContext != "." {
			skip, err := ignored.MatchesOrParentMatches(inContext)
			if err != nil {
				return err
			}
			if skip && entry.IsDir() && !ignored.Exclusions() {
				return filepath.SkipDir
			}
			if skip {
				return nil
			}
		}
		below, err := filepath.Rel(at, name)
		if err != nil {
			return err
		}
		return copyOne(name, filepath.Join(to, below), entry)
	})
}

func copyOne(from, to string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	switch {
	case entry.IsDir():
		return os.MkdirAll(to, info.Mode().Perm())
	case entry.Type() == fs.ModeSymlink:
		target, err := os.Readlink(from)
		return errors.Join(err, os.Symlink(target, to))
	case !entry.Type().IsRegular():
		return nil // a socket or a pipe of somebody at work: an engine sends none, either
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, info.Mode().Perm()))
}

// list shows what is in the image, and demands that it is its program alone, which needs no other file to run.
func list(s *stage) error {
	if !s.empty || len(s.Command) == 0 {
		return errors.New("the last stage has no entry point, or more in it than its program")
	}
	var names []string
	err := filepath.WalkDir(s.root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == s.root {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		names = append(names, strings.TrimPrefix(name, s.root))
		fmt.Printf("in the image: %v %d %s\n", info.Mode(), info.Size(), names[len(names)-1])
		return nil
	})
	if err != nil {
		return err
	}
	if !slices.Equal(names, s.Command[:1]) {
		return fmt.Errorf("the image holds %v, want %s alone", names, s.Command[0])
	}
	program, err := elf.Open(filepath.Join(s.root, s.Command[0]))
	if err != nil {
		return err
	}
	defer program.Close()
	if libraries, err := program.ImportedLibraries(); err != nil || len(libraries) > 0 {
		return fmt.Errorf("%s needs libraries that are not in the image: %v, %w", s.Command[0], libraries, err)
	}
	return nil
}
