//! Passes the hints of a role (model, effort) to the programs whose options are known. Options that are set in `args` win.

use uwf_core::model_option;
use uwf_engine::attempt::agents::AgentSpec;

/// The options of a program.
struct ProgramOptions {
    program: &'static str,
    /// The subcommand before the options.
    subcommand: Option<&'static str>,
    /// The option and the form of the value that set the effort.
    effort: Option<(&'static str, &'static str)>,
}

/// The programs, by the file name of their command.
const KNOWN: [ProgramOptions; 5] = [
    ProgramOptions { program: "claude", subcommand: None, effort: None },
    ProgramOptions { program: "codex", subcommand: Some("exec"), effort: Some(("-c", "model_reasoning_effort=")) },
    ProgramOptions { program: "gemini", subcommand: None, effort: None },
    ProgramOptions { program: "opencode", subcommand: Some("run"), effort: None },
    ProgramOptions { program: "cursor-agent", subcommand: None, effort: None },
];

/// The arguments with the hints of the role.
pub(crate) fn with(spec: &AgentSpec, mut args: Vec<String>) -> Vec<String> {
    let name = spec.command.rsplit('/').next().unwrap_or_default();
    let Some(known) = KNOWN.iter().find(|known| known.program == name) else { return args };
    let at = usize::from(known.subcommand.is_some_and(|word| args.first().is_some_and(|first| first == word)));
    let mut hints = Vec::new();
    if let Some(model) = spec.hints.model.as_ref().filter(|_| model_option::in_arguments(name, &args).is_none()) {
        hints.extend([model_option::LONG.to_owned(), model.clone()]);
    }
    if let (Some(effort), Some((option, form))) = (&spec.hints.effort, known.effort)
        && !args.iter().any(|arg| arg.contains(form))
    {
        hints.extend([option.to_owned(), format!("{form}{effort}")]);
    }
    args.splice(at..at, hints);
    args
}

#[cfg(test)]
mod tests {
    use uwf_core::config::AgentConfig;
    use uwf_engine::attempt::agents::{AgentHints, AgentSpec};

    fn args(command: &str, args: &[&str]) -> String {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let hints = AgentHints { model: Some("big".to_owned()), effort: Some("high".to_owned()) };
        let spec = AgentSpec { hints, ..AgentSpec::new("a", &AgentConfig::from_command(command, args.clone())) };
        super::with(&spec, args).join(" ")
    }

    #[test]
    fn known_programs_get_options_they_lack() {
        assert_eq!(args("claude", &["-p"]), "--model big -p");
        assert_eq!(args("/usr/bin/codex", &["exec", "-"]), "exec --model big -c model_reasoning_effort=high -");
        assert_eq!(args("codex", &["exec", "-m", "small", "-"]), "exec -c model_reasoning_effort=high -m small -");
        assert_eq!(args("opencode", &["run"]), "run --model big");
        assert_eq!(args("my-agent", &["-x"]), "-x");
    }
}
