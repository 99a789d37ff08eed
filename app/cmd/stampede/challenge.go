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
	Sale shop.ID `placeholder:"ID" help:"The sale."`
	Kind string  `placeholder:"KIND" help:"What it asks for from now on: none, pass, captcha or work."`
	Bits int     `placeholder:"N" help:"How hard proofs of work are from now on, 1 to 26 bits; each more doubles the work."`
	operating
}

func (challenge) Help() string {
	return "All nodes follow within a second. A pass is for one user, one sale and one buy; it is given from a minute before the opening " +
		"on and ends after a few minutes, so a request that was prepared before is worth nothing. Before it a buyer may have to read a " +
		"picture (captcha) or let the browser compute (work): 16 bits take a page a moment, 20 some seconds. An address that asks for " +
		"very many passes gets harder tasks; nobody is refused because of an address. Tasks and passes that are out already stay as they " +
		"are. Set a kind other than none only when all nodes know it.\n\nExamples:\n\n" +
		"    stampede challenge                                       (shows how hard proofs of work are)\n" +
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
	return e.operate(c.operating, func(api *client) error {
		bits, err := c.set(api, kind)
		text := fmt.Sprintf("proofs of work have %d bits", bits)
		if c.Sale != 0 {
			text = fmt.Sprintf("sale %s asks for: %s\n%s", c.Sale, kind, text)
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
		if err := api.act(http.MethodPost, path+"/challenge", body, nil); err != nil {
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
