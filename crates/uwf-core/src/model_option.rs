//! The model that the arguments of a known program name.

/// Programs that take `--model NAME`, and the short form if they have one.
const PROGRAMS: [(&str, Option<&str>); 5] =
    [("claude", None), ("codex", Some("-m")), ("cursor-agent", None), ("gemini", Some("-m")), ("opencode", Some("-m"))];

/// The option that all these programs have.
pub const LONG: &str = "--model";

/// Whether uwf knows how a program takes its model.
#[must_use]
pub fn is_known(command: &str) -> bool {
    entry(command).is_some()
}

/// The model in the arguments of a command; `None` if they name none, or if the program is unknown.
#[must_use]
pub fn in_arguments(command: &str, args: &[String]) -> Option<String> {
    let (_, short) = entry(command)?;
    let options = || [Some(LONG), short].into_iter().flatten();
    let mut words = args.iter();
    let found = words.find_map(|word| {
        let joined = options().find_map(|option| word.strip_prefix(option)?.strip_prefix('='));
        joined.map(|model| Some(model.to_owned())).or_else(|| options().any(|option| word == option).then_some(None))
    })?;
    found.or_else(|| words.next().cloned())
}

/// The short form of the option, if the program is known and has one.
#[must_use]
pub fn short(command: &str) -> Option<&'static str> {
    entry(command)?.1
}

fn entry(command: &str) -> Option<(&'static str, Option<&'static str>)> {
    let program = command.rsplit('/').next().unwrap_or(command);
    PROGRAMS.into_iter().find(|(name, _)| *name == program)
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_programs_name_their_model() {
        let model = |command: &str, args: &[&str]| {
            super::in_arguments(command, &args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
        };
        let big = Some("big".to_owned());
        assert_eq!(model("/usr/bin/codex", &["exec", "-m", "big", "-"]), big);
        assert_eq!(model("claude", &["-p", "--model=big"]), big);
        assert_eq!(model("gemini", &["--model", "big"]), big);
        assert_eq!(model("claude", &["-m", "big"]), None, "it has no such option");
        assert_eq!((model("python3", &["-m", "big"]), model("codex", &["exec", "--model"])), (None, None));
    }
}
