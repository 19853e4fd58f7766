//! HTTPS for real: moto with a certificate of its own, and a store that trusts it or not.

use std::fs;
use std::process::{Child, Command, Stdio};

use json_cas::{HeadBackend, NodeHash, RemoteFault, SwapOutcome};
use tempfile::TempDir;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use uwf_store_s3::S3Store;
use uwf_testing::installed::{free_ports, programs};
use uwf_testing::processes::until;
use uwf_testing::s3_server::environment;

/// A process that is ended when the value is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes the bucket, as somebody who trusts the certificate.
fn makes_bucket(endpoint: &str, pem: &str) -> bool {
    let certificate = Certificate::from_pem(pem.as_bytes()).unwrap();
    let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[certificate])).build();
    let agent = ureq::Agent::config_builder().tls_config(tls).proxy(None).build().new_agent();
    agent.put(format!("{endpoint}/team")).send_empty().is_ok()
}

#[test]
fn certificate_from_environment_is_trusted() {
    let dir = TempDir::new().unwrap();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (dir.path().join("own.pem"), dir.path().join("key.pem"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let port = free_ports(1)[0].to_string();
    let mut command = Command::new(programs("s3-servers.sh").join("moto_server"));
    command.args(["-H", "127.0.0.1", "-p", &port, "-c"]).arg(&certificate).arg("-k").arg(&key);
    let _server = Ended(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let endpoint = format!("https://127.0.0.1:{port}");
    until("the bucket is made", || makes_bucket(&endpoint, &made.cert.pem()));

    let open = |roots: Option<&str>| {
        let roots = roots.map(|file| ("SSL_CERT_FILE".to_owned(), file.to_owned()));
        S3Store::open_with("s3://team/uwf", environment(&endpoint, "any", "hush").into_iter().chain(roots)).unwrap()
    };
    let store = open(certificate.to_str());
    assert!(store.init().unwrap());
    assert_eq!(store.create("a", NodeHash::from_u64(1)).unwrap(), SwapOutcome::Done);

    let stranger = open(None).init().unwrap_err();
    assert_eq!(stranger.fault, RemoteFault::Unreachable);
    assert!(
        stranger.message.contains("127.0.0.1 does not answer: ") && stranger.message.contains("certificate"),
        "{stranger}"
    );

    let missing = dir.path().join("missing.pem").display().to_string();
    let error = open(Some(&missing)).init().unwrap_err();
    assert_eq!(error.fault, RemoteFault::Unreachable);
    assert!(
        error.message.starts_with(&format!("the certificates in {missing} (SSL_CERT_FILE) cannot be read: ")),
        "{error}"
    );
}
