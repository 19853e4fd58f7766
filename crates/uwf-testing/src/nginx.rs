//! Debian's nginx, in front of another server.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::processes::until;

/// A running nginx, which is killed when the value is dropped.
pub struct NginxServer {
    process: Child,
}

impl Drop for NginxServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl NginxServer {
    /// Starts it with these `http` settings and its own directory of files, and waits until it listens on `port` of 127.0.0.1, which the
    /// settings must contain.
    ///
    /// # Panics
    /// If it is not installed, or does not listen in time.
    pub fn start(dir: &Path, port: u16, http: &str) -> NginxServer {
        std::fs::create_dir_all(dir).expect("a directory can be made");
        let temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {}/{kind};", dir.display()))
            .join("\n");
        // Settings of a process that is not a system service.
        let settings = format!(
            "daemon off; master_process off; pid {dir}/nginx.pid; error_log {dir}/error.log;\nevents {{}}\n\
             http {{\naccess_log off; {temp}\n{http}\n}}\n",
            dir = dir.display(),
        );
        let (file, log) = (dir.join("nginx.conf"), dir.join("error.log"));
        std::fs::write(&file, settings).expect("its settings can be written");
        let mut command = Command::new("nginx");
        command.arg("-e").arg(&log).arg("-c").arg(&file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Debian's directory of nginx, which is not on every user's PATH.
        command.env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()));
        let nginx = NginxServer { process: command.spawn().expect("nginx is installed; ./test --tools installs it") };
        until("nginx listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        nginx
    }
}
