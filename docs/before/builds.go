package before

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

// BuildVariable builds an owner of a lock variable.
func BuildVariable(env lock.Env) (lock.Lock, error) {
	v, err := NewVariable(env.Nodes[0], env.Key, env.TTL, env.Options...)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// BuildTransaction builds an owner of a lock whose two commands are a transaction.
func BuildTransaction(env lock.Env) (lock.Lock, error) {
	b, err := NewTransaction(env.Nodes[0], env.Key, env.TTL, env.Options...)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// BuildPipeline builds an owner of a lock whose two commands are a pipeline.
func BuildPipeline(env lock.Env) (lock.Lock, error) {
	b, err := NewPipeline(env.Nodes[0], env.Key, env.TTL, env.Options...)
	if err != nil {
		return nil, err
	}
	return b, nil
}
