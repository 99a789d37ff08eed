// Deploycheck validates the shipped deployment files.
//
//	deploycheck kubernetes <manifests.yaml   rejects fields that the Go types do not have: the schemas accept such fields,
//	                                         and a cluster drops them silently
//	deploycheck compose FILE                 loads a compose file as compose itself does: schema, references, values
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// kinds are the shipped kinds of objects.
var kinds = map[string]func() any{
	"apps/v1/Deployment":                     func() any { return new(apps.Deployment) },
	"autoscaling/v2/HorizontalPodAutoscaler": func() any { return new(autoscaling.HorizontalPodAutoscaler) },
	"batch/v1/Job":                           func() any { return new(batch.Job) },
	"networking.k8s.io/v1/Ingress":           func() any { return new(networking.Ingress) },
	"networking.k8s.io/v1/NetworkPolicy":     func() any { return new(networking.NetworkPolicy) },
	"policy/v1/PodDisruptionBudget":          func() any { return new(policy.PodDisruptionBudget) },
	"v1/ConfigMap":                           func() any { return new(core.ConfigMap) },
	"v1/Service":                             func() any { return new(core.Service) },
}

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "kubernetes":
		err = kubernetes(os.Stdin)
	case len(os.Args) == 3 && os.Args[1] == "compose":
		err = checkCompose(os.Args[2])
	default:
		err = errors.New("usage: deploycheck kubernetes <manifests.yaml | compose FILE")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func checkCompose(path string) error {
	options, err := cli.NewProjectOptions([]string{path})
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	fmt.Printf("%d services\n", len(project.Services))
	return nil
}

func kubernetes(input io.Reader) error {
	text, err := io.ReadAll(input)
	if err != nil {
		return err
	}
	var failed []error
	documents := bytes.Split(text, []byte("\n---\n"))
	for _, document := range documents {
		var object struct {
			APIVersion string
			Kind       string
			Metadata   struct{ Name string }
		}
		if err := yaml.Unmarshal(document, &object); err != nil {
			return err
		}
		newObject := kinds[object.APIVersion+"/"+object.Kind]
		if newObject == nil {
			failed = append(failed, fmt.Errorf("%s/%s: this kind is not supported", object.APIVersion, object.Kind))
			continue
		}
		if err := yaml.UnmarshalStrict(document, newObject()); err != nil {
			failed = append(failed, fmt.Errorf("%s/%s: %w", object.Kind, object.Metadata.Name, err))
		}
	}
	fmt.Printf("%d objects\n", len(documents))
	return errors.Join(failed...)
}
