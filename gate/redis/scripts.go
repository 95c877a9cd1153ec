package redis

import (
	"crypto/sha1" // the name by which Redis knows a script
	_ "embed"
	"encoding/hex"
)

// The scripts. Each says at its head what it is given and what it answers.
var (
	//go:embed control.lua
	controlLua string
	//go:embed holdings.lua
	holdingsLua string
	//go:embed journal.lua
	journalLua string
	//go:embed claim.lua
	claimLua string
	//go:embed settle.lua
	settleLua string
	//go:embed takeback.lua
	takebackLua string
	//go:embed put.lua
	putLua string
	//go:embed restock.lua
	restockLua string
	//go:embed move_out.lua
	moveOutLua string
	//go:embed move_in.lua
	moveInLua string
	//go:embed move_done.lua
	moveDoneLua string
	//go:embed look.lua
	lookLua string
	//go:embed trust.lua
	trustLua string
	//go:embed load.lua
	loadLua string
	//go:embed load_begin.lua
	loadBeginLua string
	//go:embed load_chunk.lua
	loadChunkLua string
	//go:embed load_switch.lua
	loadSwitchLua string
	//go:embed load_end.lua
	loadEndLua string
)

// script is a Lua script and the hash by which a server that has it runs it.
type script struct{ body, sha string }

func newScript(parts ...string) *script {
	s := &script{}
	for _, p := range parts {
		s.body += p
	}
	sum := sha1.Sum([]byte(s.body))
	s.sha = hex.EncodeToString(sum[:])
	return s
}

// scripts are all scripts of a gate.
type scripts struct {
	claim, settle, takeback, put, restock, look, trust *script
	moveOut, moveIn, moveDone                          *script
	loadBegin, loadChunk, loadSwitch, loadEnd          *script
}

func newScripts() scripts {
	return scripts{
		claim:      newScript(controlLua, holdingsLua, journalLua, claimLua),
		settle:     newScript(controlLua, journalLua, settleLua),
		takeback:   newScript(controlLua, holdingsLua, journalLua, takebackLua),
		put:        newScript(controlLua, putLua),
		restock:    newScript(controlLua, restockLua),
		look:       newScript(controlLua, lookLua),
		trust:      newScript(controlLua, trustLua),
		moveOut:    newScript(controlLua, moveOutLua),
		moveIn:     newScript(controlLua, moveInLua),
		moveDone:   newScript(controlLua, moveDoneLua),
		loadBegin:  newScript(controlLua, loadLua, loadBeginLua),
		loadChunk:  newScript(controlLua, loadLua, holdingsLua, loadChunkLua),
		loadSwitch: newScript(controlLua, loadLua, loadSwitchLua),
		loadEnd:    newScript(controlLua, loadLua, loadEndLua),
	}
}
