package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (completionCmd) Help() string {
	return "Prints the definition of completion for a shell.\n\nExamples:\n\n" +
		"    source <(stampede completion bash)        (in ~/.bashrc)\n" +
		"    source <(stampede completion zsh)         (in ~/.zshrc)\n" +
		"    stampede completion fish | source         (in ~/.config/fish/config.fish)"
}

var completionScripts = map[string]string{
	"bash": "complete -o default -C 'stampede complete-line' stampede\n",
	"zsh": "autoload -U +X compinit && compinit; autoload -U +X bashcompinit && bashcompinit\n" +
		"complete -o default -C 'stampede complete-line' stampede\n",
	"fish": "complete -c stampede -a '(COMP_LINE=(commandline -cp) stampede complete-line)'\n",
}

func (c *completionCmd) Run(e *env) error {
	_, err := fmt.Fprint(e.out, completionScripts[c.Shell])
	return err
}

// completeLine prints the possible next words of the command line in COMP_LINE, which the shell sets.
type completeLine struct {
	Words []string `arg:"" optional:"" help:"Words that bash adds; the line has them, too."`
}

func (completeLine) Run(e *env) error {
	for _, word := range nextWords(e.model, e.variable("COMP_LINE")) {
		fmt.Fprintln(e.out, word)
	}
	return nil
}

// nextWords returns the possible next words: commands, values of an argument, or flags after a dash.
func nextWords(model *kong.Application, line string) (found []string) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	last := ""
	if !strings.HasSuffix(line, " ") {
		last, words = words[len(words)-1], words[:len(words)-1]
	}
	node := model.Node
	for _, word := range words[min(1, len(words)):] {
		if at := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == word }); at >= 0 {
			node = node.Children[at]
		}
	}
	offer := func(word string) {
		if strings.HasPrefix(word, last) {
			found = append(found, word)
		}
	}
	if strings.HasPrefix(last, "-") {
		for _, flags := range node.AllFlags(true) {
			for _, f := range flags {
				offer("--" + f.Name)
			}
		}
		return found
	}
	for _, child := range node.Children {
		if !child.Hidden {
			offer(child.Name)
		}
	}
	for _, argument := range node.Positional {
		if argument.Enum != "" {
			for value := range strings.SplitSeq(argument.Enum, ",") {
				offer(value)
			}
		}
	}
	return found
}
