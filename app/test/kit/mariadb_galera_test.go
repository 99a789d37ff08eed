//go:build galera

package kit

import (
	"fmt"
	"testing"
)

// What one node has committed the others have too, also one that lost its data and came back.
func TestGaleraNodesShareTheirRows(t *testing.T) {
	t.Parallel()
	c := StartGalera(t)
	dsns := c.Database()
	for _, statement := range []string{"CREATE TABLE x (n INT PRIMARY KEY)", "INSERT INTO x VALUES (7)"} {
		if err := execOn(dsns[1], statement); err != nil {
			t.Fatal(err)
		}
	}
	c.Nodes[2].Kill()
	c.Rejoin(2)
	c.Whole()
	for i, dsn := range dsns {
		Eventually(t, startTimeout, func() (bool, string) {
			err := execOn(dsn, "SELECT IF((SELECT COUNT(*) FROM x WHERE n = 7) = 1, 1, (SELECT 1 UNION SELECT 2))")
			return err == nil, fmt.Sprintf("node %d: %v", i, err)
		})
	}
}
