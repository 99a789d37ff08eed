package main

import (
	"cmp"
	"fmt"
	"net/http"

	"stampede/app/admission"
	"stampede/app/backoffice"
	"stampede/app/shop"
)

type challenge struct {
	Sale shop.ID `placeholder:"ID" help:"Id of the sale."`
	Kind string  `placeholder:"KIND" help:"Challenge of the sale from now on: none, pass, captcha or work."`
	Bits int     `placeholder:"N" help:"Difficulty of proofs of work from now on, 1 to 26 bits. Each bit doubles the work."`
	operationFlags
}

func (challenge) Help() string {
	return "All nodes apply it within a second. A pass is valid for one user, one sale and one buy. The server issues " +
		"passes from one minute before the opening, and they expire after a few minutes: requests that were " +
		"prepared earlier have no valid pass. Before it issues a pass, the server may require the solution of a " +
		"picture (captcha) or a computation in the browser (work): 16 bits take a moment, 20 bits take some " +
		"seconds. An address that requests very many passes gets harder tasks, but no rejection. Issued tasks and " +
		"passes stay valid. Set a kind other than none only when all nodes support it.\n\n" +
		"Examples:\n\n" +
		"    stampede challenge                                       (shows the difficulty of proofs of work)\n" +
		"    stampede challenge --sale 7301444403200000101 --kind work\n" +
		"    stampede challenge --bits 18"
}

// Run applies the given flags and prints the difficulty of proofs of work.
func (c *challenge) Run(e *env) error {
	if (c.Sale == 0) != (c.Kind == "") {
		return fmt.Errorf("%w: --sale and --kind go together", errUsage)
	}
	if c.Bits != 0 && (c.Bits < admission.MinWorkBits || c.Bits > admission.MaxWorkBits) {
		return fmt.Errorf("%w: --bits is %d, want %d to %d", errUsage, c.Bits, admission.MinWorkBits, admission.MaxWorkBits)
	}
	kind, err := shop.ParseChallenge(cmp.Or(c.Kind, string(shop.ChallengeNone)))
	if err != nil {
		return fmt.Errorf("%w: --kind is %q, want none, pass, captcha or work", errUsage, c.Kind)
	}
	return e.operate(c.operationFlags, func(api *client) error {
		bits, err := c.set(api, kind)
		text := fmt.Sprintf("proofs of work have %d bits", bits)
		if c.Sale != 0 {
			text = fmt.Sprintf("challenge of sale %s: %s\n%s", c.Sale, kind, text)
		}
		return e.result(c.JSON, err, struct {
			Sale shop.ID        `json:"sale,omitzero"`
			Kind shop.Challenge `json:"kind,omitempty"`
			Bits int            `json:"bits"`
		}{c.Sale, shop.Challenge(c.Kind), bits}, "%s", text)
	})
}

// set applies the given flags and returns the resulting difficulty of proofs of work.
func (c *challenge) set(api *client, kind shop.Challenge) (int, error) {
	if c.Sale != 0 {
		path := "/sales/" + c.Sale.String()
		version, err := api.version(path, 0)
		if err != nil {
			return 0, err
		}
		body := map[string]any{"version": version, "challenge": kind}
		if err := api.change(http.MethodPost, path+"/challenge", body, nil); err != nil {
			return 0, err
		}
	}
	if c.Bits != 0 {
		s, err := api.editSwitches(backoffice.SwitchesEdit{WorkBits: &c.Bits})
		return s.WorkBits, err
	}
	var s backoffice.Switches
	err := api.get("/switches", nil, &s)
	return s.WorkBits, err
}
