//! Who one is to Azure and Google: what is found in the environment and in files, what is said when nothing is, and that no key is kept.

use serde_json::json;
use tempfile::TempDir;
use uwf_testing::azurite::{self, AzuriteServer};
use uwf_testing::bucket::BucketServer;

use crate::machine::Machine;

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn machine(variables: Vec<(String, String)>) -> (Machine, TempDir) {
    let dir = TempDir::new().unwrap();
    (Machine::new(variables, &dir.path().join("ledger")), dir)
}

/// Exit code and message of a command that needs the store.
fn refused(variables: Vec<(String, String)>) -> (Option<i32>, String) {
    let (machine, _dir) = machine(variables);
    let ran = machine.uwf(&["thread", "list"]);
    assert!(!ran.stderr.contains("hush"), "{}", ran.stderr);
    (ran.code, ran.stderr)
}

fn is_refused(variables: Vec<(String, String)>, code: i32, told: &[&str]) {
    let (ended, message) = refused(variables);
    assert_eq!(ended, Some(code), "{message}");
    for told in told {
        assert!(message.contains(told), "`{told}` is not told: {message}");
    }
}

#[test]
fn azure_connection_string_connects_without_storing_key() {
    let server = AzuriteServer::start();
    let endpoint = format!("{}/{}", server.endpoint(), azurite::ACCOUNT);
    let connection = format!("AccountName={};AccountKey={};BlobEndpoint={endpoint}/", azurite::ACCOUNT, azurite::KEY);
    let url = server.url("uwf");
    let (here, _dir) = machine(pairs(&[("UWF_STORE_URL", &url), ("AZURE_STORAGE_CONNECTION_STRING", &connection)]));
    here.home.config(
        "agents:\n  paid: { command: paid, output: json, env: [AZURE_STORAGE_CONNECTION_STRING] }\ndefaultAgent: paid\n",
    );
    let thread = here.begin();
    let tells = "#!/bin/sh\ncat > /dev/null\n\
        key=$(printf %s \"$AZURE_STORAGE_CONNECTION_STRING\" | sed 's/.*AccountKey=//; s/;.*//')\n\
        echo \"{\\\"n\\\": 1, \\\"note\\\": \\\"$key and $AZURE_STORAGE_CONNECTION_STRING\\\"}\"\n";
    here.home.script("paid", tells);
    here.step(&thread);
    let nodes = here.json(&["cas", "list"]);
    let nodes = nodes.as_array().unwrap().iter().map(|node| node["hash"].as_str().unwrap());
    let all: String = nodes.map(|hash| here.uwf(&["cas", "get", hash]).stdout).collect();
    assert!(all.contains("[redacted AZURE_STORAGE_CONNECTION_STRING]"), "{all}");
    assert!(!all.contains(azurite::KEY), "the key was stored");
}

#[test]
fn azure_says_what_is_missing() {
    let server = AzuriteServer::start();
    let with = |more: &[(&str, &str)]| {
        let mut variables = server.variables("uwf");
        variables.extend(pairs(more));
        variables
    };
    let url = ("UWF_STORE_URL", "az://team/uwf");
    is_refused(
        pairs(&[url]),
        78,
        &["the storage account is missing: set AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY holds its key"],
    );
    is_refused(with(&[("AZURE_STORAGE_KEY", "aHVzaA==")]), 78, &["403 AuthorizationFailure", "AZURE_STORAGE_KEY"]);
    is_refused(
        with(&[("UWF_STORE_URL", "az://nobody/uwf")]),
        69,
        &["the store az://nobody/uwf: the container nobody does not exist", "create the container first"],
    );
    let by_account = "abfss://team@me.dfs.core.windows.net/uwf";
    is_refused(pairs(&[("UWF_STORE_URL", by_account)]), 78, &["az://CONTAINER/PREFIX", "AZURE_STORAGE_ACCOUNT"]);
    let blob = "https://me.blob.core.windows.net/team";
    is_refused(pairs(&[("UWF_STORE_URL", blob)]), 78, &["a store is s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://"]);
    let signed = "az://team/uwf?sv=2021-12-02&sig=hush";
    is_refused(pairs(&[("UWF_STORE_URL", signed)]), 78, &["don't put keys into the URL"]);
}

/// The server that gives tokens is not the store: what it answers is told as what it is.
#[test]
fn rejected_azure_login_is_reported() {
    let (server, login) = (AzuriteServer::start(), BucketServer::start_google());
    let mut variables = server.variables("uwf");
    variables.retain(|(name, _)| name != "AZURE_STORAGE_KEY");
    variables.extend(pairs(&[
        ("AZURE_AUTHORITY_HOST", &format!("{}/", login.endpoint())),
        ("AZURE_TENANT_ID", "tenant"),
        ("AZURE_CLIENT_ID", "client"),
        ("AZURE_CLIENT_SECRET", "hush-this-is-secret"),
    ]));
    is_refused(variables, 78, &["127.0.0.1 gives no token: it answered 401"]);
}

#[test]
fn google_credentials_come_from_machine_or_file() {
    let (server, metadata) = (BucketServer::start_google(), BucketServer::start_google());
    let address = metadata.endpoint().trim_start_matches("http://").to_owned();
    let url = server.url("uwf");
    let (of_machine, _dir) = machine(pairs(&[
        ("UWF_STORE_URL", &url),
        ("GOOGLE_BASE_URL", &server.endpoint()),
        ("GCE_METADATA_HOST", &address),
        ("GCE_METADATA_IP", &address),
    ]));
    let thread = of_machine.begin();

    let files = TempDir::new().unwrap();
    let key = std::process::Command::new("openssl").args(["genrsa", "2048"]).output().unwrap();
    let account = json!({
        "type": "service_account",
        "client_email": "uwf@example.iam.gserviceaccount.com",
        "private_key_id": "1",
        "private_key": String::from_utf8(key.stdout).unwrap(),
    });
    let path = files.path().join("account.json");
    std::fs::write(&path, account.to_string()).unwrap();
    let (by_file, _dir) = machine(pairs(&[
        ("UWF_STORE_URL", &url),
        ("GOOGLE_BASE_URL", &server.endpoint()),
        ("GOOGLE_APPLICATION_CREDENTIALS", path.to_str().unwrap()),
    ]));
    assert_eq!(by_file.json(&["thread", "list"])[0]["thread"], thread);
}

#[test]
fn google_says_what_is_missing() {
    let server = BucketServer::start_google();
    let with = |more: &[(&str, &str)]| {
        let mut variables = pairs(&[("UWF_STORE_URL", "gs://team/uwf"), ("GOOGLE_BASE_URL", &server.endpoint())]);
        variables.extend(pairs(more));
        variables
    };
    is_refused(with(&[("GOOGLE_BEARER_TOKEN", "hush")]), 78, &["401 AuthenticationRequired", "Storage Object User"]);
    is_refused(
        with(&[("UWF_STORE_URL", "gs://nobody/uwf"), ("GOOGLE_BEARER_TOKEN", "emulator")]),
        69,
        &["the store gs://nobody/uwf: the bucket nobody does not exist", "create the bucket first"],
    );
    // Nobody listens there.
    let nowhere = [("GCE_METADATA_HOST", "127.0.0.1:9"), ("GCE_METADATA_IP", "127.0.0.1:9")];
    is_refused(with(&nowhere), 78, &["no credentials found: GOOGLE_APPLICATION_CREDENTIALS names no file"]);

    let files = TempDir::new().unwrap();
    let file = |text: &str| {
        let path = files.path().join("credentials.json");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (text, told) in [
        (
            r#"{"type":"external_account","secret":"hush"}"#,
            "are of the type `external_account`, which uwf does not know",
        ),
        (r#"{"secret":"hush"}"#, "it has no `type`"),
        ("hush", "it is not JSON"),
        (
            r#"{"type":"service_account","private_key":"hush"}"#,
            "its credentials cannot be used: Unable to decode service account file: missing field",
        ),
    ] {
        is_refused(with(&[("GOOGLE_APPLICATION_CREDENTIALS", &file(text))]), 78, &[told]);
    }
    let missing = files.path().join("missing.json").to_str().unwrap().to_owned();
    is_refused(with(&[("GOOGLE_APPLICATION_CREDENTIALS", &missing)]), 78, &[&format!("{missing} cannot be read: ")]);
    is_refused(with(&[("GOOGLE_SERVICE_ACCOUNT", &missing)]), 78, &["its credentials cannot be used: ", &missing]);
}
