//! A backend around another one, with something to do before each write and each read of many, and after each write.

use json_cas::{Hash, HashPrefix, Hold, Objects, Put, Reclaim, StoreError, Stored, Stray, Sweep};

type Before<O> = Box<dyn Fn(&O, &[(Hash, Vec<u8>)]) + Send + Sync>;
type Read = Box<dyn Fn(&[Hash]) + Send + Sync>;
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
    pub(crate) fn before_read(inner: O, before_read: impl Fn(&[Hash]) + Send + Sync + 'static) -> Hooked<O> {
        Hooked { before_read: Box::new(before_read), ..Hooked::around(inner) }
    }

    /// `before_put` gets the objects of each batch that is put.
    pub(crate) fn before_put(
        inner: O,
        before_put: impl Fn(&O, &[(Hash, Vec<u8>)]) + Send + Sync + 'static,
    ) -> Hooked<O> {
        Hooked { before_put: Box::new(before_put), ..Hooked::around(inner) }
    }

    /// `after_write` is called when something was put or replaced, and nobody holds any more.
    pub(crate) fn after_write(inner: O, after_write: impl Fn(&O) + Send + Sync + 'static) -> Hooked<O> {
        Hooked { after_write: Box::new(after_write), ..Hooked::around(inner) }
    }
}

impl<O: Objects> Objects for Hooked<O> {
    fn get(&self, hash: Hash) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.get(hash)
    }
    fn get_all(&self, hashes: &[Hash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        (self.before_read)(hashes);
        self.inner.get_all(hashes)
    }
    fn contains(&self, hash: Hash) -> Result<bool, StoreError> {
        self.inner.contains(hash)
    }
    fn put_all(&self, objects: &[(Hash, Vec<u8>)]) -> Result<Vec<Put>, StoreError> {
        (self.before_put)(&self.inner, objects);
        let hold = self.inner.hold()?;
        let puts = self.inner.put_all(objects)?;
        drop(hold);
        (self.after_write)(&self.inner);
        Ok(puts)
    }
    fn replace(&self, hash: Hash, bytes: &[u8]) -> Result<(), StoreError> {
        self.inner.replace(hash, bytes)?;
        (self.after_write)(&self.inner);
        Ok(())
    }
    fn sync(&self, hashes: &[Hash]) -> Result<(), StoreError> {
        self.inner.sync(hashes)
    }
    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<Hash>, StoreError> {
        self.inner.list(prefix)
    }
    fn stored(&self, hash: Hash) -> Result<Option<Stored>, StoreError> {
        self.inner.stored(hash)
    }
    fn refresh(&self, hash: Hash) -> Result<bool, StoreError> {
        self.inner.refresh(hash)
    }
    fn hold(&self) -> Result<Hold, StoreError> {
        self.inner.hold()
    }
    fn sweep(&self) -> Result<Sweep, StoreError> {
        self.inner.sweep()
    }
    fn remove_all(&self, sweep: &Sweep, layers: &[&[Hash]]) -> Result<Vec<bool>, StoreError> {
        self.inner.remove_all(sweep, layers)
    }
    fn reclaim(&self, extent: Reclaim<'_>) -> Result<(), StoreError> {
        self.inner.reclaim(extent)
    }
    fn strays(&self) -> Result<Vec<Stray>, StoreError> {
        self.inner.strays()
    }
}
