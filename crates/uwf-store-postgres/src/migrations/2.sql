-- prev: the node before this one in its chain, so that one statement follows a chain. Nodes of before this version have none:
-- their chains are followed node by node.
alter table nodes add column prev bigint;
