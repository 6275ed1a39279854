// Prints what `docker compose config --format json` prints, by compose's own loader, without a container engine.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func resolved(files []string) ([]byte, error) {
	options, err := cli.NewProjectOptions(files, cli.WithName("pybroker"), cli.WithOsEnv)
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	return project.MarshalJSON()
}

func main() {
	text, err := resolved(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(text))
}
