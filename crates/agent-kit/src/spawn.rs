//! Starting the program an agent is made of.

use std::process::Command;

use uwf_engine::attempt::recorded::Opened;

/// Gives a program the variables its agent is to have, and takes from it every configured secret that the agent was not
/// given by `env`. The agent process itself may hold the key of the model that extracts; what it starts must not.
pub fn without_secrets(command: &mut Command, opened: &Opened) {
    let spec = &opened.agent;
    for name in opened.secrets.iter().filter(|name| !spec.env.contains(name)) {
        command.env_remove(name);
    }
    command.envs(spec.variables());
}
