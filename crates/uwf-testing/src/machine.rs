//! A real `uwf connect` process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;

use crate::TestHome;
use crate::processes::until;
use crate::server::limited;

/// A machine that connects to a gateway. It is killed when the value is dropped.
pub struct TestMachine {
    process: Child,
    said: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl TestMachine {
    /// Starts `uwf connect` with these environment variables.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(home: &TestHome, args: &[&str], environment: &[(&str, &str)]) -> TestMachine {
        TestMachine::spawn_connect(home.command(&["connect"]), args, environment)
    }

    /// The same, with limits set by `ulimit`.
    ///
    /// # Panics
    /// As [`TestMachine::start`].
    pub fn start_limited(home: &TestHome, args: &[&str], environment: &[(&str, &str)], limits: &str) -> TestMachine {
        TestMachine::spawn_connect(limited(home, &home.command(&["connect"]), limits), args, environment)
    }

    fn spawn_connect(mut command: Command, args: &[&str], environment: &[(&str, &str)]) -> TestMachine {
        command.args(args).envs(environment.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let process = command.spawn().expect("uwf connect starts");
        let mut machine = TestMachine { process, said: Arc::default(), reader: None };
        let stderr = machine.process.stderr.take().expect("its stderr is a pipe");
        let said = machine.said.clone();
        machine.reader = Some(std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut said = said.lock();
                said.push_str(&line);
                said.push('\n');
            }
        }));
        machine
    }

    /// Its stderr so far.
    pub fn said(&self) -> String {
        self.said.lock().clone()
    }

    /// Waits until its stderr contains a text this many times.
    ///
    /// # Panics
    /// If it does not.
    pub fn says(&self, text: &str, times: usize) {
        until(&format!("it says {text:?}: {}", self.said()), || self.said().matches(text).count() >= times);
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Its exit code, after it has exited and its output was read.
    ///
    /// # Panics
    /// If it does not exit.
    pub fn code(&mut self) -> Option<i32> {
        until("the machine ends", || self.process.try_wait().expect("a child can be waited for").is_some());
        if let Some(reader) = self.reader.take() {
            reader.join().expect("its stderr can be read");
        }
        self.process.wait().expect("a child can be waited for").code()
    }

    /// Kills it with SIGKILL and waits for its exit.
    ///
    /// # Panics
    /// If waiting fails.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        self.process.wait().expect("a child can be waited for");
    }
}

impl Drop for TestMachine {
    fn drop(&mut self) {
        self.kill();
    }
}
