//! What small objects said, so that those that did not change are not read again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bucket::Listed;
use crate::tag::Tag;

/// Key → tag and what was read under that tag. Every write makes another tag, as it writes something that was never written.
///
/// It is of one process; one on the disk could take its place, as nothing here must be right about what is there now.
#[derive(Debug)]
pub(crate) struct Seen<T> {
    objects: Mutex<HashMap<String, (Tag, T)>>,
}

impl<T> Default for Seen<T> {
    fn default() -> Seen<T> {
        Seen { objects: Mutex::default() }
    }
}

impl<T: Clone> Seen<T> {
    fn objects(&self) -> MutexGuard<'_, HashMap<String, (Tag, T)>> {
        // Entries are inserted whole.
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a listed object said, if it is still the one that was read.
    pub(crate) fn of(&self, listed: &Listed) -> Option<T> {
        let objects = self.objects();
        let is_same = |(tag, _): &&(Tag, T)| tag.is_listed_as(&listed.tag);
        objects.get(&listed.key).filter(is_same).map(|(_, said)| said.clone())
    }

    pub(crate) fn learn(&self, key: &str, tag: &Tag, said: T) {
        self.objects().insert(key.to_owned(), (tag.clone(), said));
    }

    /// Forgets what is not in a complete listing.
    pub(crate) fn keep(&self, listed: &[Listed]) {
        let there: std::collections::HashSet<&str> = listed.iter().map(|object| &*object.key).collect();
        self.objects().retain(|key, _| there.contains(&**key));
    }
}
