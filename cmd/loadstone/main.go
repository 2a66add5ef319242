// Command loadstone characterizes databases on the machines they run on.
package main

import (
	"os"

	"github.com/loadstone-perf/loadstone/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
