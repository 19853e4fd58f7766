//! A cache of small objects, so that unchanged ones are not read again.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::bucket::ListedObject;
use crate::tag::ObjectTag;

/// Maps each key to its tag and the content read under that tag. Every write produces a new tag, because it always writes new content.
///
/// The cache lives in one process. A cache on disk could replace it, because no entry needs to be up to date.
#[derive(Debug)]
pub(crate) struct TaggedCache<T> {
    objects: Mutex<HashMap<String, (ObjectTag, T)>>,
}

impl<T> Default for TaggedCache<T> {
    fn default() -> TaggedCache<T> {
        TaggedCache { objects: Mutex::default() }
    }
}

impl<T: Clone> TaggedCache<T> {
    /// The content of a listed object, if it is unchanged since it was read.
    pub(crate) fn get_unchanged(&self, listed: &ListedObject) -> Option<T> {
        let objects = self.objects.lock();
        let is_same = |(tag, _): &&(ObjectTag, T)| tag.is_listed_as(&listed.tag);
        objects.get(&listed.key).filter(is_same).map(|(_, said)| said.clone())
    }

    pub(crate) fn learn(&self, key: &str, tag: &ObjectTag, said: T) {
        self.objects.lock().insert(key.to_owned(), (tag.clone(), said));
    }

    /// Forgets objects that are not in a complete listing.
    pub(crate) fn keep(&self, listed: &[ListedObject]) {
        let there: std::collections::HashSet<&str> = listed.iter().map(|object| &*object.key).collect();
        self.objects.lock().retain(|key, _| there.contains(&**key));
    }
}
