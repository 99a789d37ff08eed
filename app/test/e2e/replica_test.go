package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// replicaAccount is the account on the replica. The account has only the SELECT privilege, so that any write fails.
const replicaAccount = "shows:only-reads@tcp"

// An operator's list and report show new orders at once. With a replica, reads go to the replica. If it dies, reads go
// to the primary, and checkconfig reports that the replica is not read.
func TestListsAndReportsReadTheReplica(t *testing.T) {
	t.Parallel()
	primary, replica := kit.StartReplicated(t, false)
	dsn := primary.Database()
	primary.Exec("CREATE USER 'shows'@'%' IDENTIFIED BY 'only-reads'", "GRANT SELECT ON *.* TO 'shows'@'%'")
	_, database, _ := strings.Cut(dsn, "/")
	_, address, _ := strings.Cut(replica.DSN, "@tcp")
	s := openShop(t, kit.Redis(t), dsn, "STAMPEDE_MYSQL_REPLICA_DSN="+replicaAccount+address+database)
	sale := s.open(10, 1)
	n := s.start()

	s.requireOrdersShown(n, sale, 3)
	if fromReplica := n.metric(`stampede_replica_reads_total{from="replica"}`); fromReplica != 6 {
		t.Errorf("the replica served %v of 6 lists and reports, want all", fromReplica)
	}
	if out, code := s.run("checkconfig"); code != 0 || strings.Contains(out, "MySQL replica") {
		t.Errorf("checkconfig exits %d:\n%s", code, out)
	}

	replica.Kill()
	s.requireOrdersShown(n, sale, 2)
	if fromPrimary := n.metric(`stampede_replica_reads_total{from="primary"}`); fromPrimary != 4 {
		t.Errorf("the primary served %v of 4 lists and reports after the replica died, want all", fromPrimary)
	}
	if out, code := s.run("checkconfig"); code != 0 || !strings.Contains(out, "MySQL replica") {
		t.Errorf("checkconfig exits %d, want 0 and a warning about the replica:\n%s", code, out)
	}
	s.requireOrdersShown(s.start(), sale, 1)
	s.audit(sale)
}

// requireOrdersShown checks that each new order is in the list and in the report as soon as its buyer has it.
func (s *testShop) requireOrdersShown(n *node, sale shop.Sale, count int) {
	s.t.Helper()
	operator := operatorToken(s.t)
	for range count {
		o := n.buyPending(sale, token(s.t, kit.NewID()), 1)
		var page struct{ Orders []shop.Order }
		n.expect(http.StatusOK, &page, n.read, "/api/v1/operator/orders?sale="+sale.ID.String(), operator, nil)
		if !slices.ContainsFunc(page.Orders, func(r shop.Order) bool { return r.ID == o.ID }) {
			s.t.Errorf("the list has %d orders, but not %s", len(page.Orders), o.ID)
		}
		var report backoffice.SaleReport
		n.expect(http.StatusOK, &report, n.read, "/api/v1/operator/sales/"+sale.ID.String()+"/report", operator, nil)
		if len(report.States) != 1 || report.States[0].Orders != int64(len(page.Orders)) {
			s.t.Errorf("the report counts %+v, the list has %d orders", report.States, len(page.Orders))
		}
	}
}
