//! Starting the program an agent is made of.

use std::process::Command;

use uwf_engine::attempts::Opened;

/// Takes from a program every configured secret that its agent was not given by `env`. The agent process itself may
/// hold the key of the model that extracts; what it starts must not.
pub fn without_secrets(command: &mut Command, opened: &Opened) {
    for name in opened.secrets.iter().filter(|name| !opened.agent.env.contains(name)) {
        command.env_remove(name);
    }
}
