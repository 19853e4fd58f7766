//! The names of workflows: read as they stand, or refused and left alone; a change keeps all that it does not change.

use json_cas::NodeHash;
use tempfile::TempDir;
use uwf_engine::error::{ErrorKind, Result};
use uwf_engine::root::home::Home;
use uwf_engine::root::registry::{self, Registry};
use uwf_testing::{FuzzTarget, dir_in_memory};

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "registry.yaml",
    samples: &[
        b"\"solve-it\":\n  hash: \"1234567890123\"\n  timestamp: 1700000000000\n  history:\n    - hash: \"0000000000001\"\n      timestamp: 1\n\"write-it\":\n  hash: \"0ZK4000000000\"\n  timestamp: 2\n  history: []\n",
        b"solve-it: 1234567890123\nwrite-it: \"0ZK4000000000\"\n",
        b"{\"a\": {\"hash\": \"0000000000001\", \"timestamp\": 1}, b: {hash: 0000000000002, timestamp: 3, more: x}}",
        b"{}\n",
    ],
    words: &[
        "hash", "timestamp", "history", "solve-it", "1234567890123", "12345678901E5", ": ", "- ", "\n", "\n  ", "{", "}", "[",
        "]", ",", "\"", "'", "#", "&a ", "*a", "<<: ", "!!binary ", "---\n", "~", "null", "-1", "1e3", "18446744073709551616", "é", "\0",
    ],
    check,
};

thread_local! {
    static DIR: TempDir = dir_in_memory();
}

fn check(bytes: &[u8]) {
    DIR.with(|dir| {
        let home = Home::open(dir.path(), "uwf");
        std::fs::write(home.registry_file(), bytes).expect("the registry can be written");
        let name = |registry: &mut Registry| -> Result<()> {
            registry::name(registry, "new-name", NodeHash::from_u64(5), 7);
            Ok(())
        };
        match registry::read(&home) {
            Ok(mut registry) => {
                registry::update(&home, name).expect("what can be read can be changed");
                name(&mut registry).expect("it is only a map");
                assert_eq!(registry::read(&home).expect("what was written is read"), registry);
            }
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::Data, "{error}");
                assert!(!error.hints.is_empty() && !error.to_string().contains('\n'), "{error}");
                registry::update(&home, name).expect_err("what cannot be read is not replaced");
                assert_eq!(std::fs::read(home.registry_file()).expect("it is there"), bytes);
            }
        }
    });
}
