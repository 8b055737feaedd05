package queue

import (
	"embed"

	"github.com/redis/go-redis/v9"
)

// The scripts. Each file says its keys, arguments and answer. All keys of a call
// carry the same tag; no script uses a command that miniredis lacks; none makes
// a key from an argument, but for task hashes, whose tag is that of the queue.
//
//go:embed lua/*.lua
var lua embed.FS

var (
	initScript     = script("init")
	commitScript   = script("commit")
	progressScript = script("progress")
	reportScript   = script("report")
	limitScript    = script("limit")
	takeScript     = script("take")
	depthScript    = script("depth")
	withdrawScript = script("withdraw")
	locateScript   = script("locate")
	reapScript     = script("reap")
	leadScript     = script("lead")
	resignScript   = script("resign")
	beginScript    = script("begin")
	endScript      = script("end")
)

func script(name string) *redis.Script {
	source, err := lua.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // the file is embedded
	}
	return redis.NewScript(string(source))
}
