package cli

import (
	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/study"
)

type schemaCommand struct{}

// Help is shown by 'loadstone schema --help'.
func (schemaCommand) Help() string {
	return `Editors that speak YAML complete and check study files with it. In a study file:
  # yaml-language-server: $schema=study.schema.json

Example:
  loadstone schema > study.schema.json`
}

// Run prints the schema.
func (schemaCommand) Run(e *env) error {
	e.printf("%s", study.Schema(catalog.Known()))
	return nil
}
