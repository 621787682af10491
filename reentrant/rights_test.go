package reentrant_test

import (
	"testing"

	"github.com/lockladder/lockladder/internal/servers/serverstest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	serverstest.AreEnough(t, lock.On(reentrant.New))
}
