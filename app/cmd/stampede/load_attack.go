package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"stampede/app"
	"stampede/app/load"
)

// attackScenario is the one that is no measurement.
const attackScenario = "attack"

type attackFlags struct {
	By       []string      `placeholder:"NAME" help:"Which attackers; without it all."`
	Defences []string      `placeholder:"KIND" help:"What the sales ask for: none, pass, work, captcha; without it each in turn."`
	Honest   int           `default:"200" help:"Honest shoppers, each from an address of their own."`
	Accounts int           `default:"500" help:"Accounts of the attacker."`
	Pictures float64       `default:"10" placeholder:"N" help:"Pictures a second that the paid reader has read; nobody reads them for the others."`
	Units    int           `default:"200" help:"Units of each sale."`
	Lead     time.Duration `default:"10s" help:"From the offer of a sale to its opening; for passes and work, which this machine does for everybody."`
	After    time.Duration `default:"30s" help:"How long a sale is fought for at most; a hoarder needs more than STAMPEDE_PAY_WINDOW."`
}

func (a *attackFlags) check(scenarios []string, foreign bool) error {
	if !slices.Contains(scenarios, attackScenario) {
		return nil
	}
	switch {
	case len(scenarios) > 1:
		return fmt.Errorf("%w: attack goes alone, not among other scenarios", errUsage)
	case foreign:
		return fmt.Errorf("%w: attack is for a server of this machine", errUsage)
	case a.Honest < 1 || a.Honest > 10_000 || a.Accounts < 1 || a.Accounts > 10_000 || a.Units < 1 ||
		a.Lead < time.Second || a.Lead > time.Minute || a.After < time.Second || a.Pictures <= 0 || a.Pictures > 10_000:
		return fmt.Errorf("%w: want --attack-honest and --attack-accounts 1 to 10000, --attack-units from 1, "+
			"--attack-lead 1s to 1m, --attack-after from 1s, --attack-pictures above 0 to 10000", errUsage)
	}
	known := load.Attackers()
	for _, name := range a.By {
		if !slices.ContainsFunc(known, func(k load.Attacker) bool { return k.Name == name }) {
			return fmt.Errorf("%w: --attack-by %s: there is no such attacker", errUsage, name)
		}
	}
	for _, kind := range a.Defences {
		if _, err := app.ParseChallenge(kind); err != nil {
			return fmt.Errorf("%w: --attack-defences %s: want none, pass, work or captcha", errUsage, kind)
		}
	}
	return nil
}

// attack lets them fight, and prints each row as it comes.
func (c *loadCmd) attack(e *env, shop *load.Shop) error {
	o := load.AttackOptions{
		Address: c.Target, Honest: c.Attack.Honest, Accounts: c.Attack.Accounts, Units: c.Attack.Units,
		Lead: c.Attack.Lead, For: c.Attack.After, Attackers: c.Attack.By, Pictures: c.Attack.Pictures,
	}
	for _, kind := range c.Attack.Defences {
		o.Defences = append(o.Defences, app.Challenge(kind))
	}
	var rows []load.Attack
	err := load.RunAttacks(e.ctx, shop, o, func(a load.Attack) {
		rows = append(rows, a)
		fmt.Fprintf(e.err, "%s against %s: %.2f %% of the units\n", a.Attacker, a.Defence, 100*a.Share)
	})
	if err != nil {
		return err
	}
	failed := slices.ContainsFunc(rows, func(a load.Attack) bool { return len(a.Failures) > 0 })
	if c.JSON {
		err = e.json(rows)
	} else {
		err = e.attackTable(rows)
	}
	if err == nil && failed {
		err = errLoad
	}
	return err
}

func (e *env) attackTable(rows []load.Attack) error {
	err := table(e, tabwriter.AlignRight,
		"attacker\tdefence\tunits\ttheirs\tshare %\twork %\tpictures\thonest\tof\tsent\tkept out\t",
		"%s\t%s\t%d\t%d\t%.2f\t%.2f\t%d\t%d\t%d\t%d\t%d\t", rows, func(a load.Attack) []any {
			return []any{
				a.Attacker, a.Defence, a.Units, a.Theirs, 100 * a.Share, 100 * a.Work, a.Pictures,
				a.Honest, a.Shoppers, a.Sent, a.KeptOut,
			}
		})
	if err != nil {
		return err
	}
	for _, a := range rows {
		var refused []string
		for _, code := range slices.Sorted(maps.Keys(a.Refused)) {
			refused = append(refused, fmt.Sprintf("%s %d", code, a.Refused[code]))
		}
		fmt.Fprintf(e.out, "%s against %s was refused: %s\n", a.Attacker, a.Defence, strings.Join(refused, ", "))
		for _, failure := range a.Failures {
			fmt.Fprintf(e.out, "%s against %s FAILED: %s\n", a.Attacker, a.Defence, failure)
		}
	}
	return nil
}
