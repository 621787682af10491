package fair

// The scripts and their keys, for tests of what they leave at the server.
var Acquire, Release = acquire, release

func Keys(key string) []string { return (&Lock{key: key}).keys() }
