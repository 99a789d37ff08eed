package server

import "stampede/app/crashpoint"

// armCrash arms a crash point for the crash suite: STAMPEDE_CRASH_AT=NAME or NAME#n. A build without crash points
// refuses it like any variable that it does not know.
func armCrash(vars map[string]string, p *problems) {
	at, ok := vars["CRASH_AT"]
	if !ok {
		return
	}
	delete(vars, "CRASH_AT")
	if err := crashpoint.Arm(at); err != nil {
		p.add("CRASH_AT", "cannot be armed: "+err.Error())
	}
}
