package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheStorageRefusesOlderTokensAndLogsWhatItDid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "storage.jsonl")
	log, err := createLog(file)
	require.NoError(t, err)
	server, err := serveStorage(log)
	require.NoError(t, err)
	client, err := dialStorage(server.Addr())
	require.NoError(t, err)
	do := func(kind Kind, section string, token uint64) (string, error) {
		return client.Do(Event{Kind: kind, Key: "k", Section: section, Token: token})
	}

	value, err := do(Read, "a", 33)
	require.NoError(t, err)
	assert.Empty(t, value)
	_, err = do(Write, "a", 33)
	require.NoError(t, err)
	value, err = do(Read, "b", 34)
	require.NoError(t, err)
	assert.Equal(t, "a", value)
	_, err = do(Write, "a", 33)
	require.ErrorIs(t, err, errRefused, "b has read with 34")
	_, err = do(Read, "a", 33)
	require.ErrorIs(t, err, errRefused)
	value, err = client.Do(Event{Kind: Read, Key: "another key"})
	require.NoError(t, err)
	assert.Empty(t, value)
	assert.Equal(t, 1, server.Writes())

	require.NoError(t, client.Close())
	require.NoError(t, server.Close())
	require.NoError(t, log.Close())
	dir := filepath.Dir(file)
	require.NoError(t, saveSetup(dir, setup{terms: terms{Rung: "x"}}))
	setup, events, err := load(dir)
	require.NoError(t, err)
	assert.Equal(t, "x", setup.Rung)
	var kinds []Kind
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	assert.Equal(t, []Kind{Read, Write, Read, Refused, Refused, Read}, kinds)
}
