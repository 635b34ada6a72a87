//! Origins of values.

use std::fmt;
use std::path::PathBuf;

use super::settings::{Applies, SETTINGS, Setting};

/// The source of a value of a setting, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The value is the default.
    Default,
    /// A line of the file, counted from 1.
    File(PathBuf, usize),
    /// An environment variable.
    Variable(String),
    /// A flag.
    CommandLine(String),
    /// A file that holds nothing but the value, and the origin of its path.
    SecretFile(PathBuf, Box<Self>),
}

/// The origin of every setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins(Vec<Origin>);

impl Origins {
    /// Every value is the default.
    pub(super) fn defaults() -> Self {
        Self(vec![Origin::Default; SETTINGS.len()])
    }

    pub(super) fn set(&mut self, setting_idx: usize, origin: Origin) {
        self.0[setting_idx] = origin;
    }

    /// In the order of the table of settings.
    pub(super) fn all(&self) -> &[Origin] {
        &self.0
    }

    /// The origin of a setting; `None` if there is no such setting.
    pub fn of(&self, name: &str) -> Option<&Origin> {
        let setting_idx = SETTINGS.iter().position(|setting| setting.name == name);
        self.0.get(setting_idx?)
    }

    /// These origins for the settings that a reload applies, and those of the running server for
    /// the rest.
    #[must_use]
    pub fn applied_over(&self, running: &Self) -> Self {
        let pairs = SETTINGS.iter().zip(self.0.iter().zip(&running.0));
        let origin = |(setting, (new, old)): (&Setting, (&Origin, &Origin))| match setting.applies {
            Applies::AtReload => new.clone(),
            Applies::AtStart => old.clone(),
        };
        Self(pairs.map(origin).collect())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) => write!(f, "{} line {line}", path.display()),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::CommandLine(flag) => write!(f, "command line {flag}"),
            Self::SecretFile(path, by) => write!(f, "{} ({by})", path.display()),
        }
    }
}
