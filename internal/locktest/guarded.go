package locktest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/proxy"
	"github.com/lockladder/lockladder/lock"
)

// Rights are the rules of ACL SETUSER that the doc.go of a rung names, for locks whose
// names match one of the patterns; nil when it names none. The module's root is at root.
func Rights(t testing.TB, root string, rung ladder.Rung, names ...string) (rules []any) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(rung.Name), "doc.go"))
	require.NoError(t, err)
	found := regexp.MustCompile(`(?s)\tACL SETUSER worker (.*?)\n//\n`).
		FindStringSubmatch(string(text))
	if found == nil {
		return nil
	}
	words := regexp.MustCompile(`\\\n//`).ReplaceAllString(found[1], "")
	for _, name := range names {
		its := strings.NewReplacer("{stock}:", lock.SecondKey(name, ""), "stock", name)
		for rule := range strings.FieldsSeq(its.Replace(words)) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// Guarded is a server whose clients come through TLS, as a user with some rights and no
// others.
type Guarded struct {
	*servers.Redis
	rights  []any
	door    net.Listener
	config  *tls.Config
	opening sync.RWMutex // nobody comes in while the server doesn't know the user
}

// Guard opens a door to a server. The caller closes it.
func Guard(s *servers.Redis, rights []any) (*Guarded, error) {
	web := httptest.NewTLSServer(nil) // it has a certificate for the loopback address
	defer web.Close()
	g := &Guarded{Redis: s, rights: rights,
		config: web.Client().Transport.(*http.Transport).TLSClientConfig}
	if err := g.admit(); err != nil {
		return nil, err
	}
	var err error
	g.door, err = tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: web.TLS.Certificates})
	if err != nil {
		return nil, fmt.Errorf("open a door with TLS: %w", err)
	}
	go proxy.Forward(g.door, g.enter) // ends with the door
	return g, nil
}

// Addr is where the door is, and TLS what is needed there.
func (g *Guarded) Addr() string     { return g.door.Addr().String() }
func (g *Guarded) TLS() *tls.Config { return g.config }

// Worker is the user that a lock's clients are.
func (g *Guarded) Worker() (user, password string) { return "worker", "secret" }

// admit tells the server who the worker is: it forgets that when it restarts, and its
// replica never knew.
func (g *Guarded) admit() error {
	rdb := g.Client()
	defer rdb.Close()
	rules := append([]any{"ACL", "SETUSER", "worker", "reset"}, g.rights...)
	if err := rdb.Do(context.Background(), rules...).Err(); err != nil {
		return fmt.Errorf("make a user: %w", err)
	}
	return rdb.Do(context.Background(), "ACL", "LOG", "RESET").Err()
}

func (g *Guarded) Restart() error { return g.reopen(g.Redis.Restart) }
func (g *Guarded) Promote() error { return g.reopen(g.Redis.Promote) }

func (g *Guarded) reopen(start func() error) error {
	g.opening.Lock()
	defer g.opening.Unlock()
	return errors.Join(start(), g.admit())
}

// enter connects one who has come through the door to the server.
func (g *Guarded) enter() (net.Conn, error) {
	g.opening.RLock()
	defer g.opening.RUnlock()
	return net.Dial("tcp", g.Redis.Addr())
}

// Close closes the door.
func (g *Guarded) Close() { g.door.Close() }

// WithRights guards the servers of a pool as the doc.go of a rung says; without rights there
// they are as they were. The test fails when a server has denied something.
func WithRights(t *testing.T, all lab.Pool, root string, rung ladder.Rung) lab.Pool {
	rights := Rights(t, root, rung, "lockladder:*", "{lockladder:*}:warm:*",
		"{lockladder:*}:other")
	if rights == nil {
		return all
	}
	return &guardedPool{all, t, rung.Name, rights}
}

type guardedPool struct {
	lab.Pool
	t      *testing.T
	rung   string
	rights []any
}

// Borrow is lab.Pool's.
func (p *guardedPool) Borrow(ctx context.Context, n int) ([]lab.Server, error) {
	lent, err := p.Pool.Borrow(ctx, n)
	if err != nil {
		return nil, err
	}
	var all []lab.Server
	for _, s := range lent {
		g, err := Guard(s.(*servers.Redis), p.rights)
		if err != nil {
			p.Return(all)
			p.Pool.Return(lent[len(all):])
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

// Return is lab.Pool's.
func (p *guardedPool) Return(lent []lab.Server) {
	for i, s := range lent {
		g := s.(*Guarded)
		g.Close()
		rdb := g.Client()
		denied, err := rdb.Do(context.Background(), "ACL", "LOG").Slice()
		assert.NoError(p.t, errors.Join(err, rdb.Close()))
		assert.Empty(p.t, denied, "%s: the rights of its doc.go are not enough", p.rung)
		lent[i] = g.Redis
	}
	p.Pool.Return(lent)
}
