//! Encrypted connections, and whom they trust.

use std::fs;
use std::path::{Path, PathBuf};

use json_cas::{HeadBackend, HeadsError, ObjectBackend as _, RemoteError, RemoteFault};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair};
use tempfile::TempDir;
use uwf_store_postgres::PostgresStore;

use crate::server::Server;
use crate::worker;

const TEST: &str = "tls::server_certificate_is_checked_according_to_mode";

/// Encrypted connections only, but for the superuser by the socket.
const ENCRYPTED: &str = "local all postgres trust\nhostssl all ann 127.0.0.1/32 trust\n";

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A server whose certificate is for `localhost`, and two files: of its authority, and of another one.
fn encrypted(dir: &Path) -> (Server, PathBuf, PathBuf) {
    let (right, wrong) = (authority("right"), authority("wrong"));
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &right).unwrap();
    let files = [dir.join("right.pem"), dir.join("wrong.pem")];
    fs::write(&files[0], right.pem()).unwrap();
    fs::write(&files[1], wrong.pem()).unwrap();
    let settings = ["ssl=on", "ssl_cert_file=server.crt", "ssl_key_file=server.key"];
    let server = Server::with(&settings, ENCRYPTED, |data| {
        fs::write(data.join("server.crt"), certificate.pem()).unwrap();
        fs::write(data.join("server.key"), key.serialize_pem()).unwrap();
    });
    let [right, wrong] = files;
    (server, right, wrong)
}

fn tried(url: &str) -> Result<(), RemoteError> {
    match HeadBackend::list(&PostgresStore::open(url)?) {
        Ok(_) => Ok(()),
        Err(HeadsError::Remote(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

fn denied(url: &str, why: &str) {
    let error = tried(url).unwrap_err();
    assert_eq!(error.fault, RemoteFault::Denied, "{error}");
    assert!(error.message.contains(why), "{error}");
}

#[test]
fn server_certificate_is_checked_according_to_mode() {
    if let Some((part, url)) = worker::part() {
        return match part.as_str() {
            "trusted" => worker::tell(tried(&url).is_ok()),
            _ => worker::tell(tried(&url).unwrap_err().message),
        };
    }
    let dir = TempDir::new().unwrap();
    let (server, right, wrong) = encrypted(dir.path());
    let url = |host: &str, mode: &str, roots: Option<&Path>| {
        let roots = roots.map(|path| format!("&sslrootcert={}", path.display())).unwrap_or_default();
        format!("postgres://ann@{host}:{}/work?sslmode={mode}{roots}", server.port)
    };
    let store = PostgresStore::open(&url("localhost", "verify-full", Some(&right))).unwrap();
    assert!(store.init().unwrap());
    let _hold = store.hold().unwrap();
    let encrypted = "select ssl from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'ann'";
    assert_eq!(server.sql("work", encrypted), ["t"]);

    let issuer = "invalid peer certificate: UnknownIssuer";
    denied(&url("localhost", "verify-full", Some(&wrong)), issuer);
    denied(&url("localhost", "verify-ca", Some(&wrong)), issuer);
    denied(&url("localhost", "require", Some(&wrong)), issuer);
    denied(&url("localhost", "verify-full", Some(Path::new("system"))), issuer);
    denied(&url("127.0.0.1", "verify-full", Some(&right)), "certificate not valid for name \"127.0.0.1\"");
    tried(&url("127.0.0.1", "verify-ca", Some(&right))).unwrap();
    denied(&url("localhost", "disable", None), "no pg_hba.conf entry for host");
    let missing = dir.path().join("missing.pem");
    denied(&url("localhost", "verify-full", Some(&missing)), "missing.pem (sslrootcert): No such file");
    fs::write(&missing, "nothing").unwrap();
    denied(&url("localhost", "verify-full", Some(&missing)), "missing.pem (sslrootcert): it has none");

    // What is at home decides where the URL names no roots.
    let home = TempDir::new().unwrap();
    let child = |part: &str, mode: &str| {
        let mut child = worker::child(TEST, part, &url("localhost", mode, None));
        worker::outcome(child.env("HOME", home.path()).spawn().unwrap())
    };
    for mode in ["prefer", "require"] {
        assert_eq!(child("trusted", mode), "true", "nothing is checked: {mode}");
    }
    for mode in ["verify-ca", "verify-full"] {
        assert!(child("refused", mode).contains("root.crt (sslrootcert): No such file"));
    }
    fs::create_dir(home.path().join(".postgresql")).unwrap();
    fs::copy(&right, home.path().join(".postgresql/root.crt")).unwrap();
    assert_eq!(child("trusted", "verify-full"), "true");
    fs::copy(&wrong, home.path().join(".postgresql/root.crt")).unwrap();
    assert!(child("refused", "require").contains(issuer));
}

#[test]
fn server_without_tls_is_rejected_unless_allowed() {
    let server = Server::start();
    server.store("uwf");
    let url = |mode: &str| format!("{}&sslmode={mode}", server.url("uwf"));
    denied(&url("require"), "server does not support TLS");
    denied(&url("verify-full&sslrootcert=system"), "server does not support TLS");
    tried(&url("prefer")).unwrap();
    tried(&url("disable")).unwrap();
    // There is none on a socket, and nobody else can hear it.
    let socket =
        format!("postgres://postgres@:{}/work?host={}&sslmode=require", server.port, server.socket().display());
    tried(&socket).unwrap();
}
