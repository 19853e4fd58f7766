//! Values of the settings of messengers.

use uwf_core::config::NotifySetting;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::env_file;
use uwf_engine::root::home::Home;

use crate::error::CommandError;

/// The value of a variable of the environment or `.env`.
pub(super) fn variable(home: &Home, name: &str) -> Result<String, CommandError> {
    let value = env_file::value_of(name, &env_file::read(&home.env_file())?).map(|value| value.trim().to_owned());
    value.filter(|value| !value.is_empty()).ok_or_else(|| {
        CommandError::new(ErrorKind::Config, format!("`notify` needs the variable {name}, which is not set"))
            .hint(format!("put it into the environment or into .env: {name}=…"))
    })
}

/// The value of a setting.
pub(super) fn value(home: &Home, setting: &NotifySetting) -> Result<String, CommandError> {
    match setting {
        NotifySetting::Text(text) => Ok(text.clone()),
        NotifySetting::Variable(name) => variable(home, name),
    }
}

/// A setting for people, without a secret.
pub(super) fn shown(setting: &NotifySetting) -> String {
    match setting {
        NotifySetting::Text(text) => text.clone(),
        NotifySetting::Variable(name) => format!("${name}"),
    }
}
