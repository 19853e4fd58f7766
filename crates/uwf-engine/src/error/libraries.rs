//! Translates errors of nodes, heads and files for the user: their kind, and what to try next.
//!
//! The libraries below don't know the commands, so their errors become an [`Error`] here. All other errors are worded where they happen.

use durable_files::FileError;
use json_cas::{HeadsError, RemoteError, RemoteFault, StoreError};
use uwf_core::moderator::ConditionError;
use uwf_core::node::OWN_TYPES;
use uwf_core::thread::ThreadIdError;

use super::{Error, ErrorKind, FREE_SPACE};
use crate::attempt_variable::ATTEMPT_VARIABLE;

impl From<StoreError> for Error {
    fn from(source: StoreError) -> Error {
        with_store_hints(Error::new(store_kind(&source), source.to_string()), &source).with_source(source)
    }
}

impl From<HeadsError> for Error {
    fn from(source: HeadsError) -> Error {
        with_heads_hints(Error::new(heads_kind(&source), source.to_string()), &source).with_source(source)
    }
}

impl From<FileError> for Error {
    fn from(source: FileError) -> Error {
        when_full(Error::io(source.to_string()), source.is_disk_full()).with_source(source)
    }
}

impl From<ThreadIdError> for Error {
    fn from(error: ThreadIdError) -> Error {
        Error::data(error.to_string())
    }
}

impl From<ConditionError> for Error {
    fn from(error: ConditionError) -> Error {
        Error::data(error.to_string())
    }
}

/// Whether a remote store could not be used.
pub(super) fn is_remote(source: &(dyn std::error::Error + 'static)) -> bool {
    matches!(source.downcast_ref(), Some(StoreError::Remote(_)))
        || matches!(source.downcast_ref(), Some(HeadsError::Remote(_)))
}

fn when_full(error: Error, is_full: bool) -> Error {
    if is_full { error.hint(FREE_SPACE) } else { error }
}

fn store_kind(source: &StoreError) -> ErrorKind {
    match source {
        StoreError::NotFound { .. } | StoreError::NoSuchPrefix { .. } => ErrorKind::NotFound,
        StoreError::BadHash(_) | StoreError::AmbiguousPrefix { .. } => ErrorKind::Usage,
        StoreError::Io { .. } => ErrorKind::Io,
        StoreError::NewerFormat { .. } => ErrorKind::Config,
        StoreError::Busy { .. } | StoreError::SweepEnded { .. } | StoreError::Garbled { .. } => ErrorKind::Busy,
        StoreError::Remote(remote) => remote_kind(remote.fault),
        _ => ErrorKind::Data,
    }
}

fn with_store_hints(mut error: Error, source: &StoreError) -> Error {
    if let StoreError::Corrupt { hash, .. } = source {
        if *hash == json_cas::bootstrap::HASH || OWN_TYPES.iter().any(|own| own.hash == *hash) {
            error = error.hint("it is one of uwf's own types: `uwf recover` stores it again");
        }
        error = error.hint(format!("`uwf cas verify {hash}` checks it; putting the same content again repairs it"));
    }
    if let StoreError::DamagedPack { .. } = source {
        error = error
            .hint("restore that file from a backup; nodes that are not in it can be read and stored all the same")
            .hint("without a backup, `uwf pack --forget NAME` keeps the nodes that can be read and gives up the rest");
    }
    if let StoreError::NewerFormat { .. } = source {
        error = error.hint("a newer uwf wrote it: update uwf on this machine");
    }
    if let StoreError::Collision { hash } = source {
        error = error.hint(format!("`uwf cas get {hash}` shows the other one, which is the file cas/{hash}.bin"));
    }
    if let StoreError::SweepEnded { .. } = source {
        error = error
            .hint("this machine was suspended, or did not reach the store, for more than 30 s")
            .hint("nothing is lost: run `uwf gc` again to finish");
    }
    if let StoreError::Garbled { .. } = source {
        error = error.hint("try again; a device between this machine and the store corrupts data");
    }
    if let StoreError::Remote(remote) = source {
        error = error.hint(about_remote(remote));
    }
    when_full(error, source.is_disk_full())
}

fn heads_kind(source: &HeadsError) -> ErrorKind {
    match source {
        HeadsError::Busy { .. } => ErrorKind::Busy,
        HeadsError::Unreadable { .. } => ErrorKind::Data,
        HeadsError::Io { .. } => ErrorKind::Io,
        HeadsError::Remote(remote) => remote_kind(remote.fault),
        HeadsError::BadName { .. } | HeadsError::Removed { .. } | HeadsError::BadRecord { .. } => ErrorKind::Internal,
    }
}

fn with_heads_hints(mut error: Error, source: &HeadsError) -> Error {
    if let HeadsError::Unreadable { path, .. } = source {
        error = error
            .hint(format!("nothing was changed; repair {} or restore it from a backup", path.display()))
            .hint("`uwf recover` rebuilds it from the records of the threads; `uwf recover --dry-run` shows how");
    }
    if let HeadsError::Remote(remote) = source {
        error = error.hint(about_remote(remote));
    }
    when_full(error, source.is_disk_full())
}

fn remote_kind(fault: RemoteFault) -> ErrorKind {
    match fault {
        RemoteFault::Unreachable => ErrorKind::Busy,
        RemoteFault::Failed => ErrorKind::Io,
        RemoteFault::Missing => ErrorKind::NotFound,
        RemoteFault::Refused => ErrorKind::Usage,
        RemoteFault::Denied
        | RemoteFault::NotReady
        | RemoteFault::Incomplete
        | RemoteFault::Newer
        | RemoteFault::Foreign
        | RemoteFault::Misnamed
        | RemoteFault::Unfit => ErrorKind::Config,
    }
}

/// Hint for a remote store that cannot be used.
fn about_remote(remote: &RemoteError) -> String {
    let is_of = |scheme: &str| remote.store.starts_with(scheme);
    let (is_postgres, is_google, is_azure) = (is_of("postgres"), is_of("gs://"), is_of("az://"));
    match remote.fault {
        RemoteFault::Unreachable => "nothing is lost: check the URL (`uwf store show`) and the network, then try again".into(),
        RemoteFault::Failed => "nothing is lost: try again".into(),
        RemoteFault::Denied if std::env::var_os(ATTEMPT_VARIABLE).is_some() => {
            "agents do not get the keys of the store; one that needs them has their variables in its `env`: `uwf help shared-store`".into()
        }
        RemoteFault::Denied if is_postgres => {
            "check the password (PGPASSWORD, PGPASSFILE), the user's rights to read and write the tables, and \
             `sslmode` in the URL".into()
        }
        RemoteFault::Denied if is_google => {
            "credentials come from GOOGLE_APPLICATION_CREDENTIALS, `gcloud auth application-default login` or the machine; the role Storage Object User allows what is needed".into()
        }
        RemoteFault::Denied if is_azure => {
            "AZURE_STORAGE_ACCOUNT names the account, AZURE_STORAGE_KEY holds its key; other credentials need the \
             role Storage Blob Data Contributor: `uwf help shared-store`".into()
        }
        RemoteFault::Denied => {
            "keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or a profile (AWS_PROFILE); they must allow get, put, list and delete".into()
        }
        RemoteFault::Missing if is_postgres => "create the database: `createdb NAME`, then `uwf store init`".into(),
        RemoteFault::Missing if is_azure => "create the container first; uwf does not".into(),
        RemoteFault::Missing => "create the bucket first; uwf does not".into(),
        RemoteFault::NotReady => "`uwf store init` makes it ready".into(),
        RemoteFault::Incomplete => "nothing was changed; restore the missing parts from a backup of the store".into(),
        RemoteFault::Newer => "nothing was changed; install that uwf here".into(),
        RemoteFault::Foreign => "nothing was changed; name another prefix, database or schema".into(),
        RemoteFault::Misnamed => "UWF_STORE_URL or `store.url` of config.yaml names it: `uwf help configuration`".into(),
        RemoteFault::Refused => "an agent reads and stores the nodes of its own attempt; for anything else its `env` must name the keys of the store: `uwf help shared-store`".into(),
        RemoteFault::Unfit => "several machines would overwrite each other's data there: use another server; `uwf \
                               help shared-store` lists the requirements".into(),
    }
}

#[cfg(test)]
mod tests {
    use json_cas::NodeHash;

    use super::*;

    #[test]
    fn unusable_shared_store_is_no_damage() {
        for fault in [RemoteFault::Unreachable, RemoteFault::Denied, RemoteFault::Missing] {
            let remote = || RemoteError { store: "s3://b".into(), fault, message: "why".into(), source: None };
            for error in [Error::from(StoreError::Remote(remote())), Error::from(HeadsError::Remote(remote()))] {
                assert!(error.is_remote() && !error.is_damage(), "{fault:?}");
            }
        }
        let missing = Error::from(StoreError::NotFound { hash: NodeHash::from_u64(9) });
        assert!(missing.is_damage() && !missing.is_remote());
    }
}
