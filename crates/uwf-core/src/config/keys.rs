//! Variables with keys of shared stores and of Temporal. No agent gets one unless its `env` names it.

/// Variables with keys of a store in Amazon S3 or a compatible server, or with the location of such keys.
pub(super) const AMAZON_KEYS: [&str; 9] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
];

/// Google Cloud Storage. `GOOGLE_API_KEY` is missing because it is a key for models, not for buckets.
pub(super) const GOOGLE_KEYS: [&str; 5] = [
    "GOOGLE_BEARER_TOKEN",
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
];

/// Azure Blob Storage.
pub(super) const AZURE_KEYS: [&str; 11] = [
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_MASTER_KEY",
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_TOKEN",
    "AZURE_STORAGE_CLIENT_SECRET",
    "AZURE_CLIENT_SECRET",
    "AZURE_FEDERATED_TOKEN_FILE",
];

/// PostgreSQL.
pub(super) const POSTGRES_KEYS: [&str; 2] = ["PGPASSWORD", "PGPASSFILE"];

/// Whether a variable contains a key of some kind of store, or its location.
#[must_use]
pub fn is_store_key(variable: &str) -> bool {
    let kinds: [&[&str]; 4] = [&AMAZON_KEYS, &GOOGLE_KEYS, &AZURE_KEYS, &POSTGRES_KEYS];
    kinds.iter().any(|keys| keys.contains(&variable))
}

/// Variables with keys of Temporal's clients.
const SECRETS: [&str; 4] =
    ["TEMPORAL_API_KEY", "TEMPORAL_TLS_CLIENT_KEY_DATA", "TEMPORAL_TLS_CLIENT_CERT_DATA", "TEMPORAL_CODEC_AUTH"];

/// Prefix of variables that set request headers, which may contain keys.
const HEADERS: &str = "TEMPORAL_GRPC_META_";

/// Whether a variable may contain a key of Temporal's clients. No agent gets one unless its `env` names it.
#[must_use]
pub fn is_temporal_key(variable: &str) -> bool {
    SECRETS.contains(&variable) || variable.starts_with(HEADERS)
}
