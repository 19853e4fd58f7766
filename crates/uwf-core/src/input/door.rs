//! How the values of a new thread come to uwf.

/// How the values for a new thread come to uwf. Messages and hints use the words of the one who gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputDoor {
    /// Options of a command line.
    #[default]
    CommandLine,
    /// The member `input` of a request by a program.
    Request,
    /// The expressions of a hook.
    Hook,
}

impl InputDoor {
    /// How to give the missing values with these names.
    #[must_use]
    pub fn hint(self, missing: &[&str]) -> String {
        match self {
            InputDoor::CommandLine => {
                let options: Vec<String> = missing.iter().map(|name| format!("--set {name}=…")).collect();
                format!("add {}", options.join(" "))
            }
            InputDoor::Request => format!("add {} to `input`", quoted(missing)),
            InputDoor::Hook => format!("add {} to `start.input` of the hook", quoted(missing)),
        }
    }

    /// The place of an assignment to a name.
    pub(super) fn place(self, name: &str) -> String {
        match self {
            InputDoor::CommandLine => format!("--set {name}"),
            InputDoor::Request | InputDoor::Hook => format!("input.{name}"),
        }
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
