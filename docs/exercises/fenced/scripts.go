// Package fenced is the start of the exercise fenced. Its flaw: the counter ends with the
// lease. The code is the rung's, but for the script.
package fenced

import (
	"embed"

	"github.com/lockladder/lockladder/diamond/fenced"
	"github.com/lockladder/lockladder/internal/site/exercise"
)

//go:embed acquire.lua
var scripts embed.FS

// Build makes an owner of the rung's lock, which runs the script here.
var Build = exercise.WithScripts(exercise.On(fenced.New), scripts)
