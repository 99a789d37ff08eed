package kit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// galeraNodes is the smallest number of which one may be lost and the others go on.
const galeraNodes = 3

// nobody is whom rsync becomes that receives a node's data as root.
const nobody = 65534

// GaleraCluster is a private MariaDB Galera Cluster on loopback: three nodes, all of which take writes. Its methods are
// called by the goroutine of the test, one at a time.
type GaleraCluster struct {
	Nodes []*MariaDBServer // Kill, Pause and Resume as they are; Rejoin instead of Start

	t testing.TB
}

// StartGalera starts a cluster that ends with the test. The first node begins it, the others get their data from it by
// rsync, as a new node does in operation.
func StartGalera(t testing.TB) *GaleraCluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "stampede-galera-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	nodes, err := startGalera(dir)
	c := &GaleraCluster{t: t}
	for _, n := range nodes {
		t.Cleanup(n.p.kill)
		n.t = t
		c.Nodes = append(c.Nodes, n)
	}
	if err != nil {
		t.Fatalf("kit: Galera: %v", err)
	}
	return c
}

// Database creates an empty database, which all nodes have, and returns its DSN on each of them.
func (c *GaleraCluster) Database() []string {
	c.t.Helper()
	name, first, err := createDatabase(c.Nodes[0].DSN)
	if err != nil {
		c.t.Fatalf("kit: Galera: %v", err)
	}
	dsns := []string{first}
	for _, n := range c.Nodes[1:] {
		dsns = append(dsns, n.DSN+name)
	}
	for _, n := range c.Nodes { // each has applied it before anybody connects
		Eventually(c.t, startTimeout, func() (bool, string) {
			err := execOn(n.DSN, "USE "+name)
			return err == nil, fmt.Sprint(err)
		})
	}
	return dsns
}

// Rejoin brings a node back that has ended, without the data it had, and returns when it has caught up.
func (c *GaleraCluster) Rejoin(node int) {
	c.t.Helper()
	n := c.Nodes[node]
	// Not before the others go on without its former life: with both at once they may find no majority.
	Eventually(c.t, startTimeout, func() (bool, string) {
		err := inGalera(c.Nodes[(node+1)%len(c.Nodes)].DSN, "< 3")
		return err == nil, fmt.Sprintf("the others have not given node %d up: %v", node, err)
	})
	if err := errors.Join(os.RemoveAll(filepath.Join(n.Dir, "data")), joinerFolder(n.Dir)); err != nil {
		c.t.Fatalf("kit: Galera: %v", err)
	}
	n.Start()
}

// Whole returns when every node is in the primary component again and applies what the others write.
func (c *GaleraCluster) Whole() {
	c.t.Helper()
	for i, n := range c.Nodes {
		Eventually(c.t, startTimeout, func() (bool, string) {
			err := inGalera(n.DSN, ">= 3")
			return err == nil, fmt.Sprintf("node %d: %v", i, err)
		})
	}
}

// galeraProvider is where the packages of the distributions have the library.
var galeraProvider = sync.OnceValues(func() (string, error) {
	for _, pattern := range []string{
		"/usr/lib/galera/libgalera_smm.so", "/usr/lib/libgalera_smm.so", "/usr/lib*/galera*/libgalera_smm.so",
	} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0], nil
		}
	}
	return "", errors.New("libgalera_smm.so is not installed (Debian: apt-get install galera-4 rsync)")
})

// startGalera answers the nodes it has started, also with an error. The folder becomes passable for the user whom rsync
// becomes.
func startGalera(dir string) ([]*MariaDBServer, error) {
	provider, err := galeraProvider()
	if err != nil {
		return nil, err
	}
	if _, err := findProgram("rsync"); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, err
	}
	ports, err := freePorts(3 * galeraNodes) // for the group, the last changes and whole states
	if err != nil {
		return nil, err
	}
	members := make([]string, galeraNodes)
	for i := range members {
		members[i] = loopback(ports[3*i])
	}
	var nodes []*MariaDBServer
	for i := range galeraNodes {
		own := filepath.Join(dir, fmt.Sprint("node", i+1))
		if err := os.Mkdir(own, 0o711); err != nil {
			return nodes, err
		}
		args := galeraArgs(provider, fmt.Sprint("node", i+1), members, ports[3*i:3*i+3])
		if i > 0 {
			if err := joinerFolder(own); err != nil {
				return nodes, err
			}
		}
		n, err := startGaleraNode(own, args, i)
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func startGaleraNode(dir string, args []string, before int) (*MariaDBServer, error) {
	const begins = "--wsrep-new-cluster"
	first := args
	if before == 0 {
		first = append([]string{begins}, args...)
	}
	p, dsn, err := startMariaDB(MariaDBOptions{Dir: dir, Args: first})
	if err != nil {
		return nil, err
	}
	p.ready = func() error { return inGalera(dsn, ">= 1") }
	for i, arg := range p.args { // in its next life the node joins those that are there
		if arg == begins {
			p.args = append(p.args[:i:i], p.args[i+1:]...)
			break
		}
	}
	if err := p.await(func() error { return inGalera(dsn, fmt.Sprint(">= ", before+1)) }); err != nil {
		p.kill()
		return nil, err
	}
	return &MariaDBServer{server: server{p: p}, DSN: dsn, Dir: dir}, nil
}

// galeraArgs has a node that was silent for three seconds given up, not five, so that tests of it take less.
func galeraArgs(provider, name string, members []string, ports []int) []string {
	return []string{
		"--wsrep-on=ON", "--wsrep-provider=" + provider, "--wsrep-cluster-name=stampede-kit",
		"--wsrep-cluster-address=gcomm://" + strings.Join(members, ","), "--wsrep-node-name=" + name,
		"--wsrep-node-address=" + loopback(ports[0]), "--wsrep-sst-method=rsync",
		"--wsrep-sst-receive-address=" + loopback(ports[2]), "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
		"--wsrep-provider-options=gmcast.listen_addr=tcp://" + loopback(ports[0]) +
			";ist.recv_addr=" + loopback(ports[1]) + ";ist.recv_bind=" + loopback(ports[1]) +
			";gcache.size=32M;evs.suspect_timeout=PT3S;evs.inactive_timeout=PT6S;evs.inactive_check_period=PT0.5S" +
			";evs.keepalive_period=PT0.5S",
	}
}

// joinerFolder makes the empty folder into which a node's data come.
func joinerFolder(dir string) error {
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil || os.Geteuid() != 0 {
		return err
	}
	return os.Chown(data, nobody, nobody)
}

// inGalera is nil when the server takes writes in a primary component of that size, e.g. ">= 3".
func inGalera(dsn, size string) error {
	return execOn(dsn, fmt.Sprintf(`SELECT IF(
		(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'wsrep_ready') = 'ON' AND
		(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'wsrep_local_state') = 4 AND
		(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'wsrep_cluster_size') %s,
		1, (SELECT 'not in the cluster' UNION SELECT 'of that size'))`, size))
}
