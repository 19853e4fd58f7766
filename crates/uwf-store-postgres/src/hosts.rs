//! The hosts of a URL and their ports.

use std::net::ToSocketAddrs as _;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::fault::PostgresFailure;

/// Default port.
const PORT: u16 = 5432;

/// The port of the host at a position.
pub(crate) fn port(config: &Config, position: usize) -> u16 {
    config.get_ports().get(position).or_else(|| config.get_ports().first()).copied().unwrap_or(PORT)
}

/// Drops the empty host of `postgres://user@:port/database?host=/directory`; its port is the socket's.
pub(crate) fn with_named_hosts(config: Config) -> Config {
    let is_named = |host: &Host| *host != Host::Tcp(String::new());
    if config.get_hosts().iter().all(is_named) {
        return config;
    }
    let mut named = without_hosts(&config);
    for (position, host) in config.get_hosts().iter().enumerate().filter(|(_, host)| is_named(host)) {
        match host {
            Host::Tcp(name) => named.host(name),
            Host::Unix(path) => named.host_path(path),
        };
        named.port(port(&config, position));
    }
    named
}

/// The same configuration without any hosts.
fn without_hosts(config: &Config) -> Config {
    let mut copy = Config::new();
    config.get_user().map(|user| copy.user(user));
    config.get_password().map(|password| copy.password(password));
    config.get_dbname().map(|name| copy.dbname(name));
    config.get_options().map(|options| copy.options(options));
    config.get_application_name().map(|name| copy.application_name(name));
    config.get_connect_timeout().map(|limit| copy.connect_timeout(*limit));
    config.get_tcp_user_timeout().map(|limit| copy.tcp_user_timeout(*limit));
    config.get_keepalives_interval().map(|interval| copy.keepalives_interval(interval));
    config.get_keepalives_retries().map(|retries| copy.keepalives_retries(retries));
    copy.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts());
    copy
}

/// The configuration with the addresses of each host. The runtime would resolve them on another thread, and a program that forks must not
/// have threads. An unknown host is an error only if no other host is known.
pub(crate) fn resolved(config: &Config) -> Result<Config, PostgresFailure> {
    let is_socket = |host: &Host| matches!(host, Host::Unix(_));
    if !config.get_hostaddrs().is_empty() || config.get_hosts().iter().any(is_socket) {
        return Ok(config.clone());
    }
    let mut resolved = without_hosts(config);
    let mut unknown = None;
    for (position, host) in config.get_hosts().iter().enumerate() {
        let Host::Tcp(name) = host else { continue };
        match (name.as_str(), port(config, position)).to_socket_addrs() {
            Ok(addresses) => addresses.for_each(|address| {
                resolved.host(name).hostaddr(address.ip()).port(address.port());
            }),
            Err(error) => unknown = Some(PostgresFailure::Name(name.clone(), error)),
        }
    }
    match unknown {
        Some(failure) if resolved.get_hosts().is_empty() => Err(failure),
        _ => Ok(resolved),
    }
}
