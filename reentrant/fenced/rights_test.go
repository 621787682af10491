package fenced_test

import (
	"testing"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/fenced"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	locktest.RightsAreEnough(t, lock.On(fenced.New))
}
