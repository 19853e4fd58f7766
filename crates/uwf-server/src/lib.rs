//! The web pages, the HTTP API and the gateway of uwf.
//!
//! It is a separate crate because only the server needs an asynchronous runtime and an HTTP server. The server keeps no state and runs no
//! verb itself. It reads a storage root like the commands (`app.rs`), and starts `uwf … --format json` for every change (`changes.rs`). So
//! several servers, commands and cron can work on one root, and a killed server loses nothing.

mod api;
mod app;
mod assets;
mod call;
mod changes;
mod command_line;
mod connect;
mod drawn;
mod entry;
mod failure;
mod fields;
mod filter;
mod forward;
mod gateway;
mod guard;
mod headers;
mod hooks;
mod listener;
mod machines;
mod markdown;
mod metrics;
mod named;
mod open_files;
mod pages;
mod place;
mod reader;
mod refusal;
mod respond;
mod serve;
mod tls;
mod tunnel;
mod untrusted_html;
mod url;
mod watch;

pub use call::{ApiRequest, call};
pub use command_line::{ArgumentHelp, ArgumentKind, CommandHelp, CommandLine, WAIT_OPTION, json_name};
pub use connect::{ConnectError, ConnectEvent, ConnectSettings, GatewayUrl, NotAUrl, connect};
pub use guard::token::{SECRET_VARIABLE, ServerSecret};
pub use hooks::is_hook_secret;
pub use machines::name::{MachineName, NotAName};
pub use machines::tokens::{MACHINE_TOKEN_VARIABLE, MachineTokens, StoredMachineToken, TokenError};
pub use open_files::give_back_open_files;
pub use serve::{ListeningServer, ServeError, ServeSettings, serve};
pub use tls::{CertificateFiles, ServerTlsError};
