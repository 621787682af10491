package main_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/scenarios/soak/internal/event"
	"github.com/lockladder/lockladder/scenarios/soak/internal/storage"
)

func TestTheStorageRefusesOlderTokensAndLogsWhatItDid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "storage.jsonl")
	log, err := event.Create(file)
	require.NoError(t, err)
	server, err := storage.Serve(log)
	require.NoError(t, err)
	client, err := storage.Dial(server.Addr())
	require.NoError(t, err)
	do := func(kind event.Kind, section string, token uint64) (string, error) {
		return client.Do(event.Event{Kind: kind, Key: "k", Section: section,
			Token: token})
	}

	value, err := do(event.Read, "a", 33)
	require.NoError(t, err)
	assert.Empty(t, value)
	_, err = do(event.Write, "a", 33)
	require.NoError(t, err)
	value, err = do(event.Read, "b", 34)
	require.NoError(t, err)
	assert.Equal(t, "a", value)
	_, err = do(event.Write, "a", 33)
	require.ErrorIs(t, err, storage.ErrRefused, "b has read with 34")
	_, err = do(event.Read, "a", 33)
	require.ErrorIs(t, err, storage.ErrRefused)
	value, err = client.Do(event.Event{Kind: event.Read, Key: "another key"})
	require.NoError(t, err)
	assert.Empty(t, value)
	assert.Equal(t, 1, server.Writes())

	require.NoError(t, client.Close())
	require.NoError(t, server.Close())
	require.NoError(t, log.Close())
	dir := filepath.Dir(file)
	require.NoError(t, event.SaveSetup(dir, event.Setup{Rung: "x"}))
	setup, events, err := event.Load(dir)
	require.NoError(t, err)
	assert.Equal(t, "x", setup.Rung)
	var kinds []event.Kind
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	assert.Equal(t, []event.Kind{event.Read, event.Write, event.Read,
		event.Refused, event.Refused, event.Read}, kinds)
}
