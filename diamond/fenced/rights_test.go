package fenced_test

import (
	"testing"

	"github.com/lockladder/lockladder/diamond/fenced"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	locktest.RightsAreEnough(t, lock.On(fenced.New))
}
