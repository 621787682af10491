package fenced_test

import (
	"testing"

	"github.com/lockladder/lockladder/internal/servers/serverstest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/fenced"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	serverstest.AreEnough(t, lock.On(fenced.New))
}
