//! Providers with a known address.

use crate::endpoint::LlmWireFormat;

/// A provider, as its documentation describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderPreset {
    /// Name in a configuration.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Base URL.
    pub base_url: &'static str,
    /// Environment variable with the key, as the provider's own tools use it; `None` for a server that needs no key.
    pub key_variable: Option<&'static str>,
    /// Format of requests and replies.
    pub wire: LlmWireFormat,
}

/// The providers, commercial ones first.
pub const PRESETS: [ProviderPreset; 10] = [
    hosted("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    ProviderPreset {
        wire: LlmWireFormat::Anthropic,
        ..hosted("anthropic", "Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY")
    },
    hosted("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    hosted("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    hosted("gemini", "Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    hosted("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    hosted("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY"),
    hosted("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    local("ollama", "Ollama", "http://localhost:11434/v1"),
    local("lmstudio", "LM Studio", "http://localhost:1234/v1"),
];

/// The preset with this name, in any case.
#[must_use]
pub fn preset(name: &str) -> Option<&'static ProviderPreset> {
    PRESETS.iter().find(|preset| preset.name.eq_ignore_ascii_case(name))
}

const fn hosted(
    name: &'static str,
    title: &'static str,
    base_url: &'static str,
    variable: &'static str,
) -> ProviderPreset {
    ProviderPreset { name, title, base_url, key_variable: Some(variable), wire: LlmWireFormat::OpenAi }
}

const fn local(name: &'static str, title: &'static str, base_url: &'static str) -> ProviderPreset {
    ProviderPreset { name, title, base_url, key_variable: None, wire: LlmWireFormat::OpenAi }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_speaks_what_its_address_says() {
        for preset in PRESETS {
            assert_eq!(LlmWireFormat::for_base_url(preset.base_url), preset.wire, "{}", preset.name);
            assert!(!preset.base_url.ends_with('/'));
        }
    }
}
