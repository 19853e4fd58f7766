//! A backend around another one, with something to do before each write and each read of many, and after each write.

use json_cas::{
    HashPrefix, HoldGuard, NodeHash, ObjectBackend, ObjectMetadata, ObjectPutOutcome, ReclaimScope, StoreError,
    StrayEntry, SweepGuard,
};

type Before<O> = Box<dyn Fn(&O, &[(NodeHash, Vec<u8>)]) + Send + Sync>;
type Read = Box<dyn Fn(&[NodeHash]) + Send + Sync>;
type After<O> = Box<dyn Fn(&O) + Send + Sync>;

pub(crate) struct Hooked<O> {
    inner: O,
    before_put: Before<O>,
    before_read: Read,
    after_write: After<O>,
}

impl<O> Hooked<O> {
    fn around(inner: O) -> Hooked<O> {
        Hooked { inner, before_put: Box::new(|_, _| ()), before_read: Box::new(|_| ()), after_write: Box::new(|_| ()) }
    }

    /// `before_read` gets the hashes of each batch that is read.
    pub(crate) fn before_read(inner: O, before_read: impl Fn(&[NodeHash]) + Send + Sync + 'static) -> Hooked<O> {
        Hooked { before_read: Box::new(before_read), ..Hooked::around(inner) }
    }

    /// `before_put` gets the objects of each batch that is put.
    pub(crate) fn before_put(
        inner: O,
        before_put: impl Fn(&O, &[(NodeHash, Vec<u8>)]) + Send + Sync + 'static,
    ) -> Hooked<O> {
        Hooked { before_put: Box::new(before_put), ..Hooked::around(inner) }
    }

    /// `after_write` is called when something was put or replaced, and nobody holds any more.
    pub(crate) fn after_write(inner: O, after_write: impl Fn(&O) + Send + Sync + 'static) -> Hooked<O> {
        Hooked { after_write: Box::new(after_write), ..Hooked::around(inner) }
    }
}

impl<O: ObjectBackend> ObjectBackend for Hooked<O> {
    fn get(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.get(hash)
    }
    fn get_all(&self, hashes: &[NodeHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        (self.before_read)(hashes);
        self.inner.get_all(hashes)
    }
    fn contains(&self, hash: NodeHash) -> Result<bool, StoreError> {
        self.inner.contains(hash)
    }
    fn put_all(&self, objects: &[(NodeHash, Vec<u8>)]) -> Result<Vec<ObjectPutOutcome>, StoreError> {
        (self.before_put)(&self.inner, objects);
        let hold = self.inner.hold()?;
        let puts = self.inner.put_all(objects)?;
        drop(hold);
        (self.after_write)(&self.inner);
        Ok(puts)
    }
    fn replace(&self, hash: NodeHash, bytes: &[u8]) -> Result<(), StoreError> {
        self.inner.replace(hash, bytes)?;
        (self.after_write)(&self.inner);
        Ok(())
    }
    fn sync(&self, hashes: &[NodeHash]) -> Result<(), StoreError> {
        self.inner.sync(hashes)
    }
    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<NodeHash>, StoreError> {
        self.inner.list(prefix)
    }
    fn stored(&self, hash: NodeHash) -> Result<Option<ObjectMetadata>, StoreError> {
        self.inner.stored(hash)
    }
    fn refresh(&self, hash: NodeHash) -> Result<bool, StoreError> {
        self.inner.refresh(hash)
    }
    fn hold(&self) -> Result<HoldGuard, StoreError> {
        self.inner.hold()
    }
    fn sweep(&self) -> Result<SweepGuard, StoreError> {
        self.inner.sweep()
    }
    fn remove_all(&self, sweep: &SweepGuard, layers: &[&[NodeHash]]) -> Result<Vec<bool>, StoreError> {
        self.inner.remove_all(sweep, layers)
    }
    fn reclaim(&self, extent: ReclaimScope<'_>) -> Result<(), StoreError> {
        self.inner.reclaim(extent)
    }
    fn strays(&self) -> Result<Vec<StrayEntry>, StoreError> {
        self.inner.strays()
    }
}
