package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// nonroot is the user of images of distroless with that tag.
const nonroot = 65532

const (
	readyWithin = time.Minute
	endsWithin  = time.Minute
)

// startImage starts what buildImage has made in out, in its own root, read-only, as nobody in particular: to make the
// tables, to have its settings checked, and to serve, until it is ready and answers; then it has to end in order. It
// runs as root in namespaces of its own (mounts, network), in which the stores are.
func startImage(out, version string, settings []string) error {
	text, err := os.ReadFile(filepath.Join(out, "image.json"))
	if err != nil {
		return err
	}
	var i image
	if err := json.Unmarshal(text, &i); err != nil {
		return err
	}
	root := filepath.Join(out, "root")
	if err := bind(root, root, true); err != nil {
		return err
	}
	i.Env = append(i.Env, settings...)
	for _, args := range [][]string{{"version"}, {"migrate", "up"}, {"checkconfig"}} {
		said, err := i.command(root, args...).CombinedOutput()
		fmt.Printf("%s %s\n%s", i.Command[0], strings.Join(args, " "), said)
		if err != nil {
			return fmt.Errorf("%v: %w", args, err)
		}
		if args[0] == "version" && !strings.Contains(string(said), version) {
			return fmt.Errorf("the version is not %s", version)
		}
	}
	return i.serve(root)
}

// command is the entry point with other arguments.
func (i image) command(root string, args ...string) *exec.Cmd {
	cmd := exec.Command(i.Command[0], args...)
	cmd.Dir, cmd.Env = i.Dir, i.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Pdeathsig: syscall.SIGKILL,
		Credential: &syscall.Credential{Uid: nonroot, Gid: nonroot},
	}
	return cmd
}

func (i image) serve(root string) error {
	cmd := i.command(root, i.Command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := i.answers(ended); err != nil {
		return errors.Join(err, cmd.Process.Kill())
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(endsWithin):
		return errors.Join(fmt.Errorf("it did not end within %v", endsWithin), cmd.Process.Kill())
	}
}

// answers waits until it is ready, and asks for the page and the metrics on the ports that the image names.
func (i image) answers(ended chan error) error {
	if len(i.Ports) != 2 {
		return fmt.Errorf("the image names the ports %v, want that of the shop and that of the metrics", i.Ports)
	}
	deadline := time.Now().Add(readyWithin)
	for {
		_, err := ask(i.Ports[0], "/readyz")
		if err == nil {
			fmt.Println("it is ready")
			break
		}
		select {
		case wrong := <-ended:
			return fmt.Errorf("it ended: %w", wrong)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not ready within %v: %w", readyWithin, err)
		}
	}
	for _, c := range []struct{ port, path, has string }{
		{i.Ports[0], "/", `<div id="app">`},
		{i.Ports[0], "/console", "/console/assets/"},
		{i.Ports[1], "/metrics", "stampede_live_clients"},
	} {
		text, err := ask(c.port, c.path)
		if err != nil {
			return err
		}
		if !strings.Contains(text, c.has) {
			return fmt.Errorf("%s has no %s in it:\n%.500s", c.path, c.has, text)
		}
	}
	return nil
}

func ask(port, path string) (string, error) {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get("http://127.0.0.1:" + port + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, response.Status)
	}
	return string(text), err
}
