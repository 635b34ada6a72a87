//! Settings as pages show them.

use serde_json::Value;

use super::secret::Secrets;
use super::settings::{Config, SETTINGS, Setting};

/// A setting as pages show it.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingShown {
    /// The setting's path.
    pub name: &'static str,
    /// Value in effect.
    pub value: Value,
    /// True if the value is the default one.
    pub is_default: bool,
}

impl Config {
    /// Every setting in the order of the table.
    pub fn shown(&self) -> Vec<SettingShown> {
        let defaults = Self::default();
        let shown = |setting: &Setting| SettingShown {
            name: setting.name,
            is_default: (setting.show)(self) == (setting.show)(&defaults),
            value: setting.shown(self, Secrets::Hidden),
        };
        SETTINGS.iter().map(shown).collect()
    }
}
