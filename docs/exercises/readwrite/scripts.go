// Package readwrite is the start of the exercise readwrite. Its flaw: one lease for all
// readers. The code is the rung's, but for the scripts.
package readwrite

import (
	"embed"

	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/reentrant/readwrite"
)

//go:embed acquire.lua read.lua release.lua renew.lua
var scripts embed.FS

// Build makes an owner of the rung's lock, which runs the scripts here.
var Build = exercise.WithScripts(exercise.On(readwrite.New), scripts)
