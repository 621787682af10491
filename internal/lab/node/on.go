package node

// On makes the node that a real server is.
func On(s Server, setting Setting) Node {
	b := &borrowed{setting: setting, server: s}
	if store, ok := s.(Store); ok {
		return &stored{borrowed: b, store: store}
	}
	return &remote{borrowed: b, observer: newObserver(s)}
}

// Disposable says whether scenarios may kill, stop and flush a server.
func Disposable(s Server) bool {
	switch s.(type) {
	case OwnServer, OwnStore:
		return true
	}
	return false
}
