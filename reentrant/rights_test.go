package reentrant_test

import (
	"testing"

	"github.com/lockladder/lockladder/internal/locktest/rights"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	rights.AreEnough(t, lock.On(reentrant.New))
}
