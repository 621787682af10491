package exercises

import "github.com/lockladder/lockladder/lock"

// Services builds the clients of four services in turn, each service with a
// mutex of its own for each key. One value serves one scenario, whose virtual
// time its mutexes belong to.
func Services() lock.Build {
	services := map[string][]*Service{}
	clients := map[string]int{}
	return func(env lock.Env) (lock.Lock, error) {
		if services[env.Key] == nil {
			for range 4 {
				services[env.Key] = append(services[env.Key], NewService())
			}
		}
		service := services[env.Key][clients[env.Key]%4]
		clients[env.Key]++
		return service.NewMutex(env.Nodes[0], env.Key), nil
	}
}

// What builds an owner of a lock variable, of a lock whose two commands are a
// transaction, and of one whose two commands are a pipeline.
var (
	BuildVariable    = lock.On(NewVariable)
	BuildTransaction = lock.On(NewTransaction)
	BuildPipeline    = lock.On(NewPipeline)
)
