//! Files that survive crashes, and locks.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use durable_files::{FileLock, append, is_disk_full, remove_leftovers, replace, replace_private};
use tempfile::TempDir;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn replace_makes_directories_and_keeps_permissions() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a/b/config.yaml");
    replace(&path, b"one").unwrap();
    fs::write(dir.path().join("usual"), "").unwrap();
    assert_eq!(mode(&path), mode(&dir.path().join("usual")), "0666 less the umask");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    replace(&path, b"two").unwrap();
    assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"two".to_vec(), 0o600));
    assert_eq!(names(path.parent().unwrap()), ["config.yaml"]);
}

#[test]
fn a_private_file_is_for_nobody_else() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(".env");
    replace_private(&path, b"KEY=1").unwrap();
    assert_eq!(mode(&path), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    replace_private(&path, b"KEY=2").unwrap();
    assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"KEY=2".to_vec(), 0o600));
}

#[test]
fn replace_follows_a_link_and_keeps_it() {
    let dir = TempDir::new().unwrap();
    let (target, link) = (dir.path().join("dotfiles"), dir.path().join("home"));
    for made in [&target, &link] {
        fs::create_dir(made).unwrap();
    }
    fs::write(target.join("config"), "old").unwrap();
    symlink(target.join("config"), link.join("config")).unwrap();
    replace(&link.join("config"), b"new").unwrap();
    assert!(fs::symlink_metadata(link.join("config")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(target.join("config")).unwrap(), "new");
    assert_eq!((names(&target), names(&link)), (vec!["config".to_owned()], vec!["config".to_owned()]));
}

#[test]
fn replace_names_what_failed() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("file"), "x").unwrap();
    let error = replace(&dir.path().join("file/config"), b"y").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot look at {}: Not a directory (os error 20)", dir.path().join("file/config").display())
    );
    fs::create_dir(dir.path().join("dir")).unwrap();
    replace(&dir.path().join("dir"), b"y").unwrap_err();
    assert_eq!(names(dir.path()), ["dir", "file"], "no temporary file is left");
}

#[test]
fn append_ends_a_torn_line_first() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("new/history.jsonl");
    append(&path, "one").unwrap();
    append(&path, "two").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    fs::write(&path, "one\ntw").unwrap();
    append(&path, "three").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntw\nthree\n");
    fs::write(&path, "").unwrap();
    append(&path, "four").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "four\n");
}

#[test]
fn a_full_disk_is_recognised() {
    assert!(is_disk_full(&io::Error::from_raw_os_error(28)), "ENOSPC");
    assert!(is_disk_full(&io::Error::from_raw_os_error(122)), "EDQUOT");
    assert!(!is_disk_full(&io::Error::from_raw_os_error(2)), "ENOENT");
}

#[test]
fn a_lock_excludes_and_is_never_unlinked() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("threads/x/lock");
    assert!(!FileLock::is_held(&path).unwrap());
    assert!(!path.exists(), "a probe makes no file");
    let lock = FileLock::acquire(&path, Duration::ZERO).unwrap().unwrap();
    assert!(FileLock::is_held(&path).unwrap());
    let start = Instant::now();
    assert!(FileLock::acquire(&path, Duration::from_millis(30)).unwrap().is_none());
    assert!(start.elapsed() >= Duration::from_millis(30), "it tried for as long as told");
    drop(lock);
    assert!(!FileLock::is_held(&path).unwrap());
    assert!(path.exists());
    assert!(FileLock::acquire(&path, Duration::ZERO).unwrap().is_some());
}

#[test]
fn a_lock_waits_for_its_turn() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("lock");
    let first = FileLock::acquire(&path, Duration::ZERO).unwrap().unwrap();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| FileLock::acquire(&path, Duration::from_mins(1)).unwrap());
        drop(first);
        assert!(second.join().unwrap().is_some());
    });
}

#[test]
fn lock_on_removed_file_does_not_count() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("lock");
    let old = FileLock::acquire(&path, Duration::ZERO).unwrap().unwrap();
    // Somebody cleans up by hand. The next taker gets the lock of the new file, and whoever
    // waited on the old one ends up there too.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| FileLock::acquire(&path, Duration::from_mins(1)).unwrap());
        fs::remove_file(&path).unwrap();
        drop(old);
        let held = waiting.join().unwrap().unwrap();
        assert!(path.exists());
        assert!(FileLock::acquire(&path, Duration::ZERO).unwrap().is_none());
        drop(held);
    });
}

#[test]
fn a_lock_tells_its_owner() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("lock");
    assert_eq!(FileLock::owner(&path).unwrap(), None);
    let lock = FileLock::acquire(&path, Duration::ZERO).unwrap().unwrap();
    assert_eq!(FileLock::owner(&path).unwrap(), None);
    lock.write_owner("keeper 4711 of\nsomething long").unwrap();
    lock.write_owner("keeper 12").unwrap();
    assert_eq!(FileLock::owner(&path).unwrap(), Some("keeper 12".to_owned()));
    assert_eq!(lock.path(), path);
}

#[test]
fn only_old_temporary_files_are_leftovers() {
    let dir = TempDir::new().unwrap();
    let hours_ago = |name: &str, hours: u64| {
        let file = fs::File::create(dir.path().join(name)).unwrap();
        let time = std::time::SystemTime::now() - Duration::from_secs(hours * 3600);
        file.set_modified(time).unwrap();
    };
    hours_ago(".tmp-old", 2);
    hours_ago(".tmp-young", 0);
    hours_ago("0ZK4000000000.bin", 2);
    let hour = Duration::from_hours(1);
    assert_eq!(remove_leftovers(dir.path(), hour).unwrap(), 1);
    assert_eq!(names(dir.path()), [".tmp-young", "0ZK4000000000.bin"]);
    assert_eq!(remove_leftovers(&dir.path().join("none"), hour).unwrap(), 0);
}
