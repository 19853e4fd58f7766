-- What this schema holds, one row. sweeps: how often somebody began to remove nodes.
create table meta (
    format text not null,
    version integer not null,
    sweeps bigint not null default 0
);

-- hash: the 64 bits with the first one flipped, so that signed numbers sort as hashes do.
create table nodes (
    hash bigint primary key,
    bytes bytea not null,
    put_at timestamptz not null default clock_timestamp()
);

-- Never gives a number twice, so a head is never again at a version that it left.
create sequence versions;

-- A name that points at a node, or one that was removed and has left a record.
-- writers: the tokens of its last writes, newest first, by which a writer whose answer was lost finds its own.
create table heads (
    name text collate "C" primary key,
    hash bigint,
    version bigint not null default nextval('versions'),
    writers bigint[] not null,
    record text,
    check ((hash is null) = (record is not null))
);

create index heads_there on heads (name) include (hash) where record is null;
create index heads_removed on heads (version) where record is not null;

-- What machines tell each other. writer: the token of its last write.
create table notes (
    name text collate "C" primary key,
    value text not null,
    version bigint not null default nextval('versions'),
    writer bigint not null,
    written_at timestamptz not null default clock_timestamp()
);
