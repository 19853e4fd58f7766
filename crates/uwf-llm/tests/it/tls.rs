//! HTTPS for real: a TLS server with a certificate of its own, and a client that trusts it or not.
//!
//! Whom a client trusts comes from the environment, so the client is this test binary once more, as a child.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::TempDir;
use uwf_llm::{LlmClient, ModelEndpoint, RetryLimits};

use crate::setting::{KEY, ask, timeouts};

/// Where the child finds the server; without it, the tests are the parent.
const BASE: &str = "UWF_LLM_TEST_BASE";

/// Serves one chat over TLS; returns its base URL, and leaves its certificate in `pem`.
fn serve(pem: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(pem, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        let stream = listener.accept().unwrap().0;
        let mut tls = rustls::StreamOwned::new(rustls::ServerConnection::new(Arc::new(config)).unwrap(), stream);
        let mut request = String::new();
        while !request.ends_with("}]}") {
            let mut piece = [0; 4096];
            match tls.read(&mut piece) {
                Ok(read) if read > 0 => request.push_str(&String::from_utf8_lossy(&piece[..read])),
                // A client that does not trust us.
                _ => return,
            }
        }
        let heard = request.contains(&format!("authorization: Bearer {KEY}"));
        let body = format!(r#"{{"choices":[{{"message":{{"content":"heard {heard}"}},"finish_reason":"stop"}}]}}"#);
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        tls.write_all((head + &body).as_bytes()).unwrap();
    });
    base
}

/// Runs a test of this file in a child, which talks to `base` and trusts the certificates in a file.
fn child(test: &str, base: &str, certificates: Option<&Path>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("tls::{test}"), "--nocapture"]).env(BASE, base).env_remove("SSL_CERT_FILE");
    if let Some(path) = certificates {
        command.env("SSL_CERT_FILE", path);
    }
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}{}", String::from_utf8_lossy(&output.stderr));
}

fn client(base: &str) -> uwf_llm::Result<LlmClient> {
    LlmClient::new(ModelEndpoint::new(base, "m").api_key(KEY), timeouts(), RetryLimits::default())
}

#[test]
fn a_certificate_named_in_the_environment_is_trusted() {
    if let Ok(base) = std::env::var(BASE) {
        assert_eq!(client(&base).unwrap().chat(&ask("go")).unwrap().text, "heard true");
        return;
    }
    let dir = TempDir::new().unwrap();
    let pem = dir.path().join("own.pem");
    child("a_certificate_named_in_the_environment_is_trusted", &serve(&pem), Some(&pem));
}

#[test]
fn untrusted_certificate_is_rejected_immediately_with_hint() {
    if let Ok(base) = std::env::var(BASE) {
        let error = client(&base).unwrap().chat(&ask("go")).unwrap_err();
        let text = format!("cannot use {base}/chat/completions: invalid peer certificate: UnknownIssuer");
        assert_eq!(error.to_string(), text);
        assert!(error.hint().unwrap().contains("SSL_CERT_FILE"));
        return;
    }
    let dir = TempDir::new().unwrap();
    child("untrusted_certificate_is_rejected_immediately_with_hint", &serve(&dir.path().join("own.pem")), None);
}

#[test]
fn file_without_certificates_is_reported() {
    if let Ok(base) = std::env::var(BASE) {
        let error = client(&base).unwrap_err().to_string();
        assert!(error.contains("(SSL_CERT_FILE)"), "{error}");
        return;
    }
    let dir = TempDir::new().unwrap();
    let empty = dir.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for path in [empty, dir.path().join("missing.pem")] {
        child("file_without_certificates_is_reported", "https://localhost/v1", Some(&path));
    }
}
