//! Stores that cannot be used: each says what is wrong, and that as the fault that decides what to do.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use json_cas::{HeadBackend, HeadsError, NodeHash, ObjectBackend, RemoteError, RemoteFault, StoreError};
use tempfile::TempDir;
use uwf_store_s3::S3Store;
use uwf_testing::azurite;
use uwf_testing::s3_server::environment;

use crate::proxy::{Fate, Proxy};
use crate::servers::{ALL, Kind, Server, put};

fn heads_error(store: &S3Store) -> RemoteError {
    match HeadBackend::list(store) {
        Err(HeadsError::Remote(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn objects_error(store: &S3Store) -> RemoteError {
    match store.get(NodeHash::from_u64(1)) {
        Err(StoreError::Remote(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// The fault, and the message with what differs from run to run taken out.
fn told(error: &RemoteError, server: &Server) -> (RemoteFault, String) {
    let whole = format!("{error} {error:?}");
    assert!(!whole.contains("hush"), "a secret is told: {whole}");
    assert_eq!(error.message.lines().count(), 1, "{whole}");
    (error.fault, error.to_string().replace(&server.endpoint(), "ENDPOINT"))
}

fn is_told(error: &RemoteError, server: &Server, fault: RemoteFault, message: &str) {
    assert_eq!(told(error, server), (fault, message.to_owned()));
}

#[test]
fn uninitialized_store_reports_it_until_initialized() {
    for kind in ALL {
        let server = Server::start(kind);
        let url = server.url("new");
        let store = server.store(&url);
        assert_eq!(store.requests().total(), 0, "opening asks nobody");
        let message = format!("the store {url}: it is not initialized");
        is_told(&heads_error(&store), &server, RemoteFault::NotReady, &message);
        is_told(&objects_error(&store), &server, RemoteFault::NotReady, &message);
        assert!(store.init().unwrap());
        assert!(!store.init().unwrap() && !server.store(&url).init().unwrap(), "it was ready");
        assert_eq!(HeadBackend::list(&server.store(&url)).unwrap(), []);
        assert_eq!(store.get(NodeHash::from_u64(1)).unwrap(), None);
    }
}

#[test]
fn many_may_make_a_store_ready_at_once() {
    for kind in ALL {
        let server = Server::start(kind);
        let one = || server.store(&server.url("raced"));
        let stores: Vec<S3Store> = (0..8).map(|_| one()).collect();
        let made: Vec<bool> = std::thread::scope(|scope| {
            let all: Vec<_> = stores.iter().map(|store| scope.spawn(|| store.init().unwrap())).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(made.iter().filter(|made| **made).count(), 1, "{made:?}");
    }
}

#[test]
fn missing_bucket_is_not_created() {
    for kind in ALL {
        let server = Server::start(kind);
        let url = server.url("uwf").replace("team", "nobody");
        let container = if kind == Kind::Azurite { "container" } else { "bucket" };
        let store = server.store(&url);
        let message = format!("the store {url}: the {container} nobody does not exist");
        is_told(&store.init().unwrap_err(), &server, RemoteFault::Missing, &message);
        is_told(&heads_error(&store), &server, RemoteFault::Missing, &message);
    }
}

#[test]
fn wrong_keys_are_reported_without_showing_them() {
    let server = Server::start(Kind::SeaweedFs);
    let _ = server.fresh();
    let open = |key_id: &str, secret: &str| {
        S3Store::open_with("s3://team/store-1", environment(&server.endpoint(), key_id, secret)).unwrap()
    };
    let unknown = heads_error(&open("AKIAOTHER", "hush"));
    let message = "the store s3://team/store-1: cannot read format.json: the server answered 403 InvalidAccessKeyId: \
        The access key ID you provided does not exist in our records";
    is_told(&unknown, &server, RemoteFault::Denied, message);
    let wrong = objects_error(&open("AKIATEST", "hush hush"));
    assert_eq!(wrong.fault, RemoteFault::Denied);
    assert!(told(&wrong, &server).1.contains("403 SignatureDoesNotMatch"), "{wrong}");
}

#[test]
fn azure_and_google_reject_wrong_keys() {
    let azure = Server::start(Kind::Azurite);
    let other = ("AZURE_STORAGE_KEY".to_owned(), "aHVzaCBodXNo".to_owned());
    let open = |more: &[(&str, &str)]| {
        let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        S3Store::open_with("az://team/uwf", azure.environment().into_iter().chain(more)).unwrap()
    };
    let message = "the store az://team/uwf: cannot read format.json: the server answered 403 AuthorizationFailure: Server \
        failed to authenticate the request. Make sure the value of the Authorization header is formed correctly including \
        the signature";
    is_told(&heads_error(&open(&[(&other.0, &other.1)])), &azure, RemoteFault::Denied, message);
    let error = open(&[("AZURE_STORAGE_KEY", "hush hush!")]).init().unwrap_err();
    assert_eq!(error.fault, RemoteFault::Denied);
    assert!(told(&error, &azure).1.contains("its credentials cannot be used: "), "{error}");

    let google = Server::start(Kind::Google);
    let token = ("GOOGLE_BEARER_TOKEN".to_owned(), "hush".to_owned());
    let store = S3Store::open_with("gs://team/uwf", google.environment().into_iter().chain([token])).unwrap();
    let message = "the store gs://team/uwf: cannot read format.json: the server answered 401 AuthenticationRequired";
    is_told(&objects_error(&store), &google, RemoteFault::Denied, message);
}

#[test]
fn keys_come_from_profile_or_failure_is_explained() {
    let server = Server::start(Kind::SeaweedFs);
    let home = TempDir::new().unwrap();
    let known = server.environment();
    let of = |name: &str| known.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let write = |file: &str, text: String| {
        fs::create_dir_all(home.path().join(".aws")).unwrap();
        fs::write(home.path().join(".aws").join(file), text).unwrap();
    };
    let keys = format!(
        "aws_access_key_id={}\naws_secret_access_key = {}\n",
        of("AWS_ACCESS_KEY_ID"),
        of("AWS_SECRET_ACCESS_KEY")
    );
    write(
        "credentials",
        format!("[default]\naws_access_key_id = AKIAOTHER\naws_secret_access_key = hush\n[team]\n{keys}"),
    );
    write("config", format!("[profile team]\nendpoint_url = {}\n[profile sso]\nsso_session = x\n", server.endpoint()));
    let store = |more: &[(&str, &str)]| {
        let home = [("HOME".to_owned(), home.path().display().to_string())];
        let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        S3Store::open_with("s3://team/by-profile", home.into_iter().chain(more)).unwrap()
    };
    assert!(store(&[("AWS_PROFILE", "team")]).init().unwrap(), "keys and endpoint of the profile");

    let endpoint = server.endpoint();
    let other = store(&[("AWS_ENDPOINT_URL", &endpoint)]).init().unwrap_err();
    assert!(other.message.contains("403 InvalidAccessKeyId"), "those of the default profile: {other}");

    let none = store(&[("AWS_PROFILE", "nobody")]).init().unwrap_err();
    assert_eq!(none.fault, RemoteFault::Denied);
    let aws = home.path().join(".aws");
    let looked = |name: &str| Path::new(&aws).join(name).display().to_string();
    assert_eq!(
        none.message,
        format!("profile `nobody` (AWS_PROFILE) is not in {} or {}", looked("config"), looked("credentials"))
    );

    let elsewhere = store(&[("AWS_PROFILE", "sso")]).init().unwrap_err();
    assert_eq!(elsewhere.fault, RemoteFault::Denied);
    assert_eq!(
        elsewhere.message,
        "the profile `sso` gets its keys by `sso_session`, which uwf does not: `aws configure export-credentials \
         --profile sso --format env` puts them into the environment"
    );
}

#[test]
fn without_keys_it_says_where_it_looked() {
    let server = Server::start(Kind::Moto);
    let endpoint = || ("AWS_ENDPOINT_URL".to_owned(), server.endpoint());
    let store = S3Store::open_with("s3://team/uwf", [endpoint()]).unwrap();
    let begun = Instant::now();
    is_told(
        &store.init().unwrap_err(),
        &server,
        RemoteFault::Denied,
        "the store s3://team/uwf: cannot read format.json: no keys found: not in the environment, not in a profile, \
         and not from this machine",
    );
    assert!(begun.elapsed() < Duration::from_secs(5), "it asks the machine only for a moment");

    let off = ("AWS_EC2_METADATA_DISABLED".to_owned(), "true".to_owned());
    let store = S3Store::open_with("s3://team/uwf", [endpoint(), off]).unwrap();
    let error = store.init().unwrap_err();
    assert_eq!(
        (error.fault, &*error.message),
        (RemoteFault::Denied, "no keys found: not in the environment and not in a profile")
    );
}

#[test]
fn foreign_or_newer_store_is_left_alone() {
    let server = Server::start(Kind::Moto);
    let newer = "its format has version 2, and this program supports only 1";
    let foreign = "its format.json does not belong to a uwf store";
    for (mark, fault, message) in [
        (r#"{"format":"uwf-store","version":2}"#, RemoteFault::Newer, newer),
        (r#"{"format":"delta"}"#, RemoteFault::Foreign, foreign),
        ("no JSON", RemoteFault::Foreign, foreign),
    ] {
        put(&server, "/team/other/format.json", mark);
        let store = server.store("s3://team/other");
        let message = format!("the store s3://team/other: {message}");
        is_told(&heads_error(&store), &server, fault, &message);
        is_told(&store.init().unwrap_err(), &server, fault, &message);
    }
    put(&server, "/team/photos/cat.png", "a cat");
    is_told(
        &server.store("s3://team/photos").init().unwrap_err(),
        &server,
        RemoteFault::Foreign,
        "the store s3://team/photos: the prefix already has objects, such as cat.png: a store needs a separate prefix",
    );
}

#[test]
fn server_without_conditional_writes_is_rejected_by_name() {
    for (kind, name, if_none, if_same) in [
        (Kind::Moto, "Werkzeug/", "If-None-Match", "If-Match"),
        (Kind::Azurite, "Azurite-Blob/", "If-None-Match", "If-Match"),
        (Kind::Google, "bucket in memory", "x-goog-if-generation-match: 0", "x-goog-if-generation-match"),
    ] {
        let server = Server::start(kind);
        let through = |proxy: &Proxy| {
            let mut environment = server.environment_at(&proxy.endpoint());
            // A key of Azure signs the conditions, a token does not.
            environment.retain(|(name, _)| name != "AZURE_STORAGE_KEY");
            environment.push(("AZURE_STORAGE_SAS_TOKEN".to_owned(), azurite::SAS.to_owned()));
            S3Store::open_with(&server.url("uwf"), environment).unwrap()
        };
        let proxy = Proxy::start(&server.endpoint(), Duration::ZERO, |_| Fate::LosesItsConditions);
        let store = through(&proxy);
        let error = store.init().unwrap_err();
        assert_eq!(error.fault, RemoteFault::Unfit);
        assert!(error.message.starts_with(&format!("the server `{name}")), "{error}");
        let told = format!("it writes a replacement for an object that does not exist ({if_same})");
        assert!(error.message.ends_with(&format!("has no conditional writes, because {told}")), "{error}");
        assert_eq!(heads_error(&store).fault, RemoteFault::NotReady, "it was not made ready");

        // One that knows the other condition only, as some do.
        let proxy = Proxy::start(&server.endpoint(), Duration::ZERO, |passing| match passing.number {
            // The mark, the listing and the first try.
            0..=3 => Fate::Passes,
            _ => Fate::LosesItsConditions,
        });
        let error = through(&proxy).init().unwrap_err();
        assert_eq!(error.fault, RemoteFault::Unfit);
        let told = format!("it replaces an object that must stay ({if_none})");
        assert!(error.message.ends_with(&told), "{error}");
    }
}

#[test]
fn server_without_date_header_is_rejected() {
    let server = Server::start(Kind::Google);
    let proxy = Proxy::start(&server.endpoint(), Duration::ZERO, |_| Fate::LosesItsDate);
    let store = S3Store::open_with(&server.url("uwf"), server.environment_at(&proxy.endpoint())).unwrap();
    let error = store.init().unwrap_err();
    let message = "the server `bucket in memory` does not send the time: its answers have no `Date`, so the leases of \
                   a machine that is gone would never expire";
    assert_eq!((error.fault, &*error.message), (RemoteFault::Unfit, message));
    assert_eq!(heads_error(&store).fault, RemoteFault::NotReady, "it was not made ready");
}

#[test]
fn a_server_that_is_not_there_is_unreachable() {
    let mut server = Server::start(Kind::Moto);
    let store = server.fresh();
    let unused = server.store("s3://team/store-1");
    server.kill();
    for error in [heads_error(&store), objects_error(&unused), unused.init().unwrap_err()] {
        assert_eq!(error.fault, RemoteFault::Unreachable);
        assert!(error.message.contains("127.0.0.1 does not answer: "), "{error}");
    }
    let host = ("AWS_ENDPOINT_URL".to_owned(), "http://no-such-host.invalid".to_owned());
    let environment = server.environment().into_iter().chain([host]);
    let error = S3Store::open_with("s3://team/uwf", environment).unwrap().init().unwrap_err();
    assert_eq!(error.fault, RemoteFault::Unreachable);
    assert!(error.message.starts_with("cannot read format.json: no-such-host.invalid does not answer: "), "{error}");
}

#[test]
fn unreadable_head_is_error_not_missing() {
    let server = Server::start(Kind::Moto);
    let store = server.fresh();
    put(&server, "/team/store-1/heads/broken@1", "{");
    put(&server, "/team/store-1/heads/README", "not ours");
    for error in [store.read("broken").unwrap_err(), HeadBackend::list(&store).unwrap_err()] {
        let HeadsError::Unreadable { path, .. } = &error else { panic!("{error:?}") };
        assert_eq!(path.to_str(), Some("s3://team/store-1/heads/broken@1"));
    }
    put(&server, "/team/store-1/nodes/README", "not ours");
    let strays: Vec<String> = store.strays().unwrap().into_iter().map(|stray| stray.name).collect();
    assert_eq!((strays, ObjectBackend::list(&store, None).unwrap()), (vec!["nodes/README".to_owned()], vec![]));
}
