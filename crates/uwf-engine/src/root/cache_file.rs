//! Cache files that are read and written as a whole. A checksum shows whether the content is complete.

use std::io::Write;
use std::path::Path;

use durable_files::regular;

use crate::root::home::Home;

/// The cached content; `None` if it is missing or incomplete.
pub(crate) fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = regular::read(path, regular::MAX_LIST).ok()?;
    let (sum, body) = bytes.split_first_chunk::<8>()?;
    let is_whole = u64::from_le_bytes(*sum) == sum_of(body);
    is_whole.then(|| bytes.split_off(8))
}

/// Caches content. If this fails, the content must be computed again.
pub(crate) fn write(home: &Home, path: &Path, body: &[u8]) {
    let dir = path.parent().unwrap_or(home.root());
    let _ = std::fs::create_dir_all(dir);
    let _ = tempfile::NamedTempFile::new_in(home.cache_dir()).and_then(|mut file| {
        file.write_all(&sum_of(body).to_le_bytes())?;
        file.write_all(body)?;
        file.persist(path).map_err(|error| error.error)
    });
}

fn sum_of(body: &[u8]) -> u64 {
    json_cas::xxh64(body).as_u64()
}
