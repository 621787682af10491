package node

import lua "github.com/yuin/gopher-lua"

// A script on an embedded server has an interpreter of its own, which begins with a
// stack for 5,120 values and 256 calls: a tenth of what a script costs is to clear them.
// No lock's script needs as many as these. One that does is told so by an error, as on a
// real server, whose limits are higher.
func init() {
	lua.RegistrySize = 2048
	lua.CallStackSize = 64
}
