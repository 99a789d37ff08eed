DROP TABLE rehearsals
