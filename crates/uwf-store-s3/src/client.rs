//! The client of a provider, as the rest of the store uses it.

use object_store::aws::AmazonS3;
use object_store::gcp::GoogleCloudStorage;
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, Result};

use crate::wait::wait_for;

pub(crate) trait BucketClient: Send + Sync {
    fn objects(&self) -> &dyn ObjectStore;

    fn lists(&self) -> &dyn PaginatedListStore;

    /// Deletes an object. If it doesn't exist, some providers report an error and others don't.
    fn delete(&self, path: &Path) -> Result<()> {
        wait_for(self.objects().delete(path))
    }
}

impl BucketClient for AmazonS3 {
    fn objects(&self) -> &dyn ObjectStore {
        self
    }

    fn lists(&self) -> &dyn PaginatedListStore {
        self
    }
}

impl BucketClient for GoogleCloudStorage {
    fn objects(&self) -> &dyn ObjectStore {
        self
    }

    fn lists(&self) -> &dyn PaginatedListStore {
        self
    }
}
