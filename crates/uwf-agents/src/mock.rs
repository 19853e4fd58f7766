//! Being written.
use uwf_core::thread::ThreadId;
use uwf_engine::error::Result;
use uwf_engine::home::Home;
/// Runs.
///
/// # Errors
/// Never yet.
pub fn run(_home: &Home, _thread: &ThreadId, _role: &str) -> Result<()> { Ok(()) }
