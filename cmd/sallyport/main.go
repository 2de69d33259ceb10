// Command sallyport is the guarded door between an LLM agent and a shell. All it does is in package cli.
package main

import (
	"os"

	"github.com/sallyport-sh/sallyport/cli"
)

// version is set by the linker in a release: -X main.version=v1.2.3.
var version string

func main() {
	os.Exit(cli.Main(&cli.Env{
		Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Version: version,
	}))
}
