//! Starts the program that an agent runs.

use std::process::Command;

use uwf_engine::attempt::recorded::AttemptOpening;

/// Sets the agent's variables for a program, and removes every configured secret that the agent's `env` does not include. The agent process
/// itself may have the key of the extraction model; the programs that it starts must not.
pub fn without_secrets(command: &mut Command, opened: &AttemptOpening) {
    let spec = &opened.agent;
    for name in opened.secrets.iter().filter(|name| !spec.env.contains(name)) {
        command.env_remove(name);
    }
    command.envs(spec.variables());
}
