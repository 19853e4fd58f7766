//! Nodes: rows that are inserted once.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::time::SystemTime;

use json_cas::{
    HashPrefix, HoldGuard, Node, NodeHash, ObjectBackend, ObjectMetadata, ObjectPutOutcome, READ_AT_ONCE, RemoteError,
    StoreError, SweepGuard,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::store::{PostgresStore, PostgresStoreInner};

/// Most bytes of nodes in one statement, unless a single node is larger. The server keeps all of them in memory.
const MAX_BATCH_BYTES: usize = 16 << 20;

/// Most nodes that one statement names.
const MAX_BATCH: usize = 10_000;

/// Most hashes that one statement lists.
const MAX_PAGE: i64 = 100_000;

const GET: &str = "select bytes from nodes where hash = $1";
const GET_ALL: &str = "select hash, bytes from nodes where hash = any($1)";
/// A damaged chain may form a cycle. Like any other chain, it ends after `$2` links.
const CHAIN: &str = "with recursive chain (hash, bytes, prev, position) as (
        select hash, bytes, prev, 1::bigint from nodes where hash = $1
        union all
        select nodes.hash, nodes.bytes, nodes.prev, position + 1
            from chain join nodes on nodes.hash = chain.prev where position < $2)
    select hash, bytes from chain order by position";
const CONTAINS: &str = "select 1 from nodes where hash = $1";
const PUT: &str = "insert into nodes (hash, bytes, prev) select * from unnest($1::bigint[], $2::bytea[], $3::bigint[])
    on conflict do nothing returning hash";
const REPLACE: &str = "insert into nodes (hash, bytes, prev) values ($1, $2, $3)
    on conflict (hash) do update set bytes = excluded.bytes, prev = excluded.prev, put_at = clock_timestamp()";
const MISSING: &str = "select wanted.hash from unnest($1::bigint[]) with ordinality as wanted (hash, position)
    where not exists (select from nodes where nodes.hash = wanted.hash) order by position limit 1";
const LIST: &str = "select hash from nodes where hash between $1 and $2 order by hash limit $3";
const STORED: &str = "select hash, octet_length(bytes), put_at from nodes where hash = any($1)";
const REFRESH: &str = "update nodes set put_at = clock_timestamp() where hash = $1";
const REMOVE: &str = "delete from nodes where hash = any($1) returning hash";

/// A hash as a signed number with the same sort order.
pub(crate) fn number(hash: NodeHash) -> i64 {
    (hash.as_u64() ^ (1 << 63)).cast_signed()
}

/// The hash of such a number.
pub(crate) fn hash(number: i64) -> NodeHash {
    NodeHash::from_u64(number.cast_unsigned() ^ (1 << 63))
}

/// The number of the previous node in the chain.
fn before(bytes: &[u8]) -> Option<i64> {
    Node::predecessor(bytes).map(number)
}

/// Splits the objects of one call into batches.
fn batches(objects: &[(NodeHash, Vec<u8>)]) -> Vec<&[(NodeHash, Vec<u8>)]> {
    let mut batches = Vec::new();
    let mut rest = objects;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take(MAX_BATCH).take_while(|(_, object)| {
            bytes += object.len();
            bytes <= MAX_BATCH_BYTES
        });
        let (batch, others) = rest.split_at(fits.count().max(1));
        batches.push(batch);
        rest = others;
    }
    batches
}

impl PostgresStoreInner {
    fn put_batch(&self, batch: &[(NodeHash, Vec<u8>)]) -> Result<HashSet<NodeHash>, RemoteError> {
        // Sorted, because two processes that store the same nodes in different orders would wait for each other.
        let mut sorted: Vec<&(NodeHash, Vec<u8>)> = batch.iter().collect();
        sorted.sort_by_key(|(hash, _)| *hash);
        let hashes: Vec<i64> = sorted.iter().map(|(hash, _)| number(*hash)).collect();
        let bytes: Vec<&[u8]> = sorted.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        let before: Vec<Option<i64>> = bytes.iter().map(|bytes| before(bytes)).collect();
        let doing = format!("store {} nodes", batch.len());
        let parameters =
            [(&hashes as _, Type::INT8_ARRAY), (&bytes as _, Type::BYTEA_ARRAY), (&before as _, Type::INT8_ARRAY)];
        let rows = self.rows(&doing, PUT, &parameters)?;
        self.hashes(&doing, &rows)
    }

    fn hashes<C: FromIterator<NodeHash>>(&self, doing: &str, rows: &[Row]) -> Result<C, RemoteError> {
        rows.iter().map(|row| self.column(doing, row, 0).map(hash)).collect()
    }

    fn remove_batch(&self, batch: &[NodeHash]) -> Result<HashSet<NodeHash>, RemoteError> {
        let doing = format!("remove {} nodes", batch.len());
        let numbers: Vec<i64> = batch.iter().map(|hash| number(*hash)).collect();
        let rows = self.gate.swept(&doing, |session| {
            session.run(async |client| client.query_typed(REMOVE, &[(&numbers, Type::INT8_ARRAY)]).await)
        })?;
        self.hashes(&doing, &rows)
    }

    fn get_batch(&self, batch: &[NodeHash]) -> Result<HashMap<NodeHash, Vec<u8>>, RemoteError> {
        let doing = format!("read {} nodes", batch.len());
        let numbers: Vec<i64> = batch.iter().map(|hash| number(*hash)).collect();
        let rows = self.rows(&doing, GET_ALL, &[(&numbers, Type::INT8_ARRAY)])?;
        rows.iter().map(|row| Ok((hash(self.column(&doing, row, 0)?), self.column(&doing, row, 1)?))).collect()
    }

    fn stored_batch(&self, batch: &[NodeHash]) -> Result<HashMap<NodeHash, ObjectMetadata>, RemoteError> {
        let doing = format!("look for {} nodes", batch.len());
        let numbers: Vec<i64> = batch.iter().map(|hash| number(*hash)).collect();
        let rows = self.rows(&doing, STORED, &[(&numbers, Type::INT8_ARRAY)])?;
        let stored = |row: &Row| {
            let bytes: i32 = self.column(&doing, row, 1)?;
            let put_at: SystemTime = self.column(&doing, row, 2)?;
            Ok((hash(self.column(&doing, row, 0)?), ObjectMetadata { bytes: u64::from(bytes.unsigned_abs()), put_at }))
        };
        rows.iter().map(stored).collect()
    }

    /// The row of one node, if it exists.
    fn row(&self, doing: &str, statement: &str, node: NodeHash) -> Result<Option<Row>, RemoteError> {
        Ok(self.rows(&format!("{doing} {node}"), statement, &[(&number(node), Type::INT8)])?.pop())
    }
}

impl ObjectBackend for PostgresStore {
    fn get(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        let row = self.inner.row("read node", GET, hash)?;
        Ok(row.map(|row| self.inner.column("read a node", &row, 0)).transpose()?)
    }

    fn chain(&self, from: NodeHash, most: usize) -> Result<Vec<(NodeHash, Vec<u8>)>, StoreError> {
        let doing = format!("read the chain of node {from}");
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.inner.rows(&doing, CHAIN, &[(&number(from), Type::INT8), (&most, Type::INT8)])?;
        let link = |row: &Row| {
            let (at, bytes) = (self.inner.column(&doing, row, 0)?, self.inner.column(&doing, row, 1)?);
            Ok((hash(at), bytes))
        };
        rows.iter().map(link).collect()
    }

    fn get_all(&self, hashes: &[NodeHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let mut all = Vec::with_capacity(hashes.len());
        for batch in hashes.chunks(READ_AT_ONCE) {
            let mut found = self.inner.get_batch(batch)?;
            // A hash that was not requested was corrupted on the way, so a node that seems to be missing may be there.
            let is_garbled = found.keys().any(|hash| !batch.contains(hash));
            for hash in batch {
                if is_garbled && !found.contains_key(hash) {
                    found.extend(self.get(*hash)?.map(|bytes| (*hash, bytes)));
                }
                all.push(found.get(hash).cloned());
            }
        }
        Ok(all)
    }

    fn get_all_uncached(&self, hashes: &[NodeHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.get_all(hashes)
    }

    fn contains(&self, hash: NodeHash) -> Result<bool, StoreError> {
        Ok(self.inner.row("look for node", CONTAINS, hash)?.is_some())
    }

    fn put_all(&self, objects: &[(NodeHash, Vec<u8>)]) -> Result<Vec<ObjectPutOutcome>, StoreError> {
        let mut puts = Vec::with_capacity(objects.len());
        for batch in batches(objects) {
            let mut published = self.inner.put_batch(batch)?;
            puts.extend(batch.iter().map(|(hash, _)| {
                if published.remove(hash) { ObjectPutOutcome::Published } else { ObjectPutOutcome::Present }
            }));
        }
        Ok(puts)
    }

    fn is_far(&self) -> bool {
        true
    }

    fn replace(&self, hash: NodeHash, bytes: &[u8]) -> Result<(), StoreError> {
        let parameters =
            [(&number(hash) as _, Type::INT8), (&bytes as _, Type::BYTEA), (&before(bytes) as _, Type::INT8)];
        self.inner.changed(&format!("replace node {hash}"), REPLACE, &parameters)?;
        Ok(())
    }

    /// Committed rows are durable, so this only checks that the nodes exist.
    fn sync(&self, hashes: &[NodeHash]) -> Result<(), StoreError> {
        let doing = format!("look for {} nodes", hashes.len());
        for batch in hashes.chunks(MAX_BATCH) {
            let numbers: Vec<i64> = batch.iter().map(|hash| number(*hash)).collect();
            let rows = self.inner.rows(&doing, MISSING, &[(&numbers, Type::INT8_ARRAY)])?;
            if let Some(hash) = self.inner.hashes::<Vec<NodeHash>>(&doing, &rows)?.first() {
                return Err(StoreError::NotFound { hash: *hash });
            }
        }
        Ok(())
    }

    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<NodeHash>, StoreError> {
        let all = NodeHash::from_u64(0)..=NodeHash::from_u64(u64::MAX);
        let range: RangeInclusive<NodeHash> = prefix.map_or(all, HashPrefix::range);
        let (mut from, to) = (number(*range.start()), number(*range.end()));
        let mut listed = Vec::new();
        loop {
            let parameters = [(&from as _, Type::INT8), (&to as _, Type::INT8), (&MAX_PAGE as _, Type::INT8)];
            let rows = self.inner.rows("list the nodes", LIST, &parameters)?;
            listed.extend(self.inner.hashes::<Vec<NodeHash>>("list the nodes", &rows)?);
            match listed.last().and_then(|last| number(*last).checked_add(1)) {
                Some(next) if rows.len() as i64 == MAX_PAGE => from = next,
                _ => return Ok(listed),
            }
        }
    }

    fn stored(&self, hash: NodeHash) -> Result<Option<ObjectMetadata>, StoreError> {
        Ok(self.stored_all(&[hash])?.pop().flatten())
    }

    fn stored_all(&self, hashes: &[NodeHash]) -> Result<Vec<Option<ObjectMetadata>>, StoreError> {
        let mut all = Vec::with_capacity(hashes.len());
        for batch in hashes.chunks(MAX_BATCH) {
            let found = self.inner.stored_batch(batch)?;
            all.extend(batch.iter().map(|hash| found.get(hash).copied()));
        }
        Ok(all)
    }

    fn refresh(&self, hash: NodeHash) -> Result<bool, StoreError> {
        let doing = format!("make node {hash} young");
        Ok(self.inner.changed(&doing, REFRESH, &[(&number(hash), Type::INT8)])? > 0)
    }

    fn hold(&self) -> Result<HoldGuard, StoreError> {
        self.inner.gate.hold()
    }

    fn sweep(&self) -> Result<SweepGuard, StoreError> {
        self.inner.gate.sweep()
    }

    /// Removes in order, with one transaction for each ten thousand nodes.
    fn remove_all(&self, _sweep: &SweepGuard, layers: &[&[NodeHash]]) -> Result<Vec<bool>, StoreError> {
        let hashes = layers.concat();
        let mut were_there = Vec::with_capacity(hashes.len());
        for batch in hashes.chunks(MAX_BATCH) {
            let mut removed = self.inner.remove_batch(batch)?;
            were_there.extend(batch.iter().map(|hash| removed.remove(hash)));
        }
        Ok(were_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_as_hashes_do() {
        let hashes = [0, 1, (1 << 63) - 1, 1 << 63, u64::MAX].map(NodeHash::from_u64);
        let numbers = hashes.map(number);
        assert!(numbers.is_sorted());
        assert_eq!(numbers.map(hash), hashes);
    }

    #[test]
    fn batches_have_all_in_order() {
        let object = |value: u64, len: usize| (NodeHash::from_u64(value), vec![0; len]);
        let objects = [object(1, MAX_BATCH_BYTES), object(2, 1), object(3, MAX_BATCH_BYTES + 1), object(4, 0)];
        let lens: Vec<usize> = batches(&objects).iter().map(|batch| batch.len()).collect();
        assert_eq!(lens, [1, 1, 1, 1]);
        let objects: Vec<_> = (0..MAX_BATCH as u64 + 5).map(|value| object(value, 1)).collect();
        assert_eq!(batches(&objects).concat(), objects);
        assert_eq!(batches(&[]).len(), 0);
    }
}
